#include "core/position/tape/update.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace locus::position {
namespace {

// Elements of the largest temporary: 64 MB of float32.
constexpr std::int64_t kBudget = std::int64_t{1} << 24;

at::Tensor gated(const at::Tensor& columns, const at::Tensor& gate, const at::Tensor& up, const at::Tensor& down) {
  return at::matmul(at::matmul(columns, up.transpose(-1, -2)) * gate, down.transpose(-1, -2));
}

}  // namespace

at::Tensor TapeMix::operator()(const at::Tensor& e, const at::Tensor& gate, const TapeBlocks& blocks) const {
  const std::int64_t length = e.size(2);
  const std::int64_t per_token = std::max<std::int64_t>(1, e.numel() / std::max<std::int64_t>(1, length)) *
                                 std::max<std::int64_t>(1, up.size(-2) / up.size(-1));
  const std::int64_t step = std::max<std::int64_t>(1, kBudget / per_token);
  if (at::GradMode::is_enabled() || length <= step) {
    return rows_of(e, gate, blocks);
  }
  std::vector<at::Tensor> parts;
  for (std::int64_t first = 0; first < length; first += step) {
    const std::int64_t last = std::min(first + step, length);
    parts.push_back(rows_of(e.slice(2, first, last), gate.slice(1, first, last), blocks));
  }
  return at::cat(parts, 2);
}

at::Tensor TapeMix::rows_of(const at::Tensor& e, const at::Tensor& gate, const TapeBlocks& blocks) const {
  if (on_channels) {
    const at::Tensor channels = tape_channels(e, blocks);  // (2, B, H, T, D)
    if (mixing == TapeMixing::kVector) {
      return tape_from_channels(gated(channels, gate.unsqueeze(1), up, down), blocks);
    }
    const at::Tensor by_token = channels.transpose(2, 3);  // (2, B, T, H, D)
    const at::Tensor mixed = gated(by_token.flatten(-2), gate, up, down).unflatten(-1, {e.size(1), -1});
    return tape_from_channels(mixed.transpose(2, 3), blocks);
  }
  const at::Tensor wide_gate = gate.unsqueeze(2).unsqueeze(3);  // (B, T, 1, 1, I)
  switch (mixing) {
    case TapeMixing::kFull: {
      const at::Tensor columns = e.permute({0, 1, 2, 5, 3, 4}).flatten(4);  // (B, H, T, R, M·L)
      const at::Tensor inner = at::matmul(columns.flatten(2, 3), up.transpose(-1, -2)).unflatten(2, {e.size(2), -1});
      const at::Tensor mixed =
          at::matmul((inner * gate.unsqueeze(1).unsqueeze(3)).flatten(2, 3), down.transpose(-1, -2));
      return mixed.unflatten(2, {e.size(2), -1}).unflatten(-1, {e.size(3), e.size(4)}).permute({0, 1, 2, 4, 5, 3});
    }
    case TapeMixing::kWhole: {
      const at::Tensor columns = e.permute({0, 2, 5, 1, 3, 4}).flatten(3);  // (B, T, R, H·M·L)
      return gated(columns, gate.unsqueeze(2), up, down)
          .unflatten(-1, {e.size(1), e.size(3), e.size(4)})
          .permute({0, 3, 1, 4, 5, 2});
    }
    case TapeMixing::kNonEquivariant: {
      const at::Tensor columns = e.permute({0, 2, 3, 4, 1, 5}).flatten(-2);  // (B, T, M, L, H·R)
      return gated(columns, wide_gate, up, down).unflatten(-1, {e.size(1), -1}).permute({0, 4, 1, 2, 3, 5});
    }
    default:
      return gated(e.permute({0, 2, 3, 4, 5, 1}), wide_gate.unsqueeze(4), up, down).permute({0, 5, 1, 2, 3, 4});
  }
}

at::Tensor tape_contextualise(const Prepared& prepared, const at::Tensor& e, Range rows, const TapeBlocks& blocks,
                              double scale, bool causal) {
  const std::int64_t batch = e.size(0);
  std::vector<at::Tensor> heads;
  for (std::int64_t head = 0; head < e.size(1); ++head) {
    // (B, M, T, X): one small attention a block.
    const at::Tensor query = blocks.split(prepared.query.select(1, head)).transpose(1, 2) * scale;
    const at::Tensor key = blocks.split(prepared.key.select(1, head)).transpose(1, 2);
    const at::Tensor values = e.select(1, head).flatten(-2).transpose(1, 2);
    std::vector<at::Tensor> parts;
    for (std::int64_t first = rows.begin; first < rows.end;) {
      const std::int64_t reach = causal ? rows.end : key.size(2);
      const std::int64_t step = std::max<std::int64_t>(1, kBudget / 4 / (batch * blocks.blocks * reach));
      const std::int64_t last = std::min(first + step, rows.end);
      const std::int64_t columns = causal ? last : key.size(2);
      at::Tensor logits = at::matmul(query.slice(2, first, last), key.slice(2, 0, columns).transpose(-1, -2));
      if (causal) {
        const at::Tensor row = at::arange(first, last, key.options().dtype(at::kLong)).unsqueeze(1);
        const at::Tensor column = at::arange(columns, key.options().dtype(at::kLong));
        logits = logits.masked_fill(column > row, -std::numeric_limits<double>::infinity());
      }
      parts.push_back(at::matmul(at::softmax(logits, -1), values.slice(2, 0, columns)));
      first = last;
    }
    heads.push_back(at::cat(parts, 2));
  }
  return at::stack(heads, 1).transpose(2, 3).unflatten(-1, {blocks.rows, blocks.columns});
}

}  // namespace locus::position
