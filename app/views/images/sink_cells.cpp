#include "app/views/images/sink_cells.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/base/numbers.h"

namespace locus::views {

namespace {

// As of the sinks of single heads, in the view `heads`.
constexpr double kMinReaders = 16;
constexpr double kMinReaderShare = 0.25;  // of the queries that see the key that most see
constexpr std::int64_t kSinkBlockCells = std::int64_t{1} << 22;
constexpr std::uint32_t kSinkColor = 0xFF9F1CFF;  // apart from the outline, the area and the query's frame

struct SinkKey {
  std::vector<std::int64_t> layers;

  friend bool operator==(const SinkKey&, const SinkKey&) = default;
};

// Sums over the queries of one layer, a number a key.
struct ReadSums {
  std::vector<double> weight;
  std::vector<double> equal;  // the same with equal weights
  std::vector<double> readers;
};

void add_queries(const Field& rows, std::int64_t first, ReadSums& sums) {
  for (std::int64_t n = 0; n < rows.rows; ++n) {
    std::int64_t seen = 0;
    for (std::int64_t key = 0; key < rows.columns; ++key) {
      seen += std::isnan(rows.at(n, key)) ? 0 : 1;
    }
    for (std::int64_t key = 0; key < rows.columns; ++key) {
      const float weight = rows.at(n, key);
      if (std::isnan(weight) || key == first + n) {
        continue;
      }
      const auto at = static_cast<std::size_t>(key);
      sums.weight[at] += static_cast<double>(weight);
      sums.equal[at] += 1 / static_cast<double>(seen);
      sums.readers[at] += 1;
    }
  }
}

// False for a layer whose heads have no mean.
Result<bool> add_layer(const models::Trace& trace, std::int64_t layer, const StopToken& stop, ReadSums& sums) {
  const std::int64_t length = trace.length();
  const std::int64_t block = std::max<std::int64_t>(kSinkBlockCells / std::max<std::int64_t>(length, 1), 1);
  for (std::int64_t begin = 0; begin < length; begin += block) {
    models::MapRequest request;
    request.layer = layer;
    request.head = kMean;
    request.rows = {begin, std::min(begin + block, length)};
    request.mark_masked = true;
    const auto rows = trace.map(request, stop);
    if (!rows && rows.error().code == ErrorCode::kUnsupported) {
      return false;
    }
    if (!rows) {
      return rows.error();
    }
    add_queries(*rows, begin, sums);
  }
  return true;
}

}  // namespace

Result<Field> sink_ratios(const models::Trace& trace, const std::vector<std::int64_t>& layers, const StopToken& stop) {
  const std::int64_t length = trace.length();
  Field ratios = Field::zeros(static_cast<std::int64_t>(layers.size()), length);
  std::ranges::fill(ratios.values, std::numeric_limits<float>::quiet_NaN());
  if (length > kMaxSinkTokens || trace.crosses()) {
    return ratios;
  }
  for (std::size_t n = 0; n < layers.size(); ++n) {
    const std::vector<double> none(static_cast<std::size_t>(length));
    ReadSums sums{none, none, none};
    LOCUS_TRY(const bool measured, add_layer(trace, layers[n], stop, sums));
    const double most = length > 0 ? *std::ranges::max_element(sums.readers) : 0;
    for (std::int64_t key = 0; key < length && measured; ++key) {
      const auto at = static_cast<std::size_t>(key);
      if (sums.readers[at] >= std::max(kMinReaders, kMinReaderShare * most)) {
        ratios.at(static_cast<std::int64_t>(n), key) = static_cast<float>(sums.weight[at] / sums.equal[at]);
      }
    }
  }
  return ratios;
}

Result<std::shared_ptr<const Field>> kept_sink_ratios(const MeasureContext& context,
                                                      const std::vector<std::int64_t>& layers) {
  return context.kept<Field>({"sink-cells", SinkKey{layers}},
                             [&] { return sink_ratios(*context.column.trace, layers, context.stop); });
}

std::vector<SinkCell> sink_cells(const Field& ratios, std::int64_t row, const models::ImageSpan& cells, double factor) {
  std::vector<SinkCell> sinks;
  for (std::int64_t cell = 0; cell < cells.count; ++cell) {
    const auto ratio = static_cast<double>(ratios.at(row, cells.token(cell)));
    if (ratio > factor) {
      sinks.push_back({cell, ratio});
    }
  }
  return sinks;
}

std::string sinks_text(const std::vector<SinkCell>& sinks, const models::ImageSpan& cells) {
  std::string text;
  for (const SinkCell& sink : sinks) {
    text += (text.empty() ? " row " : ", row ") + std::to_string(sink.cell / cells.columns) + ", column " +
            std::to_string(sink.cell % cells.columns) + " (" + fixed_text(sink.ratio, 2) + ")";
  }
  return sinks.empty() ? ""
                       : std::to_string(sinks.size()) + (sinks.size() == 1 ? " sink cell:" : " sink cells:") + text;
}

void add_sinks(const std::vector<SinkCell>& sinks, const models::ImageSpan& cells, figure::Panel& panel) {
  if (sinks.empty()) {
    return;
  }
  constexpr double kInset = 0.2;  // of a cell, on each side
  figure::Curve frames;
  for (const SinkCell& sink : sinks) {
    const double left = static_cast<double>(sink.cell % cells.columns) + kInset;
    const double top = static_cast<double>(sink.cell / cells.columns) + kInset;
    const double right = left + 1 - 2 * kInset;
    const double bottom = top + 1 - 2 * kInset;
    const double none = std::numeric_limits<double>::quiet_NaN();
    frames.x.insert(frames.x.end(), {left, right, right, left, left, none});
    frames.y.insert(frames.y.end(), {top, top, bottom, bottom, top, none});
  }
  figure::Curve casing = frames;
  casing.color = 0x000000C0;
  casing.width_px = 2.5F;
  frames.color = kSinkColor;
  frames.width_px = 1;
  frames.name = sinks.size() == 1 ? "sink cell" : "sink cells";
  panel.layers.emplace_back(std::move(casing));
  panel.layers.emplace_back(std::move(frames));
}

}  // namespace locus::views
