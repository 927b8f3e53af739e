#include "core/position/shared/forgetting.h"

#include <algorithm>

namespace locus::position {

namespace {

// The logarithm of a gate of 0: so low that what lies before it gets no weight, and sums of it are still exact.
constexpr double kClosed = -1e4;

}  // namespace

at::Tensor gates_with_given(const at::Tensor& log_gates, const at::Tensor& given) {
  if (!given.defined()) {
    return log_gates;
  }
  const at::Tensor gates = given.unsqueeze(-1);
  const at::Tensor logs = gates.log().clamp_min(kClosed).to(log_gates.scalar_type());
  return at::where(gates.isnan(), log_gates, logs);
}

at::Tensor forgotten(const at::Tensor& log_gates, const Tile& tile, const at::Tensor& like) {
  const std::int64_t begin = std::min(tile.rows.begin, tile.columns.begin);
  const std::int64_t end = std::max(tile.rows.end, tile.columns.end);
  const at::Tensor gates = tile_rows(log_gates, {tile.layer, tile.heads, {begin, end}, {}}).squeeze(-1);
  const at::Tensor sums = gates.cumsum(-1, at::kDouble);  // (B, h, end − begin)
  const auto of = [&](Range tokens) { return sums.slice(-1, tokens.begin - begin, tokens.end - begin); };
  return (of(tile.rows).unsqueeze(-1) - of(tile.columns).unsqueeze(-2)).to(like.scalar_type());
}

}  // namespace locus::position
