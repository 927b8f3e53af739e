#include "core/mixers/decay.h"

#include <algorithm>
#include <vector>

namespace locus::mixers {

namespace {

constexpr double kNothingLeft = -1000;
constexpr std::int64_t kSmall = 8;  // tokens whose pairs are computed channel by channel

at::Tensor none(const DecayingTokens& rows, const DecayingTokens& columns) {
  std::vector<std::int64_t> shape = rows.vectors.sizes().vec();
  shape.back() = columns.range.size();
  return at::zeros(shape, rows.vectors.options());
}

// All columns stand at or before the first row.
at::Tensor below_diagonal(const DecayingTokens& rows, const DecayingTokens& columns) {
  const at::ScalarType type = rows.vectors.scalar_type();
  const at::Tensor middle = rows.sums.narrow(-2, 0, 1);
  return at::matmul(rows.vectors * (rows.sums - middle).to(type).exp(),
                    (columns.vectors * (middle - columns.sums).to(type).exp()).transpose(-1, -2));
}

// Rows and columns are the same tokens.
at::Tensor triangle(const DecayingTokens& rows, const DecayingTokens& columns) {
  const at::Tensor decay = (rows.sums.unsqueeze(-2) - columns.sums.unsqueeze(-3))
                               .clamp_max(0)
                               .to(rows.vectors.scalar_type())
                               .exp();  // (…, n, n, D or 1)
  const at::Tensor whole = decay.size(-1) == 1
                               ? at::matmul(rows.vectors, columns.vectors.transpose(-1, -2)) * decay.squeeze(-1)
                               : (columns.vectors.unsqueeze(-3) * decay * rows.vectors.unsqueeze(-2)).sum(-1);
  return whole.tril();
}

}  // namespace

at::Tensor decay_sums(const at::Tensor& log_decay, std::int64_t dimension) {
  return log_decay.to(at::kDouble).clamp_min(kNothingLeft).cumsum(dimension);
}

DecayingTokens DecayingTokens::part(Range some) const {
  const std::int64_t first = some.begin - range.begin;
  return {some, vectors.narrow(-2, first, some.size()), sums.narrow(-2, first, some.size())};
}

at::Tensor decayed_products(const DecayingTokens& rows, const DecayingTokens& columns) {
  const Range r = rows.range;
  const Range k = columns.range;
  if (r.empty() || k.empty() || k.begin >= r.end) {
    return none(rows, columns);
  }
  if (k.end <= r.begin + 1) {
    return below_diagonal(rows, columns);
  }
  std::int64_t middle = r.begin + r.size() / 2;
  if (r.begin != k.begin) {
    middle = std::max(r.begin, k.begin);
  } else if (r.end != k.end) {
    middle = std::min(r.end, k.end);
  } else if (r.size() <= kSmall || rows.sums.size(-1) == 1) {
    return triangle(rows, columns);
  }
  const auto before = [middle](Range range) { return Range{range.begin, middle}.clamped(range); };
  const auto after = [middle](Range range) { return Range{middle, range.end}.clamped(range); };
  const DecayingTokens upper = rows.part(before(r));
  const DecayingTokens lower = rows.part(after(r));
  const DecayingTokens left = columns.part(before(k));
  const DecayingTokens right = columns.part(after(k));
  return at::cat({at::cat({decayed_products(upper, left), none(upper, right)}, -1),
                  at::cat({decayed_products(lower, left), decayed_products(lower, right)}, -1)},
                 -2);
}

}  // namespace locus::mixers
