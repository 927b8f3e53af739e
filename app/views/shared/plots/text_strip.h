// Text strips: the text of a column, token by token, each tinted by a number of its own.
#pragma once

#include <cstdint>
#include <vector>

#include "app/views/shared/view.h"
#include "renderers/figure/figure.h"

namespace locus::views {

// `values` are one per token of the column; the token `selected` is framed.
figure::Panel text_strip(const ViewInput& input, const Column& column, std::vector<float> values,
                         const figure::ColorScale& scale, std::int64_t selected = kNone);

}  // namespace locus::views
