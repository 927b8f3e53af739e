#include "app/views/shared/score_maps/head_map.h"

#include <utility>

#include "app/views/shared/plots/series.h"

namespace locus::views {

Field head_field(std::int64_t layers, std::int64_t heads) {
  Field field = Field::zeros(layers, heads);
  field.row_axis.name = "layer";
  field.column_axis.name = "head";
  return field;
}

figure::Panel head_map(FieldPointer field, const figure::ColorScale& scale, std::vector<std::string> texts) {
  for (std::size_t n = texts.size(); n < field->values.size(); ++n) {
    texts.push_back(short_number(static_cast<double>(field->values[n])));
  }
  figure::Panel panel;
  panel.equal_aspect = true;
  panel.x = cells_across("head", field->columns);
  panel.y = cells_down("layer", field->rows);
  panel.layers.emplace_back(
      figure::HeatMap{.field = std::move(field), .scale = scale, .texts = shared_names(std::move(texts))});
  return panel;
}

Selection pick_head(const models::ModelInfo& model, const Hit& hit, std::size_t column) {
  Selection selection;
  if (const auto cell = cell_at(hit, model.layers, model.heads)) {
    selection.column = static_cast<std::int64_t>(column);
    selection.layer = cell->row;
    selection.head = cell->column;
    selection.open = true;
  }
  return selection;
}

Selection pick_head(const ViewInput& input, const Hit& hit) {
  return hit.panel < input.columns.size() ? pick_head(input.columns[hit.panel].trace->model(), hit, hit.panel)
                                          : Selection{};
}

std::vector<Place> head_places(const Selection& selection, std::size_t panels) {
  std::vector<Place> places;
  for (std::size_t panel = 0; selection.layer && selection.head.value_or(-1) >= 0 && panel < panels; ++panel) {
    places.push_back({panel, cell_interval(*selection.head), cell_interval(*selection.layer)});
  }
  return places;
}

}  // namespace locus::views
