#include "app/views/images/anchor_products.h"

#include <algorithm>
#include <cmath>

#include "app/views/shared/alignment.h"
#include "app/views/shared/plots/patch_grid.h"
#include "core/base/lists.h"
#include "core/base/shown.h"

namespace locus::views {

namespace {

constexpr std::size_t kMaxAnchors = 16;

// Four corners, inset by a sixth, and the middle.
std::vector<Anchor> default_anchors(const models::ImageSpan& grid) {
  const std::int64_t r = grid.rows / 6;
  const std::int64_t c = grid.columns / 6;
  const std::int64_t bottom = grid.rows - 1 - r;
  const std::int64_t right = grid.columns - 1 - c;
  return {{r, c}, {r, right}, {grid.rows / 2, grid.columns / 2}, {bottom, c}, {bottom, right}};
}

}  // namespace

bool of_text(const Column& column) {
  return column.trace->image_grid().rows == 0;
}

models::ImageSpan cells_of_input(const ViewInput& input, const Column& column) {
  if (of_text(column)) {
    const std::vector<PatchArea> areas = patch_areas(*column.trace);
    const std::int64_t query = own_token(input, input.query, column);
    const auto holds = std::ranges::find_if(areas, [&](const PatchArea& area) { return area.cells.holds(query); });
    return areas.empty() ? models::ImageSpan() : holds == areas.end() ? areas.front().cells : holds->cells;
  }
  models::ImageGrid grid = column.trace->image_grid();
  if (const auto side = input.options.number("side", 0); side && *side >= 2) {
    grid.rows = grid.columns = std::llround(*side);
  }
  return cells_of(grid);
}

Result<std::vector<Anchor>> anchors_of(const ViewInput& input, const models::ImageSpan& grid) {
  LOCUS_TRY(const std::string text, input.options.text("anchors", ""));
  std::vector<Anchor> anchors;
  for (const std::string_view word : split_words(text, " ;")) {
    const auto place = parse_numbers<std::int64_t>(split(word));
    if (!place || place->size() != 2 || place->front() < 0 || place->back() < 0) {
      return usage("option anchors: expected row,column pairs such as 2,2 7,7, found " + shown(text));
    }
    anchors.push_back({std::min(place->front(), grid.rows - 1), std::min(place->back(), grid.columns - 1)});
    if (anchors.size() > kMaxAnchors) {
      return usage("option anchors: expected at most " + std::to_string(kMaxAnchors) + " pairs");
    }
  }
  return anchors.empty() ? default_anchors(grid) : anchors;
}

std::string text_of(const std::vector<Anchor>& anchors) {
  std::string text;
  for (const Anchor& anchor : anchors) {
    text += (text.empty() ? "" : " ") + std::to_string(anchor.row) + "," + std::to_string(anchor.column);
  }
  return text;
}

std::string anchor_name(const Anchor& anchor) {
  return "(" + std::to_string(anchor.row) + ", " + std::to_string(anchor.column) + ")";
}

Result<Field> anchor_products(const PeDotProduct2dKey& key, const Column& column) {
  const models::ImageGrid& own = column.trace->image_grid();
  const Range tokens{0, of_text(column) ? column.trace->length() : key.cells.first + key.cells.count};
  std::shared_ptr<const models::PositionTable> table;
  if (!of_text(column) && (key.cells.rows != own.rows || key.cells.columns != own.columns)) {
    if (!column.model) {
      return unsupported("a trace knows its own grid only: another side needs the checkpoint");
    }
    models::PositionRequest request;
    request.rows = key.cells.rows;
    request.columns = key.cells.columns;
    LOCUS_TRY(table, column.model->position_table(request, key.layer));
  }
  Field out = Field::zeros(static_cast<std::int64_t>(key.anchors.size()), tokens.size());
  auto to = out.values.begin();
  for (const Anchor& anchor : key.anchors) {
    const Range row{key.token(anchor), key.token(anchor) + 1};
    LOCUS_TRY(const Field one, table ? table->dot_product(key.head, row, tokens, key.similarity)
                                     : column.trace->dot_product(key.layer, key.head, row, tokens, key.similarity));
    to = std::copy(one.values.begin(), one.values.end(), to);
  }
  return out;
}

FieldPointer map_of_anchor(const Field& products, std::size_t anchor, const models::ImageSpan& cells) {
  Field map = Field::zeros(cells.rows, cells.columns);
  map.row_axis = {"row", "patch", 0, 1};
  map.column_axis = {"column", "patch", 0, 1};
  for (std::int64_t cell = 0; cell < cells.count; ++cell) {
    map.values[static_cast<std::size_t>(cell)] = products.at(static_cast<std::int64_t>(anchor), cells.token(cell));
  }
  return std::make_shared<const Field>(std::move(map));
}

}  // namespace locus::views
