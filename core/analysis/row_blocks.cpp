#include "core/analysis/row_blocks.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

namespace locus::analysis {

namespace {

constexpr std::int64_t kBlockCells = std::int64_t{1} << 21;

}  // namespace

Status for_each_row_block(const attention::ScoreField& field, attention::Quantity quantity, Range heads, Range rows,
                          const BlockVisitor& visit, StopToken stop) {
  const at::NoGradGuard no_grad;
  const std::int64_t length = field.source().length();
  const Range wanted = rows.empty() ? Range{0, length} : rows;
  const std::int64_t step =
      std::clamp<std::int64_t>(kBlockCells / std::max<std::int64_t>(heads.size() * field.source().keys(), 1), 1, 512);
  const float blank = quantity == attention::Quantity::kWeight ? 0.0F : std::numeric_limits<float>::quiet_NaN();
  for (std::int64_t first = wanted.begin; first < wanted.end; first += step) {
    if (stop.stop_requested()) {
      return cancelled();
    }
    const Range block{first, std::min(first + step, wanted.end)};
    const Range columns = field.mask().columns(block, field.source().keys());
    at::Tensor carry;
    LOCUS_TRY(const at::Tensor computed, field.source().scores(quantity, heads, block, columns, carry));
    at::Tensor scores = computed.to(at::kCPU);
    if (!field.mask().covers(block, columns)) {
      scores = scores.masked_fill(field.mask().hidden(block, columns, scores.device()), blank);
    }
    visit(block, columns, scores);
  }
  return {};
}

std::vector<std::int64_t> sample_rows(Range rows, std::int64_t count, std::uint64_t seed) {
  std::vector<std::int64_t> chosen;
  std::vector<std::int64_t> all(static_cast<std::size_t>(std::max<std::int64_t>(rows.size(), 0)));
  std::iota(all.begin(), all.end(), rows.begin);
  if (count <= 0 || count >= rows.size()) {
    return all;
  }
  std::mt19937_64 random(seed);
  std::sample(all.begin(), all.end(), std::back_inserter(chosen), count, random);
  return chosen;
}

}  // namespace locus::analysis
