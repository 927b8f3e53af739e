#include "app/views/shared/plots/patch_grid.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "app/views/shared/plots/panel.h"

namespace locus::views {

std::int64_t prefix_of(const models::ImageGrid& grid) {
  return grid.prefix();
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
  if (const std::int64_t behind = token - grid.patches().end; behind >= 0) {
    return "detection token " + std::to_string(behind);
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
      areas.push_back({images[n], images.size() > 1 ? models::picture_name(images, n) : "",
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
  const std::int64_t cell = cells.rows > 0 ? cells.cell(token) : -1;
  return cell >= 0 ? std::optional(PatchPlace{cell_interval(cell % cells.columns), cell_interval(cell / cells.columns)})
                   : std::nullopt;
}

namespace {

double weight_at(const Field& patches, std::size_t n) {
  const float value = patches.values[n];
  return std::isfinite(value) && value > 0 ? static_cast<double>(value) : 0;
}

double whole_weight(const Field& patches) {
  double all = 0;
  for (std::size_t n = 0; n < patches.values.size(); ++n) {
    all += weight_at(patches, n);
  }
  return all;
}

}  // namespace

std::vector<bool> most_of_weight(const Field& patches, double share) {
  std::vector<std::size_t> order(patches.values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return weight_at(patches, a) > weight_at(patches, b); });
  double all = 0;
  for (const std::size_t n : order) {
    all += weight_at(patches, n);
  }
  std::vector<bool> inside(order.size(), false);
  double sum = 0;
  double last = 0;
  for (const std::size_t n : order) {
    const double weight = weight_at(patches, n);
    if (weight <= 0 || (sum >= share * all && weight < last)) {
      break;
    }
    inside[n] = true;
    last = weight;
    sum += last;
  }
  return inside;
}

std::optional<PatchBlob> largest_blob(const Field& patches, const std::vector<bool>& inside) {
  std::optional<PatchBlob> largest;
  std::vector<bool> seen(inside.size(), false);
  const double all = whole_weight(patches);
  for (std::size_t first = 0; first < inside.size(); ++first) {
    if (!inside[first] || seen[first]) {
      continue;
    }
    std::vector<std::size_t> open{first};
    seen[first] = true;
    std::int64_t top = patches.rows;
    std::int64_t bottom = 0;
    std::int64_t left = patches.columns;
    std::int64_t right = 0;
    PatchBlob blob;
    while (!open.empty()) {
      const std::size_t n = open.back();
      open.pop_back();
      const std::int64_t row = static_cast<std::int64_t>(n) / patches.columns;
      const std::int64_t column = static_cast<std::int64_t>(n) % patches.columns;
      top = std::min(top, row);
      bottom = std::max(bottom, row + 1);
      left = std::min(left, column);
      right = std::max(right, column + 1);
      ++blob.patches;
      blob.share += weight_at(patches, n);  // divided at the end, so that equal areas stay equal
      const auto visit = [&](std::int64_t r, std::int64_t c) {
        const auto at = static_cast<std::size_t>(r * patches.columns + c);
        if (r >= 0 && r < patches.rows && c >= 0 && c < patches.columns && inside[at] && !seen[at]) {
          seen[at] = true;
          open.push_back(at);
        }
      };
      visit(row - 1, column);
      visit(row + 1, column);
      visit(row, column - 1);
      visit(row, column + 1);
    }
    blob.top = top;
    blob.left = left;
    blob.rows = bottom - top;
    blob.columns = right - left;
    if (!largest || blob.share > largest->share) {
      largest = blob;
    }
  }
  if (largest) {
    largest->share = all > 0 ? largest->share / all : 0;
  }
  return largest;
}

namespace {

using Corner = std::pair<std::int64_t, std::int64_t>;  // x, y

// The edges between flagged cells and others, each from its beginning with its flagged cell to the right.
std::multimap<Corner, Corner> edges_of(const std::vector<bool>& inside, std::int64_t columns) {
  const std::int64_t rows = std::ssize(inside) / columns;
  const auto is_inside = [&](std::int64_t c, std::int64_t r) {
    return c >= 0 && c < columns && r >= 0 && r < rows && inside[static_cast<std::size_t>(r * columns + c)];
  };
  std::multimap<Corner, Corner> edges;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      if (!is_inside(c, r)) {
        continue;
      }
      const std::array<Corner, 5> corners{{{c, r}, {c + 1, r}, {c + 1, r + 1}, {c, r + 1}, {c, r}}};
      const std::array<Corner, 4> beside{{{c, r - 1}, {c + 1, r}, {c, r + 1}, {c - 1, r}}};
      for (std::size_t side = 0; side < beside.size(); ++side) {
        if (!is_inside(beside[side].first, beside[side].second)) {
          edges.emplace(corners[side], corners[side + 1]);
        }
      }
    }
  }
  return edges;
}

// The edge that goes on from the end of another; where two do, the one around the same cell: the turn to the right.
std::multimap<Corner, Corner>::iterator next_edge(std::multimap<Corner, Corner>& edges, const Corner& from,
                                                  const Corner& to) {
  const auto [first, end] = edges.equal_range(to);
  const Corner right{to.first - (to.second - from.second), to.second + (to.first - from.first)};
  for (auto each = first; each != end; ++each) {
    if (each->second == right) {
      return each;
    }
  }
  return first == end ? edges.end() : first;
}

}  // namespace

PictureLines outline_of(const std::vector<bool>& inside, std::int64_t columns) {
  PictureLines lines;
  const auto add = [&](double x, double y) {
    lines.x.push_back(x);
    lines.y.push_back(y);
  };
  std::multimap<Corner, Corner> edges = columns > 0 ? edges_of(inside, columns) : std::multimap<Corner, Corner>();
  while (!edges.empty()) {
    if (!lines.x.empty()) {
      add(std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN());
    }
    auto edge = edges.begin();
    add(static_cast<double>(edge->first.first), static_cast<double>(edge->first.second));
    while (edge != edges.end()) {
      const auto [from, to] = *edge;
      add(static_cast<double>(to.first), static_cast<double>(to.second));
      edges.erase(edge);
      edge = next_edge(edges, from, to);
    }
  }
  return lines;
}

bool is_seen(const models::Picture& picture) {
  return picture.rgba && picture.width > 0 && picture.height > 0 &&
         std::ssize(*picture.rgba) / picture.height / 4 >= picture.width;
}

models::Picture darkened(const models::Picture& picture, const Field& patches, const figure::ColorScale& scale,
                         double darkness) {
  std::vector<std::uint8_t> rgba = *picture.rgba;
  for (std::int64_t y = 0; y < picture.height; ++y) {
    for (std::int64_t x = 0; x < picture.width; ++x) {
      const float value = patches.at(y * patches.rows / picture.height, x * patches.columns / picture.width);
      const float t = figure::normalised(scale, value);
      const double kept = 1 - darkness * (std::isnan(t) ? 1 : 1 - static_cast<double>(t));
      auto* const pixel = &rgba[static_cast<std::size_t>(y * picture.width + x) * 4];
      for (int channel = 0; channel < 3; ++channel) {
        const double mask = std::isnan(t) ? (scale.mask_color >> (24 - 8 * channel)) & 0xFF : 0;
        pixel[channel] = static_cast<std::uint8_t>(std::lround(kept * pixel[channel] + (1 - kept) * mask));
      }
    }
  }
  return {picture.width, picture.height, std::make_shared<const std::vector<std::uint8_t>>(std::move(rgba))};
}

namespace {

figure::Panel panel_of_grid(const models::Picture& picture, std::int64_t row_count, std::int64_t column_count) {
  const auto rows = static_cast<double>(row_count);
  const auto columns = static_cast<double>(column_count);
  figure::Panel panel;
  panel.equal_aspect = true;
  panel.show_axes = false;
  panel.x.view = {0, columns};
  panel.y.view = {rows, 0};
  if (is_seen(picture)) {
    panel.layers.emplace_back(
        figure::ImageLayer{picture.rgba, picture.width, picture.height, {0, columns}, {0, rows}, 1});
  }
  return panel;
}

}  // namespace

figure::Panel picture_panel(const models::Picture& picture, const models::ImageSpan& cells) {
  return panel_of_grid(picture, cells.rows, cells.columns);
}

figure::Panel darkened_panel(const models::Picture& picture, FieldPointer patches, figure::ColorScale scale,
                             double darkness) {
  scale.colormap = "gray";
  figure::Panel panel = panel_of_grid(darkened(picture, *patches, scale, darkness), patches->rows, patches->columns);
  panel.layers.emplace_back(figure::HeatMap{.field = std::move(patches), .scale = std::move(scale), .opacity = 0});
  return panel;
}

void add_lines(const PictureLines& lines, figure::Panel& panel, bool thin) {
  if (lines.x.empty()) {
    return;
  }
  struct Stroke {
    std::uint32_t color = 0;
    float width_px = 0;
  };
  for (const Stroke& stroke : {Stroke{0x000000C0, 3.5F}, Stroke{0xFFFFFFFF, 1.5F}}) {  // light within dark
    figure::Curve curve;
    curve.x = lines.x;
    curve.y = lines.y;
    curve.color = stroke.color;
    curve.width_px = thin ? stroke.width_px / 2 : stroke.width_px;
    panel.layers.emplace_back(std::move(curve));
  }
}

void add_arrow(const std::string& word, const std::string& said, const models::ImageSpan& cells,
               std::optional<std::int64_t> patch, figure::Panel& panel) {
  constexpr double kRoom = 0.15;  // of the picture's height
  constexpr double kHead = 0.05;  // of its longer side
  constexpr double kHeadAngle = 0.5;
  const double room = kRoom * static_cast<double>(cells.rows);
  panel.y.view.high = -room;
  if (!patch) {
    return;
  }
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  Field place = Field::zeros(1, 1);
  place.values.front() = kNone;
  place.row_axis = {"", "", -room, 0.7 * room};
  place.column_axis = {"", "", 0, static_cast<double>(cells.columns)};
  figure::HeatMap words;
  words.field = std::make_shared<const Field>(std::move(place));
  words.scale.mask_color = 0;
  words.texts = shared_names({word});
  words.said = shared_names({said});
  panel.layers.emplace_back(std::move(words));
  const std::int64_t row = *patch / cells.columns;
  const double x = static_cast<double>(*patch % cells.columns) + 0.5;
  const double y = static_cast<double>(row) + 0.5;
  const double from = static_cast<double>(cells.columns) / 2;
  const double above = -0.3 * room;
  const double angle = std::atan2(above - y, from - x);
  const double head = kHead * static_cast<double>(std::max(cells.rows, cells.columns));
  const auto side = [&](double turn) {
    return std::pair(x + head * std::cos(angle + turn), y + head * std::sin(angle + turn));
  };
  const auto left = side(-kHeadAngle);
  const auto right = side(kHeadAngle);
  add_lines(
      {{from, x, std::nan(""), left.first, x, right.first}, {above, y, std::nan(""), left.second, y, right.second}},
      panel);
}

figure::Panel patch_panel(const models::Picture& picture, FieldPointer patches, const figure::ColorScale& scale,
                          double opacity) {
  figure::Panel panel = panel_of_grid(picture, patches->rows, patches->columns);
  const bool seen = is_seen(picture);
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
