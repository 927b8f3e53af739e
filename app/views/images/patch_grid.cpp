#include "app/views/images/patch_grid.h"

#include <algorithm>

#include "app/views/plots/panel.h"

namespace locus::views {

std::int64_t prefix_of(const models::ImageGrid& grid) {
  return grid.cls + grid.registers;
}

std::int64_t patch_query(const ViewInput& input, const Column& column) {
  const models::ImageGrid& grid = column.trace->image_grid();
  if (input.query.index >= 0) {
    return std::min(input.query.index, column.trace->length() - 1);
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

Field patches_of(const Field& row, const models::ImageGrid& grid) {
  Field field = Field::zeros(grid.rows, grid.columns);
  field.row_axis = {"row", "patch", 0, 1};
  field.column_axis = {"column", "patch", 0, 1};
  std::copy_n(row.values.begin() + prefix_of(grid), grid.rows * grid.columns, field.values.begin());
  return field;
}

std::optional<std::int64_t> patch_at(const models::ImageGrid& grid, const Hit& hit) {
  const auto cell = cell_at(hit, grid.rows, grid.columns);
  return cell ? std::optional(prefix_of(grid) + cell->row * grid.columns + cell->column) : std::nullopt;
}

std::optional<PatchPlace> patch_place(const models::ImageGrid& grid, std::int64_t token) {
  const std::int64_t patch = token - prefix_of(grid);
  if (patch < 0 || patch >= grid.rows * grid.columns) {
    return std::nullopt;
  }
  return PatchPlace{cell_interval(patch % grid.columns), cell_interval(patch / grid.columns)};
}

figure::Panel patch_panel(const models::Trace& trace, FieldPointer patches, const figure::ColorScale& scale,
                          double opacity) {
  const auto rows = static_cast<double>(patches->rows);
  const auto columns = static_cast<double>(patches->columns);
  figure::Panel panel;
  panel.equal_aspect = true;
  panel.show_axes = false;
  panel.x.view = {0, columns};
  panel.y.view = {rows, 0};
  const models::Picture picture = trace.picture();
  const bool seen = picture.rgba && picture.width > 0 && picture.height > 0;
  if (seen) {
    panel.layers.emplace_back(
        figure::ImageLayer{picture.rgba, picture.width, picture.height, {0, columns}, {0, rows}, 1});
  }
  panel.layers.emplace_back(figure::HeatMap{
      .field = std::move(patches), .scale = scale, .opacity = seen ? static_cast<float>(opacity) : 1.0F});
  return panel;
}

void mark_patch(const models::ImageGrid& grid, std::int64_t token, figure::Panel& panel) {
  if (const auto place = patch_place(grid, token)) {
    panel.layers.emplace_back(figure::Box{place->x, place->y, 0});
  }
}

}  // namespace locus::views
