// Places panels in a grid with the figure's number of columns, and divides the space among their plots.
#pragma once

#include "renderers/figure/layout.h"
#include "renderers/figure/panel_decor.h"

namespace locus::figure {

// `height` 0: the height that the panels need.
Layout lay_out_grid(const Figure& figure, double width, double height, const Style& style, const TextMetrics& metrics,
                    Titles titles = Titles::kUsual);

}  // namespace locus::figure
