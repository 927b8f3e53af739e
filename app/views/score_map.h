// Score maps: what the views of (T, T) quantities share. Fetching the part of a map that the screen shows, at the
// resolution it shows it; choosing colours for it; putting it on a pair of query and key axes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "app/views/ask.h"
#include "app/views/refined_map.h"
#include "app/views/series.h"
#include "app/views/view.h"

namespace locus::views {

// The cells of a map that are fetched, and the size of the field they come back as.
struct MapWindow {
  Range rows;
  Range columns;
  std::int64_t height = 0;  // of the field; equal to rows.size() when every cell is fetched
  std::int64_t width = 0;

  bool reduced() const { return height < rows.size() || width < columns.size(); }
};

// The cells that `camera` shows of a (length, length) map, with a margin of half a screen on each side so that panning
// has something to show, and a field no finer than the screen. `panels` share the figure's size.
MapWindow visible_window(const ViewInput& input, std::int64_t length, int panels);
// The same of a (rows, columns) map.
MapWindow visible_window(const ViewInput& input, std::int64_t rows, std::int64_t columns, int panels);

// A field through the input's cache, if it has one: `what` it is, and the ask (ask.h) with everything it depends on
// besides the trace.
template <class Ask>
Result<std::shared_ptr<const Field>> cached(const ViewInput& input, const Column& column, const std::string& what,
                                            const Ask& ask, const std::function<Result<Field>()>& make) {
  return analysed<Field>(input, column, {column.trace}, what + " " + ask_key(ask), make);
}

// (height, width) of the window: the map itself, or its exact reduction. Cells whose keys all come after their queries
// are NaN in causal models. Errors as Trace::map, naming the column.
Result<std::shared_ptr<const Field>> fetch(const ViewInput& input, const Column& column,
                                           const models::MapRequest& request, const MapWindow& window);
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

// NaN in every cell of these rows (empty: all) whose keys all come after its queries.
void mask_future(Field& field, Range rows = {});

// Row n of `rows` (queries, T), which is that of `query`, as it is drawn: keys after it are NaN in causal models.
std::shared_ptr<const Field> query_row(const Column& column, const Field& rows, std::size_t n, std::int64_t query);

// Rows and columns named as queries and keys, starting at the window's cells.
void set_axes(Field& field, const MapWindow& window);

// The colours of a quantity over all these fields: weights, gates and positions from 0, signed quantities
// (contribution, differences) zero-centred, logits from the smallest to the largest value.
enum class Sign { kPositive, kAny, kZeroCentred };
figure::ColorScale color_scale(const ViewInput& input, Sign sign, std::span<const std::shared_ptr<const Field>> fields);
Sign sign_of(models::Quantity quantity);

// "attention weight", "position contribution": as written beside a colour bar.
std::string quantity_label(models::Quantity quantity);

// What the tokens are called on an axis: those of the queries, those of the keys.
std::vector<std::string> token_labels(const models::Trace& trace);
std::vector<std::string> key_labels(const models::Trace& trace);

// "layer 2, head 5", "layer 2, mean of 8 heads".
std::string head_label(const models::ModelInfo& model, std::int64_t layer, std::int64_t head);

// A panel of query and key axes, query 0 on top, that shows the camera's part of a (length, length) map. The note says
// how cells were reduced, and how much is exact.
figure::Panel map_panel(const ViewInput& input, const models::Trace& trace, const MapWindow& window,
                        const RefinedMap& map, const figure::ColorScale& scale);

// The cell of a map at a point of its panel: query and key, as far as they exist, as the first column counts them.
Selection pick_cell(const ViewInput& input, const Hit& hit);
// That cell in every column's panel, and in that of their difference.
std::vector<Place> cell_places(const ViewInput& input, const Selection& selection);

}  // namespace locus::views
