#include "core/position/shared/rotation.h"

#include <cmath>
#include <numbers>

namespace locus::position {

at::Tensor inverse_frequencies(std::int64_t width, double base) {
  const at::Tensor exponent = at::arange(0, width, 2, at::kDouble) / static_cast<double>(width);
  return at::exp(exponent * -std::log(base));
}

Rotation rotation(const at::Tensor& ids, const at::Tensor& frequencies, double magnitude) {
  const at::Tensor angles = ids.to(at::kDouble).unsqueeze(-1) * frequencies.to(at::kDouble);
  if (magnitude == 1.0) {
    return {angles.cos(), angles.sin()};
  }
  return {angles.cos() * magnitude, angles.sin() * magnitude};
}

Rotation Rotation::of_heads(std::int64_t heads) const {
  if (cos.dim() != 3 || cos.size(0) == heads) {
    return *this;
  }
  const std::int64_t group = heads / cos.size(0);
  return {cos.repeat_interleave(group, 0), sin.repeat_interleave(group, 0)};
}

at::Tensor rotate(const at::Tensor& x, const Rotation& rotation, PairLayout layout) {
  const std::int64_t pairs = rotation.pairs();
  const at::Tensor cos = rotation.cos.to(x.options());
  const at::Tensor sin = rotation.sin.to(x.options());
  const at::Tensor turning = x.slice(-1, 0, 2 * pairs);
  at::Tensor turned;
  if (layout == PairLayout::kHalf) {
    const at::Tensor first = turning.slice(-1, 0, pairs);
    const at::Tensor second = turning.slice(-1, pairs, 2 * pairs);
    turned = at::cat({first * cos - second * sin, second * cos + first * sin}, -1);
  } else if (layout == PairLayout::kSwapped) {
    const at::Tensor second = turning.slice(-1, 0, pairs);
    const at::Tensor first = turning.slice(-1, pairs, 2 * pairs);
    turned = at::cat({second * cos + first * sin, first * cos - second * sin}, -1);
  } else if (layout == PairLayout::kAxes) {
    const at::Tensor halves = turning.unflatten(-1, {2, 2, pairs / 2});
    const at::Tensor own_cos = cos.unflatten(-1, {2, pairs / 2});
    const at::Tensor own_sin = sin.unflatten(-1, {2, pairs / 2});
    const at::Tensor first = halves.select(-2, 0);
    const at::Tensor second = halves.select(-2, 1);
    turned = at::stack({first * own_cos - second * own_sin, second * own_cos + first * own_sin}, -2).flatten(-3);
  } else {
    const at::Tensor paired = turning.unflatten(-1, {pairs, 2});
    const at::Tensor first = paired.select(-1, 0);
    const at::Tensor second = paired.select(-1, 1);
    turned = at::stack({first * cos - second * sin, second * cos + first * sin}, -1).flatten(-2);
  }
  return 2 * pairs == x.size(-1) ? turned : at::cat({turned, x.slice(-1, 2 * pairs)}, -1);
}

Prepared turned(const Projections& projections, const Positions& positions, const Rotation& rotation,
                PairLayout layout) {
  Prepared prepared;
  prepared.query = rotate(projections.query, rotation.of_heads(projections.query.size(1)), layout);
  prepared.key = rotate(projections.key, rotation, layout);
  prepared.content_query = projections.query;
  prepared.content_key = projections.key;
  prepared.positions = positions;
  return prepared;
}

at::Tensor rotation_vectors(const Rotation& rotation) {
  return (at::cat({rotation.cos, rotation.sin}, -1) * std::numbers::sqrt2).to(at::kFloat);
}

}  // namespace locus::position
