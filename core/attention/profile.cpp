// ScoreField::profile(): overviews one pixel wide or high.
#include <algorithm>
#include <vector>

#include "core/attention/field_parts.h"
#include "core/attention/score_field.h"

namespace locus::attention {

namespace {

constexpr std::int64_t kBands = 32;  // of rows, which threads share

// How many queries of `rows` see the key.
std::int64_t queries_that_see(const Mask& mask, Range rows, std::int64_t key) {
  const std::int64_t first = mask.causal ? key : rows.begin;
  const std::int64_t last = mask.window > 0 ? key + mask.window : rows.end;
  return std::max<std::int64_t>(0, std::min(rows.end, last) - std::max(rows.begin, first));
}

}  // namespace

Result<Field> ScoreField::profile(const Region& asked, Along along, Reduction reduction, StopToken stop) const {
  LOCUS_TRY(const Region region, checked(asked));
  const std::int64_t rows = region.rows.size();
  const std::int64_t columns = region.columns.size();
  if (along == Along::kRows) {
    return overview(region, rows, 1, reduction, std::move(stop));
  }
  // Bands of rows first, so that all threads have work; then the bands of each column.
  LOCUS_TRY(const Field bands, overview(region, std::min(kBands, rows), columns, reduction, std::move(stop)));
  Field field = empty_field(region, 1, columns);
  for (std::int64_t column = 0; column < columns; ++column) {
    double folded = 0;
    std::int64_t seen = 0;
    for (std::int64_t band = 0; band < bands.rows; ++band) {
      const Range part{region.rows.begin + band * rows / bands.rows,
                       region.rows.begin + (band + 1) * rows / bands.rows};
      const std::int64_t count = queries_that_see(mask_, part, region.columns.begin + column);
      if (count == 0) {
        continue;
      }
      const auto value = static_cast<double>(bands.at(band, column));
      if (reduction == Reduction::kMean) {
        folded += value * static_cast<double>(count);
      } else {
        folded = seen == 0 ? value : std::max(folded, value);
      }
      seen += count;
    }
    if (seen > 0) {
      field.at(0, column) =
          static_cast<float>(reduction == Reduction::kMean ? folded / static_cast<double>(seen) : folded);
    }
  }
  return field;
}

}  // namespace locus::attention
