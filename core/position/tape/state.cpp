#include "core/position/tape/state.h"

namespace locus::position {

at::Tensor TapeBlocks::split(const at::Tensor& channels) const {
  if (layout == PairLayout::kInterleaved) {
    return channels.unflatten(-1, {blocks, -1});
  }
  return channels.unflatten(-1, {-1, blocks}).transpose(-1, -2);
}

at::Tensor TapeBlocks::join(const at::Tensor& values) const {
  return (layout == PairLayout::kInterleaved ? values : values.transpose(-1, -2)).flatten(-2);
}

at::Tensor TapeBlocks::apply(const at::Tensor& x, const at::Tensor& e) const {
  const at::Tensor split_x = split(x);
  if (rows == 1) {
    return join((split_x.unsqueeze(-1) * e).flatten(-2));
  }
  return join((split_x.unsqueeze(-1) * e).sum(-2));
}

at::Tensor tape_rope_start(const Rotation& rotation, const TapeBlocks& blocks) {
  const at::Tensor flat = at::stack({rotation.cos, rotation.sin, -rotation.sin, rotation.cos}, -1);
  return flat.unflatten(-1, {blocks.rows, blocks.columns});
}

at::Tensor tape_channels(const at::Tensor& e, const TapeBlocks& blocks) {
  const auto entry = [&](std::int64_t row, std::int64_t column) { return e.select(-2, row).select(-1, column); };
  const at::Tensor cos = at::stack({entry(0, 0), entry(1, 1)}, -1);
  const at::Tensor sin = at::stack({-entry(1, 0), entry(0, 1)}, -1);
  return blocks.join(at::stack({cos, sin}));
}

at::Tensor tape_from_channels(const at::Tensor& channels, const TapeBlocks& blocks) {
  const at::Tensor pairs = blocks.split(channels);
  const at::Tensor cos = pairs.select(0, 0);
  const at::Tensor sin = pairs.select(0, 1);
  const at::Tensor first = at::stack({cos.select(-1, 0), sin.select(-1, 1)}, -1);
  const at::Tensor second = at::stack({-sin.select(-1, 0), cos.select(-1, 1)}, -1);
  return at::stack({first, second}, -2);
}

}  // namespace locus::position
