#include "app/views/shared/plots/patch_grid.h"

#include <algorithm>

#include "app/views/shared/plots/panel.h"

namespace locus::views {

std::int64_t prefix_of(const models::ImageGrid& grid) {
  return grid.cls + grid.registers;
}

std::int64_t patch_query(const ViewInput& input, const Column& column) {
  const models::ImageGrid& grid = column.trace->image_grid();
  const std::int64_t last = column.trace->length() - 1;
  if (input.query.index >= 0) {
    return std::min(input.query.index, last);
  }
  if (grid.rows == 0) {
    return last;
  }
  return grid.cls > 0 ? 0 : prefix_of(grid) + grid.rows / 2 * grid.columns + grid.columns / 2;
}

std::string patch_label(const models::ImageGrid& grid, std::int64_t token) {
  if (token < grid.cls) {
    return "CLS";
  }
  const std::int64_t patch = token - prefix_of(grid);
  if (patch < 0) {
    return "register " + std::to_string(token - grid.cls);
  }
  return "patch " + std::to_string(patch / grid.columns) + ", " + std::to_string(patch % grid.columns);
}

std::string query_label(const models::Trace& trace, std::int64_t token) {
  return trace.image_grid().rows > 0
             ? patch_label(trace.image_grid(), token)
             : std::to_string(token) + " \"" + trace.tokens()[static_cast<std::size_t>(token)].label + "\"";
}

models::ImageSpan cells_of(const models::ImageGrid& grid) {
  return {prefix_of(grid), grid.rows * grid.columns, grid.rows, grid.columns, grid.columns};
}

std::vector<PatchArea> patch_areas(const models::Trace& trace) {
  if (trace.image_grid().rows > 0) {
    return {{cells_of(trace.image_grid()), "", trace.picture()}};
  }
  std::vector<PatchArea> areas;
  const std::vector<models::ImageSpan>& images = trace.images();
  const std::vector<models::Picture> pictures = trace.pictures();
  for (std::size_t n = 0; n < images.size(); ++n) {
    if (images[n].rows > 0) {
      areas.push_back({images[n], images.size() > 1 ? "image " + std::to_string(n + 1) : "",
                       n < pictures.size() ? pictures[n] : models::Picture()});
    }
  }
  return areas;
}

Field patches_of(const Field& row, const models::ImageSpan& cells) {
  Field field = Field::zeros(cells.rows, cells.columns);
  field.row_axis = {"row", "patch", 0, 1};
  field.column_axis = {"column", "patch", 0, 1};
  for (std::int64_t n = 0; n < cells.count; ++n) {
    field.values[static_cast<std::size_t>(n)] = row.at(0, cells.token(n));
  }
  return field;
}

std::optional<std::int64_t> patch_at(const models::ImageSpan& cells, const Hit& hit) {
  const auto cell = cell_at(hit, cells.rows, cells.columns);
  return cell ? std::optional(cells.token(cell->row * cells.columns + cell->column)) : std::nullopt;
}

std::optional<PatchPlace> patch_place(const models::ImageSpan& cells, std::int64_t token) {
  if (token < cells.first || cells.rows == 0) {
    return std::nullopt;
  }
  const std::int64_t row = (token - cells.first) / cells.pitch;
  const std::int64_t column = (token - cells.first) % cells.pitch;
  if (row >= cells.rows || column >= cells.columns) {
    return std::nullopt;
  }
  return PatchPlace{cell_interval(column), cell_interval(row)};
}

figure::Panel patch_panel(const models::Picture& picture, FieldPointer patches, const figure::ColorScale& scale,
                          double opacity) {
  const auto rows = static_cast<double>(patches->rows);
  const auto columns = static_cast<double>(patches->columns);
  figure::Panel panel;
  panel.equal_aspect = true;
  panel.show_axes = false;
  panel.x.view = {0, columns};
  panel.y.view = {rows, 0};
  const bool seen = picture.rgba && picture.width > 0 && picture.height > 0;
  if (seen) {
    panel.layers.emplace_back(
        figure::ImageLayer{picture.rgba, picture.width, picture.height, {0, columns}, {0, rows}, 1});
  }
  panel.layers.emplace_back(figure::HeatMap{
      .field = std::move(patches), .scale = scale, .opacity = seen ? static_cast<float>(opacity) : 1.0F});
  return panel;
}

void mark_patch(const models::ImageSpan& cells, std::int64_t token, figure::Panel& panel) {
  if (const auto place = patch_place(cells, token)) {
    panel.layers.emplace_back(figure::Box{place->x, place->y, 0});
  }
}

}  // namespace locus::views
