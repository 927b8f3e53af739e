// Figures of every kind of layer, made from formulas, for tests, golden images and benchmarks of the renderers.
#pragma once

#include <optional>
#include <string>

#include "renderers/figure/figure.h"

namespace locus::samples {

// Causal attention of `tokens` positions: a decaying diagonal, a first-token column, NaN above the diagonal.
std::shared_ptr<const Field> causal_attention(std::int64_t tokens, float slope = 0.3F);
// A value per cell, smooth in both directions, in [−1, 1].
std::shared_ptr<const Field> waves(std::int64_t rows, std::int64_t columns);

figure::Figure attention(std::int64_t tokens);            // one head with token names
figure::Figure attention_pictures(std::int64_t columns);  // one head over two pictures of 2 × columns cells in a text
figure::Figure attention_pair();                          // two checkpoints and their signed difference
figure::Figure thumbnails(int layers, int heads, std::int64_t tokens);
figure::Figure histogram();      // two histograms, markers
figure::Figure length_curve();   // logarithmic axes, bands, a dashed curve
figure::Figure token_strip();    // tinted text
figure::Figure points();         // discs and rings with crosses
figure::Figure image_overlay();  // an image below a translucent map

// The figures above, by the name that golden images use.
std::optional<figure::Figure> by_name(const std::string& name);

}  // namespace locus::samples
