// The part of a (T, T) map that the screen shows, at the resolution it shows it: which cells these are, and fetching
// them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/views/shared/plots/series.h"
#include "app/views/shared/score_maps/refined_map.h"
#include "app/views/shared/view.h"

namespace locus::views {

// The cells of a map that are fetched, and the size of the field they come back as.
struct MapWindow {
  Range rows;
  Range columns;
  std::int64_t height = 0;  // of the field; equal to rows.size() when every cell is fetched
  std::int64_t width = 0;

  bool reduced() const { return height < rows.size() || width < columns.size(); }
  // Cells of the map that one of the field stands for.
  double share() const {
    return reduced() ? static_cast<double>(rows.size() * columns.size()) / static_cast<double>(height * width) : 1;
  }
  friend bool operator==(const MapWindow&, const MapWindow&) = default;
};

// The cells that `camera` shows of a (rows, columns) map, with a margin of half a screen on each side so that panning
// has something to show, and a field no finer than the screen. `panels` share the figure's size.
MapWindow visible_window(const ViewInput& input, std::int64_t rows, std::int64_t columns, int panels);

// The key of a map in the cache.
struct MapKey {
  models::MapRequest request;
  MapWindow window;
  Reduction reduction = Reduction::kMax;

  friend bool operator==(const MapKey&, const MapKey&) = default;
};

// A field of the column's run, through the input's cache if it has one.
inline Result<FieldPointer> cached(const ViewInput& input, const Column& column, const MeasureKey& key,
                                   const std::function<Result<Field>()>& make) {
  return analysed<Field>(input, column, {column.trace}, key, make);
}

// (height, width) of the window: the map itself, or its exact reduction. Cells that no query sees are NaN, weights too,
// whatever masks them. Errors as Trace::map, naming the column.
Result<FieldPointer> fetch(const ViewInput& input, const Column& column, const models::MapRequest& request,
                           const MapWindow& window);
// The same, but with input.step_ms a large window is refined where the trace can sample, unless its reduction is in the
// cache.
Result<RefinedMap> fetch_refined(const ViewInput& input, const Column& column, const models::MapRequest& request,
                                 const MapWindow& window);

// More cells than are reduced at once.
constexpr std::int64_t kAtOnceCells = std::int64_t{1} << 22;
bool is_large(Range rows, Range columns);

// (rows, columns) of a map that only comes in blocks of whole rows: the window's exact reduction.
using RowBlock = std::function<Result<Field>(Range rows)>;
Result<Field> fetch_blocks(const MapWindow& window, Reduction reduction, const RowBlock& block, StopToken stop);

// A field of the window's cells with the axes of queries and keys that start there.
Field on_window(Field field, const MapWindow& window);

// (queries, keys): the rows of these queries of a map, one below the other, as they are drawn: NaN where a query does
// not see a key.
Result<Field> rows_of(const models::Trace& trace, models::MapRequest request, const std::vector<std::int64_t>& queries,
                      const StopToken& stop);

// Row n of rows_of(), which is that of `query`.
FieldPointer query_row(const Field& rows, std::size_t n, std::int64_t query);

// The exported value of a cell as it is drawn: a masked weight is 0, every other masked quantity NaN.
float as_data(models::Quantity quantity, float value);

}  // namespace locus::views
