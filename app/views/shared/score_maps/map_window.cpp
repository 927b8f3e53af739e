#include "app/views/shared/score_maps/map_window.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace locus::views {

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr std::int64_t kBlockCells = 1 << 22;  // of a row block: 16 MiB
constexpr std::int64_t kBandQueries = 1024;    // of a band that is made exact: enough for all threads
constexpr std::int64_t kMaxBands = 64;         // more would be finer than a person sees

struct AxisWindow {
  Range cells;
  std::int64_t count = 0;
};

AxisWindow axis_window(std::optional<figure::Interval> view, std::int64_t length, std::int64_t pixels) {
  const double low = view ? std::min(view->low, view->high) : 0;
  const double high = view ? std::max(view->low, view->high) : static_cast<double>(length);
  const double visible = std::max(high - low, 1.0);
  const double margin = view ? visible / 2 : 0;
  const auto cell = [&](double x) {
    return static_cast<std::int64_t>(std::clamp(x, 0.0, static_cast<double>(length)));
  };
  AxisWindow window;
  window.cells = {cell(std::floor(low - margin)), cell(std::ceil(high + margin))};
  if (window.cells.empty()) {
    window.cells = {0, std::min<std::int64_t>(length, 1)};
  }
  const auto size = static_cast<double>(window.cells.size());
  const double finest = std::ceil(size * static_cast<double>(std::max<std::int64_t>(pixels, 1)) / visible);
  window.count = static_cast<std::int64_t>(std::clamp(finest, 1.0, size));
  return window;
}

}  // namespace

MapWindow visible_window(const ViewInput& input, std::int64_t rows, std::int64_t columns, int panels) {
  const int width_px = std::max(input.width_px / std::max(panels, 1), 32);
  const AxisWindow x = axis_window(input.camera ? std::optional(input.camera->x) : std::nullopt, columns, width_px);
  const AxisWindow y =
      axis_window(input.camera ? std::optional(input.camera->y) : std::nullopt, rows, std::max(input.height_px, 32));
  return {y.cells, x.cells, y.count, x.count};
}

namespace {

// Rows and columns named as queries and keys, starting at the window's cells.
void set_axes(Field& field, const MapWindow& window) {
  const auto axis = [](const char* name, Range cells, std::int64_t count) {
    return FieldAxis{name, "token", static_cast<double>(cells.begin),
                     static_cast<double>(cells.size()) / static_cast<double>(std::max<std::int64_t>(count, 1))};
  };
  field.row_axis = axis("query", window.rows, field.rows);
  field.column_axis = axis("key", window.columns, field.columns);
}

}  // namespace

Field on_window(Field field, const MapWindow& window) {
  set_axes(field, window);
  return field;
}

Result<Field> rows_of(const models::Trace& trace, models::MapRequest request, const std::vector<std::int64_t>& queries,
                      const StopToken& stop) {
  Field rows = Field::zeros(std::ssize(queries), trace.keys());
  request.mark_masked = true;
  auto to = rows.values.begin();
  for (const std::int64_t query : queries) {
    request.rows = {query, query + 1};
    LOCUS_TRY(const Field row, trace.map(request, stop));
    to = std::copy(row.values.begin(), row.values.end(), to);
  }
  return rows;
}

FieldPointer query_row(const Field& rows, std::size_t n, std::int64_t query) {
  Field row = Field::zeros(1, rows.columns);
  std::copy_n(rows.values.begin() + static_cast<std::ptrdiff_t>(n) * rows.columns, rows.columns, row.values.begin());
  const MapWindow window{{query, query + 1}, {0, rows.columns}, 1, rows.columns};
  return std::make_shared<const Field>(on_window(std::move(row), window));
}

float as_data(models::Quantity quantity, float value) {
  return quantity == models::Quantity::kWeight && std::isnan(value) ? 0.0F : value;
}

namespace {

MeasureKey map_key(const ViewInput& input, const models::MapRequest& request, const MapWindow& window) {
  return {"map", MapKey{request, window, input.reduction}};
}

models::MapRequest within(models::MapRequest request, const MapWindow& window) {
  request.rows = window.rows;
  request.columns = window.columns;
  request.mark_masked = true;
  return request;
}

// Rows of the window's field that the camera and the pinned query point at.
Range rows_looked_at(const ViewInput& input, const MapWindow& window) {
  const double cells = static_cast<double>(window.rows.size()) / static_cast<double>(window.height);
  const auto row_of = [&](double cell) {
    return static_cast<std::int64_t>(std::floor((cell - static_cast<double>(window.rows.begin)) / cells));
  };
  Range seen{0, window.height};
  if (input.camera) {
    const auto [low, high] = std::minmax(input.camera->y.low, input.camera->y.high);
    seen = Range{row_of(low), row_of(high) + 1}.clamped(seen);
  }
  const std::int64_t pinned = input.query == kNone ? kNone : row_of(static_cast<double>(input.query.index));
  return seen.contains(pinned) ? Range{pinned, seen.end} : seen;
}

}  // namespace

bool is_large(Range rows, Range columns) {
  return rows.size() > kAtOnceCells / std::max<std::int64_t>(columns.size(), 1);
}

Result<FieldPointer> fetch(const ViewInput& input, const Column& column, const models::MapRequest& request,
                           const MapWindow& window) {
  return cached(input, column, map_key(input, request, window), [&]() -> Result<Field> {
    const models::MapRequest part = within(request, window);
    LOCUS_TRY(Field field, window.reduced()
                               ? column.trace->overview(part, window.height, window.width, input.reduction, input.stop)
                               : column.trace->map(part, input.stop));
    return on_window(std::move(field), window);
  });
}

Result<RefinedMap> fetch_refined(const ViewInput& input, const Column& column, const models::MapRequest& request,
                                 const MapWindow& window) {
  const MeasureKey key = map_key(input, request, window);
  const bool wanted = input.step_ms && window.reduced() && is_large(window.rows, window.columns) &&
                      !(input.cache && input.cache->peek<Field>({column.trace}, key));
  if (wanted) {
    const models::MapRequest part = within(request, window);
    Refinement how;
    how.key = key;
    how.rows = window.height;
    how.band = std::max((kBandQueries * window.height + window.rows.size() - 1) / window.rows.size(),
                        (window.height + kMaxBands - 1) / kMaxBands);
    how.first = rows_looked_at(input, window);
    how.sample = [&]() -> Result<Field> {
      LOCUS_TRY(Field field, column.trace->preview(part, window.height, window.width, input.stop));
      return on_window(std::move(field), window);
    };
    how.replace = [&](Range band, Field& field) -> Status {
      LOCUS_TRY(const Field rows,
                column.trace->overview_band(part, window.height, window.width, input.reduction, band, input.stop));
      std::copy(rows.values.begin(), rows.values.end(), field.values.begin() + band.begin * field.columns);
      return {};
    };
    auto map = refine(input, column, how);
    if (map.ok() || map.error().code != ErrorCode::kUnsupported) {
      return map;
    }
  }
  return exact_map(fetch(input, column, request, window));
}

Result<Field> fetch_blocks(const MapWindow& window, Reduction reduction, const RowBlock& block, StopToken stop) {
  Field out = Field::zeros(window.height, window.width);
  std::vector<double> sums(static_cast<std::size_t>(window.width));
  std::vector<std::int64_t> counts(static_cast<std::size_t>(window.width));
  const std::int64_t rows = window.rows.size();
  const std::int64_t columns = window.columns.size();
  const std::int64_t most = std::max<std::int64_t>(1, kBlockCells / std::max<std::int64_t>(columns, 1));
  const bool mean = reduction == Reduction::kMean;
  const auto begin_row_of_cells = [&] {
    std::fill(sums.begin(), sums.end(), mean ? 0 : -std::numeric_limits<double>::infinity());
    std::fill(counts.begin(), counts.end(), 0);
  };
  const auto end_row_of_cells = [&](std::int64_t r) {
    for (std::int64_t c = 0; c < window.width; ++c) {
      const auto n = static_cast<std::size_t>(c);
      const double value = mean ? sums[n] / static_cast<double>(std::max<std::int64_t>(counts[n], 1)) : sums[n];
      out.at(r, c) = counts[n] > 0 ? static_cast<float>(value) : kNaN;
    }
    begin_row_of_cells();
  };
  // Blocks are as large as can be, whatever the cells: a product of all rows at once is rounded as the exported one.
  std::int64_t r = 0;
  begin_row_of_cells();
  for (std::int64_t begin = 0; window.height > 0 && begin < rows; begin += most) {
    if (stop.stop_requested()) {
      return cancelled();
    }
    LOCUS_TRY(const Field part, block({window.rows.begin + begin, window.rows.begin + std::min(begin + most, rows)}));
    for (std::int64_t i = 0; i < part.rows; ++i) {
      for (; begin + i >= (r + 1) * rows / window.height; ++r) {
        end_row_of_cells(r);
      }
      for (std::int64_t j = 0; j < columns; ++j) {
        const float value = part.at(i, j);
        if (!std::isnan(value)) {
          const auto cell = static_cast<std::size_t>(j * window.width / columns);
          sums[cell] = mean ? sums[cell] + value : std::max(sums[cell], static_cast<double>(value));
          ++counts[cell];
        }
      }
    }
  }
  for (; r < window.height; ++r) {
    end_row_of_cells(r);
  }
  set_axes(out, window);
  return out;
}

}  // namespace locus::views
