// Sink cells: cells of a picture that the queries read whatever they ask for (attention sinks; Xiao et al. 2024, arXiv
// 2309.17453, of the first tokens of a text; Kang et al. 2025, arXiv 2503.03321, of cells of pictures).
//
//   r(j) = Σ_i A(i, j) / Σ_i 1/n(i)   over the queries i ≠ j that see cell j
//
// A: the mean weight over all heads of a layer; n(i): the keys that query i sees. r(j) is 1 where the queries read the
// cell as they would with equal weights, and a sink's is above a factor of the reader's choice.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/views/shared/measured/measured_view.h"
#include "app/views/shared/plots/patch_grid.h"

namespace locus::views {

// Longer runs are not measured: each query's row of weights is needed.
inline constexpr std::int64_t kMaxSinkTokens = 16384;

// (|layers|, T): r of every key. NaN for keys that fewer than 16 other queries see, or less than a quarter as many as
// see the key that most see; for all of a layer that has no mean over heads, and of runs over kMaxSinkTokens. Errors:
// the trace's; kCancelled.
Result<Field> sink_ratios(const models::Trace& trace, const std::vector<std::int64_t>& layers, const StopToken& stop);
// The same, measured once for all queries, heads and quantities that are shown.
Result<std::shared_ptr<const Field>> kept_sink_ratios(const MeasureContext& context,
                                                      const std::vector<std::int64_t>& layers);

struct SinkCell {
  std::int64_t cell = 0;  // row by row
  double ratio = 0;

  friend bool operator==(const SinkCell&, const SinkCell&) = default;
};
// The cells whose ratio, in a row of sink_ratios(), is above the factor.
std::vector<SinkCell> sink_cells(const Field& ratios, std::int64_t row, const models::ImageSpan& cells, double factor);

// "2 sink cells: row 0, column 3 (6.12), row 5, column 0 (5.40)", with the ratios; empty where there are none.
std::string sinks_text(const std::vector<SinkCell>& sinks, const models::ImageSpan& cells);
// A thin frame within each, and an entry of the legend.
void add_sinks(const std::vector<SinkCell>& sinks, const models::ImageSpan& cells, figure::Panel& panel);

}  // namespace locus::views
