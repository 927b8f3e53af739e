#include "app/views/maps/position_vectors.h"

#include <algorithm>
#include <cmath>

#include "app/views/shared/alignment.h"
#include "app/views/shared/plots/panel.h"
#include "app/views/shared/plots/patch_grid.h"
#include "app/views/shared/plots/picture_blocks.h"
#include "app/views/shared/plots/series.h"
#include "core/base/numbers.h"

namespace locus::views {

namespace {

constexpr std::array<const char*, 3> kComponents{"time", "row", "column"};

// The components of every token's position, row by row: (3, T), or (1, T) where it is one number.
Field components_of(const models::Trace& trace) {
  const std::vector<std::array<double, 3>> vectors = trace.position_vectors();
  Field field = Field::zeros(vectors.empty() ? 1 : 3, trace.length());
  for (std::int64_t token = 0; token < field.columns; ++token) {
    const auto n = static_cast<std::size_t>(token);
    for (std::int64_t row = 0; row < field.rows; ++row) {
      field.at(row, token) =
          static_cast<float>(vectors.empty() ? trace.tokens()[n].position : vectors[n][static_cast<std::size_t>(row)]);
    }
  }
  return field;
}

const char* component_name(const Field& components, std::int64_t row) {
  return components.rows == 1 ? "position" : kComponents[static_cast<std::size_t>(row)];
}
constexpr double kPictureTint = 0.75;
constexpr std::size_t kPanelsInARow = 3;
constexpr std::size_t kMaxAreas = 12;  // pictures, and frames of videos, that are drawn; the strip has all

// The content of a panel: the strip of a column (no area), or one component on one of its pictures.
struct VectorPanel {
  std::size_t column = 0;
  std::size_t area = 0;       // of patch_areas(), counted from 1; 0: the strip
  std::size_t component = 0;  // of a picture
};

std::vector<VectorPanel> panels_of_vectors(const ViewInput& input) {
  std::vector<VectorPanel> panels;
  for (std::size_t n = 0; n < input.columns.size(); ++n) {
    panels.push_back({n, 0, 0});
  }
  for (std::size_t n = 0; n < input.columns.size(); ++n) {
    const std::size_t areas = std::min(patch_areas(*input.columns[n].trace).size(), kMaxAreas);
    for (std::size_t area = 1; area <= areas; ++area) {
      if (has_position_vectors(input.columns[n])) {
        panels.push_back({n, area, 1});
        panels.push_back({n, area, 2});
      } else {
        panels.push_back({n, area, 0});
      }
    }
  }
  return panels;
}

figure::HeatMap cells_with_texts(Field field, float opacity) {
  std::vector<std::string> texts;
  for (const float value : field.values) {
    texts.push_back(fixed_text(static_cast<double>(value), 0));
  }
  figure::HeatMap map;
  map.scale.high = *std::ranges::max_element(field.values);
  map.scale.low = *std::ranges::min_element(field.values);
  map.field = std::make_shared<const Field>(std::move(field));
  map.opacity = opacity;
  map.texts = shared_names(std::move(texts));
  return map;
}

figure::Panel vector_strip(const ViewInput& input, const Column& column) {
  Field field = components_of(*column.trace);
  const std::int64_t length = field.columns;
  field.column_axis = {"token", "token", 0, 1};
  figure::Panel panel;
  name_after(column, panel, " · positions of " + std::to_string(length) + " tokens");
  panel.x = cells_across("token", length, shared_names(token_labels(*column.trace)));
  panel.x.blocks = picture_blocks(input, column);
  std::vector<std::string> names;
  for (std::int64_t row = 0; row < field.rows; ++row) {
    names.emplace_back(component_name(field, row));
  }
  const figure::Interval rows{0, static_cast<double>(field.rows)};
  const float largest = *std::ranges::max_element(field.values);
  panel.y = cells_down("", field.rows, shared_names(std::move(names)));
  panel.note = "the next token stands at " + fixed_text(static_cast<double>(largest) + 1, 0) +
               (field.rows == 3 ? " in all three" : "");
  if (const std::size_t areas = patch_areas(*column.trace).size(); areas > kMaxAreas) {
    panel.note += "; " + std::to_string(kMaxAreas) + " of " + std::to_string(areas) + " pictures are drawn";
  }
  panel.layers.emplace_back(cells_with_texts(std::move(field), 1));
  if (const std::int64_t query = own_token(input, input.query, column); query != kNone) {
    panel.layers.emplace_back(figure::Box{cell_interval(query), rows, 0});
  }
  return panel;
}

figure::Panel vector_picture(const ViewInput& input, const Column& column, const PatchArea& area,
                             std::size_t component) {
  const Field components = components_of(*column.trace);
  Field field = Field::zeros(area.cells.rows, area.cells.columns);
  field.row_axis = {"row", "patch", 0, 1};
  field.column_axis = {"column", "patch", 0, 1};
  for (std::int64_t n = 0; n < area.cells.count; ++n) {
    field.values[static_cast<std::size_t>(n)] =
        components.at(static_cast<std::int64_t>(component), area.cells.token(n));
  }
  figure::HeatMap map = cells_with_texts(std::move(field), 1);
  figure::Panel panel = patch_panel(area.picture, map.field, map.scale, kPictureTint);
  std::get<figure::HeatMap>(panel.layers.back()).texts = map.texts;
  panel.title = (input.columns.size() > 1 ? column.name + " · " : "") + (area.name.empty() ? "picture" : area.name) +
                " · " + component_name(components, static_cast<std::int64_t>(component));
  if (area.cells.video >= 0 && components.rows == 3) {
    panel.title += ", t = " + fixed_text(static_cast<double>(components.at(0, area.cells.first)), 0) + " (" +
                   fixed_text(area.cells.seconds, 1) + " s)";
  }
  panel.follows_camera = false;
  if (const std::int64_t query = own_token(input, input.query, column); query != kNone) {
    mark_patch(area.cells, query, panel);
  }
  return panel;
}

}  // namespace

bool has_position_vectors(const Column& column) {
  return !column.trace->position_vectors().empty();
}

bool has_pictured_positions(const Column& column) {
  return has_position_vectors(column) || !column.trace->images().empty();
}

figure::Figure vector_figure(const ViewInput& input) {
  const std::vector<VectorPanel> panels = panels_of_vectors(input);
  figure::Figure figure = figure_across(input.columns.size());
  if (input.columns.size() == 1) {
    figure.columns = static_cast<int>(std::min(panels.size(), kPanelsInARow));
  }
  for (const VectorPanel& each : panels) {
    const Column& column = input.columns[each.column];
    figure.panels.push_back(
        each.area == 0 ? vector_strip(input, column)
                       : vector_picture(input, column, patch_areas(*column.trace)[each.area - 1], each.component));
  }
  return figure;
}

Data vector_data(const Column& column) {
  const Field components = components_of(*column.trace);
  std::vector<Series> series;
  for (std::int64_t row = 0; row < components.rows; ++row) {
    Series each{component_name(components, row), {}};
    for (std::int64_t token = 0; token < components.columns; ++token) {
      each.values.push_back(static_cast<double>(components.at(row, token)));
    }
    series.push_back(std::move(each));
  }
  return table_of(std::move(series), "token");
}

Selection pick_vector(const ViewInput& input, const Hit& hit) {
  Selection selection;
  const std::vector<VectorPanel> panels = panels_of_vectors(input);
  if (hit.panel >= panels.size()) {
    return selection;
  }
  const VectorPanel& panel = panels[hit.panel];
  const models::Trace& trace = *input.columns[panel.column].trace;
  const auto along = static_cast<std::int64_t>(std::floor(hit.x));
  const std::optional<std::int64_t> token = panel.area > 0 ? patch_at(patch_areas(trace)[panel.area - 1].cells, hit)
                                            : along >= 0 && along < trace.length() ? std::optional(along)
                                                                                   : std::nullopt;
  if (token) {
    selection.column = static_cast<std::int64_t>(panel.column);
    selection.query = token_at(input, input.columns[panel.column], *token);
  }
  return selection;
}

std::vector<Place> vector_places(const ViewInput& input, const Selection& selection) {
  std::vector<Place> places;
  const std::vector<VectorPanel> panels = panels_of_vectors(input);
  for (std::size_t n = 0; selection.query && n < panels.size(); ++n) {
    const Column& column = input.columns[panels[n].column];
    const std::int64_t own = own_token(input, *selection.query, column);
    if (own == kNone) {
      continue;
    }
    if (panels[n].area == 0) {
      places.push_back({n, cell_interval(own), {0, has_position_vectors(column) ? 3.0 : 1.0}});
    } else if (const auto place = patch_place(patch_areas(*column.trace)[panels[n].area - 1].cells, own)) {
      places.push_back({n, place->x, place->y});
    }
  }
  return places;
}

}  // namespace locus::views
