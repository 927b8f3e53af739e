#include "app/views/score_maps/head_map.h"

#include <cmath>
#include <span>

#include "app/views/plots/series.h"

namespace locus::views {

figure::ColorScale head_scale(const ViewInput& input, Sign sign,
                              const std::vector<std::shared_ptr<const Field>>& fields, std::size_t n) {
  ViewInput whole = input;
  whole.ignore_first = false;  // column 0 is a head here, no sink
  const std::span<const std::shared_ptr<const Field>> all(fields);
  return color_scale(whole, sign, input.scale.shared ? all : all.subspan(n, 1));
}

figure::Panel head_map(std::shared_ptr<const Field> field, const figure::ColorScale& scale,
                       std::vector<std::string> texts) {
  for (std::size_t n = texts.size(); n < field->values.size(); ++n) {
    texts.push_back(short_number(static_cast<double>(field->values[n])));
  }
  figure::Panel panel;
  panel.equal_aspect = true;
  panel.x = {
      .label = "head", .view = {0, static_cast<double>(field->columns)}, .cell_names = counted_names(field->columns)};
  panel.y = {.label = "layer", .view = {static_cast<double>(field->rows), 0}, .cell_names = counted_names(field->rows)};
  figure::HeatMap map;
  map.field = std::move(field);
  map.scale = scale;
  map.texts = std::make_shared<const std::vector<std::string>>(std::move(texts));
  panel.layers.emplace_back(std::move(map));
  return panel;
}

Selection pick_head(const models::ModelInfo& model, const Hit& hit, std::size_t column) {
  Selection selection;
  const auto layer = static_cast<std::int64_t>(std::floor(hit.y));
  const auto head = static_cast<std::int64_t>(std::floor(hit.x));
  if (layer >= 0 && layer < model.layers && head >= 0 && head < model.heads) {
    selection.column = static_cast<std::int64_t>(column);
    selection.layer = layer;
    selection.head = head;
    selection.open = true;
  }
  return selection;
}

Selection pick_head(const ViewInput& input, const Hit& hit) {
  return hit.panel < input.columns.size() ? pick_head(input.columns[hit.panel].trace->model(), hit, hit.panel)
                                          : Selection{};
}

Place head_place(std::size_t panel, std::int64_t layer, std::int64_t head) {
  const auto cell = [](std::int64_t n) { return figure::Interval{static_cast<double>(n), static_cast<double>(n + 1)}; };
  return {panel, cell(head), cell(layer)};
}

std::vector<Place> head_places(const Selection& selection, std::size_t panels) {
  std::vector<Place> places;
  for (std::size_t panel = 0; selection.layer && selection.head.value_or(-1) >= 0 && panel < panels; ++panel) {
    places.push_back(head_place(panel, *selection.layer, *selection.head));
  }
  return places;
}

}  // namespace locus::views
