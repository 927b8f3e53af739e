#include "app/views/shared/plots/text_strip.h"

#include <utility>

#include "app/views/shared/plots/panel.h"

namespace locus::views {

figure::Panel text_strip(const ViewInput& input, const Column& column, std::vector<float> values,
                         const figure::ColorScale& scale, std::int64_t selected) {
  figure::TokenStrip strip;
  strip.scale = scale;
  strip.selected = selected;
  strip.values = std::move(values);
  strip.tokens = token_labels(*column.trace);
  for (const models::ImageSpan& image : column.trace->images()) {
    for (std::int64_t cell = 0; cell < image.count; ++cell) {
      strip.tokens[static_cast<std::size_t>(image.token(cell))] = "▦";  // a cell of a picture; its place is pointed at
    }
  }
  figure::Panel panel;
  panel.show_axes = false;
  if (input.camera) {
    panel.x.view = input.camera->x;
  }
  panel.y.view = input.camera ? input.camera->y : figure::Interval{-1, 0};
  panel.layers.emplace_back(std::move(strip));
  return panel;
}

}  // namespace locus::views
