#include "core/analysis/distance_profile.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "core/analysis/row_blocks.h"
#include "core/base/numbers.h"

namespace locus::analysis {

namespace {

constexpr double kMaxSpan = 1 << 22;  // of places

std::vector<std::int64_t> bin_edges(Range distances, std::int64_t bins) {
  const std::int64_t count = std::clamp<std::int64_t>(bins, 1, distances.size());
  std::vector<std::int64_t> edges;
  for (std::int64_t n = 0; n <= count; ++n) {
    edges.push_back(distances.begin + n * distances.size() / count);
  }
  return edges;
}

// How far apart query and key are, and whether they are compared.
class Distances {
 public:
  explicit Distances(const DistanceProfileOptions& options) : options_(options) {}

  bool compared(std::int64_t query, std::int64_t key) const {
    return options_.places.empty() || (group(query) >= 0 && group(query) == group(key));
  }
  std::int64_t between(std::int64_t query, std::int64_t key) const {
    return options_.places.empty() ? std::abs(query - key) : std::llround(place(query) - place(key));
  }
  // Distances of the visible cells. Errors: kBadInput as the header says.
  Result<Range> all(const attention::ScoreField& field) const {
    const std::int64_t length = field.source().length();
    if (options_.places.empty()) {
      return Range{0, farthest(field, length) + 1};
    }
    const auto count = static_cast<std::size_t>(length);
    const bool finite = std::ranges::all_of(options_.places, [](double place) { return std::isfinite(place); });
    const auto [low, high] = std::ranges::minmax_element(options_.places);
    if (options_.places.size() != count || options_.groups.size() != count || !finite || *high - *low > kMaxSpan) {
      return bad_input("distance profile: expected one finite place and group per token, at most 2²² apart");
    }
    std::optional<Range> range;
    for (std::int64_t query = 0; query < length; ++query) {
      const Range visible = field.mask().columns({query, query + 1}, length);
      for (std::int64_t key = visible.begin; group(query) >= 0 && key < visible.end; ++key) {
        if (compared(query, key)) {
          const std::int64_t distance = between(query, key);
          range = range.value_or(Range{distance, distance + 1});
          range = Range{std::min(range->begin, distance), std::max(range->end, distance + 1)};
        }
      }
    }
    if (!range) {
      return bad_input("distance profile: expected places of tokens that are compared, found none");
    }
    return *range;
  }

 private:
  // The largest distance at which some query sees a key.
  static std::int64_t farthest(const attention::ScoreField& field, std::int64_t length) {
    std::int64_t most = 0;
    for (std::int64_t query = 0; query < length; ++query) {
      const Range seen = field.mask().columns({query, query + 1}, length);
      most = seen.empty() ? most : std::max({most, query - seen.begin, seen.end - 1 - query});
    }
    return most;
  }
  double place(std::int64_t token) const { return options_.places[static_cast<std::size_t>(token)]; }
  std::int64_t group(std::int64_t token) const { return options_.groups[static_cast<std::size_t>(token)]; }

  const DistanceProfileOptions& options_;
};

// At most `most` queries, evenly apart, the last among them.
std::vector<std::int64_t> even_rows(std::int64_t length, std::int64_t most) {
  const std::int64_t step = std::max<std::int64_t>((length + most - 1) / most, 1);
  std::vector<std::int64_t> rows;
  for (std::int64_t row = (length - 1) % step; row < length; row += step) {
    rows.push_back(row);
  }
  return rows;
}

// The value at quantile `q` of unordered values (nearest rank); reorders them.
double quantile(std::vector<float>& values, double q) {
  const auto rank = static_cast<std::ptrdiff_t>(std::llround(q * static_cast<double>(values.size() - 1)));
  std::nth_element(values.begin(), values.begin() + rank, values.end());
  return static_cast<double>(values[static_cast<std::size_t>(rank)]);
}

Status check(const attention::ScoreField& field, const DistanceProfileOptions& options) {
  const bool mean = options.head == attention::kMeanHead;
  if ((options.head < 0 && !mean) || options.head >= field.source().heads()) {
    return bad_input("head: expected 0 … " + std::to_string(field.source().heads() - 1) + ", found " +
                     std::to_string(options.head));
  }
  if (mean && options.quantity != attention::Quantity::kWeight) {
    return unsupported("the mean over heads is defined for weights only, not for the " + describe(options.quantity));
  }
  if (options.bins < 1 || options.low < 0 || options.high > 1 || options.low > options.high || options.skip_keys < 0) {
    return bad_input("distance profile: expected bins ≥ 1, 0 ≤ low ≤ high ≤ 1 and skip_keys ≥ 0");
  }
  return {};
}

}  // namespace

Result<DistanceProfile> distance_profile(const attention::ScoreField& field, const DistanceProfileOptions& options,
                                         StopToken stop, const Progress& progress) {
  LOCUS_CHECK(check(field, options));
  const std::int64_t length = field.source().length();
  const std::int64_t sample = std::max<std::int64_t>(options.cell_limit / std::max<std::int64_t>(length, 1), 1);
  const std::vector<std::int64_t> rows = even_rows(length, sample);

  DistanceProfile profile;
  profile.rows = length;
  profile.rows_used = static_cast<std::int64_t>(rows.size());
  const Distances distances(options);
  LOCUS_TRY(const Range spanned, distances.all(field));
  profile.edges = bin_edges(spanned, options.bins);
  const std::size_t bins = profile.edges.size() - 1;
  std::vector<std::vector<float>> values(bins);
  std::vector<std::size_t> bin_of(static_cast<std::size_t>(spanned.size()));
  for (std::size_t bin = 0; bin < bins; ++bin) {
    std::fill(bin_of.begin() + profile.edges[bin] - spanned.begin,
              bin_of.begin() + profile.edges[bin + 1] - spanned.begin, bin);
  }

  const bool relative = options.relative_to_uniform && options.quantity == attention::Quantity::kWeight;
  const auto visit = [&](Range block, Range columns, const at::Tensor& scores) {
    const at::Tensor host = (scores.size(0) == 1 ? scores.select(0, 0) : scores.mean(0)).contiguous().cpu();
    const float* cell = host.data_ptr<float>();
    for (std::int64_t row = block.begin; row < block.end; ++row) {
      const Range visible = field.mask().columns({row, row + 1}, length);
      const float factor = relative ? static_cast<float>(visible.size()) : 1.0F;
      for (std::int64_t column = columns.begin; column < columns.end; ++column, ++cell) {
        if (column >= options.skip_keys && visible.contains(column) && std::isfinite(*cell) &&
            distances.compared(row, column)) {
          values[bin_of[static_cast<std::size_t>(distances.between(row, column) - spanned.begin)]].push_back(*cell *
                                                                                                             factor);
        }
      }
    }
  };
  const bool mean = options.head == attention::kMeanHead;
  const Range head = mean ? Range{0, field.source().heads()} : Range{options.head, options.head + 1};
  for (std::size_t n = 0; n < rows.size();) {  // runs of neighbouring rows go through the field together
    std::size_t end = n + 1;
    while (end < rows.size() && rows[end] == rows[end - 1] + 1) {
      ++end;
    }
    LOCUS_CHECK(for_each_row_block(field, options.quantity, head, {rows[n], rows[end - 1] + 1}, visit, stop));
    report(progress, static_cast<double>(end) / static_cast<double>(rows.size()),
           "query " + std::to_string(rows[end - 1] + 1) + " of " + std::to_string(length));
    n = end;
  }

  for (std::vector<float>& bin : values) {
    double sum = 0;
    for (const float value : bin) {
      sum += static_cast<double>(value);
    }
    profile.cells.push_back(static_cast<std::int64_t>(bin.size()));
    profile.mean.push_back(bin.empty() ? kNaN : sum / static_cast<double>(bin.size()));
    profile.low.push_back(bin.empty() ? kNaN : quantile(bin, options.low));
    profile.high.push_back(bin.empty() ? kNaN : quantile(bin, options.high));
  }
  return profile;
}

}  // namespace locus::analysis
