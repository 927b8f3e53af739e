// Panels in a grid of as many columns as the figure says: shares the room out among their plots.
#pragma once

#include "renderers/figure/layout.h"
#include "renderers/figure/panel_decor.h"

namespace locus::figure {

// `height` 0: as high as the panels like.
Layout lay_out_grid(const Figure& figure, double width, double height, const Style& style, const TextMetrics& metrics,
                    Titles titles = Titles::kUsual);

}  // namespace locus::figure
