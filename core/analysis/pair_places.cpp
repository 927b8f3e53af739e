// Which cells of a layer's map lie at which distance.
#include <algorithm>
#include <cmath>

#include "core/analysis/pair_layer.h"

namespace locus::analysis {

namespace {

// δ of neighbours, where it is the same everywhere; fractions of a token are rounded.
std::optional<double> even_step(const at::Tensor& ids) {
  const at::Tensor column = ids.select(1, 0).contiguous();
  const double* const id = column.data_ptr<double>();
  const std::int64_t length = column.size(0);
  const double step = length > 1 ? (id[length - 1] - id[0]) / static_cast<double>(length - 1) : 1.0;
  for (std::int64_t t = 1; t < length; ++t) {
    if (std::abs(id[t] - id[t - 1] - step) > 1e-9 * (1 + std::abs(id[t]))) {
      return std::nullopt;
    }
  }
  return step;
}

Places text_places(const PairLayer& layer) {
  Places places;
  const std::int64_t length = layer.length;
  const attention::Mask& mask = layer.mask;
  places.entries = length;
  places.step = even_step(layer.ids);
  for (std::int64_t t = 0; t < length; ++t) {
    places.of_token.push_back(t);
  }
  const std::int64_t chunk = mask.causal && mask.chunk > 0 ? std::min(mask.chunk, length) : length;
  for (std::int64_t begin = 0; begin < length; begin += chunk) {
    places.segments.push_back({begin, std::min(begin + chunk, length)});
  }
  places.most = std::min(chunk, mask.window > 0 ? mask.window : length) - 1;
  places.count.assign(index(length), 0.0);
  const double last = static_cast<double>(places.segments.back().size());
  const double whole = static_cast<double>(places.segments.size() - 1);
  for (std::int64_t lag = mask.causal ? 0 : -places.most; lag <= places.most; ++lag) {
    const auto distance = static_cast<double>(std::abs(lag));
    const double count = whole * std::max(static_cast<double>(chunk) - distance, 0.0) + std::max(last - distance, 0.0);
    places.lags.push_back({lag, std::abs(lag), count, {static_cast<double>(lag) * places.step.value_or(1), 0}});
    places.count[index(std::abs(lag))] += count;
  }
  return places;
}

// Leaves the first keys of a text out of the counts.
void leave_out(const PairLayer& layer, std::int64_t keys, Places& places) {
  places.skip_keys = std::min(keys, layer.length);
  const std::int64_t first = places.lags.front().lag;
  for (std::int64_t query = 0; query < layer.length; ++query) {
    const Range seen = layer.mask.columns({query, query + 1}, layer.length);
    for (std::int64_t key = seen.begin; key < std::min(seen.end, places.skip_keys); ++key) {
      places.lags[index(query - key - first)].count -= 1;
      places.count[index(std::abs(query - key))] -= 1;
    }
  }
}

// Columns of the grid, row by row, that the placed tokens fill; 0 where they fill none.
std::int64_t columns_of_grid(const PairLayer& layer) {
  const std::int64_t patches = layer.placed.size();
  if (patches == 0) {
    return 0;
  }
  const at::Tensor ids = layer.ids.slice(0, layer.placed.begin, layer.placed.end).contiguous();
  const std::int64_t dimensions = ids.size(1);
  const double* const first = ids.data_ptr<double>() + dimensions - 2;  // row and column come last
  std::int64_t columns = 1;
  while (columns < patches && first[columns * dimensions] == first[0]) {
    ++columns;
  }
  for (std::int64_t n = 0; n < patches; ++n) {
    const std::int64_t row = n / columns;
    const double* const at = first + n * dimensions;
    if (at[0] - first[0] != static_cast<double>(row) || at[1] - first[1] != static_cast<double>(n % columns)) {
      return 0;
    }
  }
  return patches % columns == 0 ? columns : 0;
}

// Queries of a causal model see the cells before them, row by row: those at a lag of 0 or more.
Result<Places> grid_places(const PairLayer& layer) {
  const std::int64_t columns = columns_of_grid(layer);
  if (layer.placed.size() == 0) {
    return unsupported("pairs by distance: expected a picture of more than one cell");
  }
  if (columns == 0 || layer.mask.window > 0 || (layer.mask.causal && layer.mask.chunk > 0) || layer.mask.blocks) {
    return unsupported("pairs by distance: expected patches or cells of a whole grid, without a window");
  }
  const std::int64_t rows = layer.placed.size() / columns;
  Places places;
  const std::int64_t wide = 2 * columns - 1;
  places.entries = rows * wide;
  places.segments.push_back({0, places.entries});
  for (std::int64_t t = 0; t < layer.length; ++t) {
    const std::int64_t n = t - layer.placed.begin;
    places.of_token.push_back(layer.placed.contains(t) ? n / columns * wide + n % columns : -1);
  }
  places.most = (rows - 1) * wide + columns - 1;
  for (std::int64_t y = 1 - rows; y < rows; ++y) {
    for (std::int64_t x = 1 - columns; x < columns; ++x) {
      const auto distance =
          static_cast<std::int64_t>(std::llround(std::hypot(static_cast<double>(y), static_cast<double>(x))));
      const std::int64_t lag = y * wide + x;
      if (layer.mask.causal && lag < 0) {
        continue;
      }
      const auto count = static_cast<double>((rows - std::abs(y)) * (columns - std::abs(x)));
      const auto down = static_cast<double>(y);
      const auto across = static_cast<double>(x);
      places.lags.push_back({lag, distance, count, layer.of_text() ? Steps{0, down, across} : Steps{down, across, 0}});
      places.count.resize(std::max(places.count.size(), index(distance) + 1));
      places.count[index(distance)] += count;
    }
  }
  return places;
}

}  // namespace

Result<Places> PairLayer::places(std::int64_t skip_keys) const {
  if (grid()) {
    return grid_places(*this);
  }
  Places places = text_places(*this);
  leave_out(*this, skip_keys, places);
  return places;
}

}  // namespace locus::analysis
