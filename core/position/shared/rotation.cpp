#include "core/position/shared/rotation.h"

#include <ATen/Parallel.h>

#include <algorithm>
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

namespace {

// Channels of a pair in the layouts that the loop knows: `first` + m·step and `second` + m·step.
struct PairPlaces {
  std::int64_t first;
  std::int64_t second;
  std::int64_t step;
};

PairPlaces places_of(PairLayout layout, std::int64_t pairs) {
  return layout == PairLayout::kInterleaved ? PairPlaces{0, 1, 2}
         : layout == PairLayout::kSwapped   ? PairPlaces{pairs, 0, 1}
                                            : PairPlaces{0, pairs, 1};
}

// Whether turn_by_loop() can be used: outside gradients, float32 on the CPU, and angles of all heads or of each.
bool has_loop(const at::Tensor& x, const Rotation& rotation, PairLayout layout) {
  const at::Tensor& cos = rotation.cos;
  return !at::GradMode::is_enabled() && layout != PairLayout::kAxes && x.dim() == 4 && x.numel() > 0 &&
         x.device().is_cpu() && x.scalar_type() == at::kFloat && x.is_contiguous() &&
         cos.sizes() == rotation.sin.sizes() && cos.size(-2) == x.size(2) &&
         (cos.dim() == 2 || (cos.dim() == 3 && cos.size(0) == x.size(1)));
}

// The same numbers as by ATen's operations, which take longer than the numbers of one token. cos and sin: contiguous,
// rounded to float32 here.
template <class Angle>
at::Tensor turn_by_loop(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin, PairLayout layout) {
  constexpr std::int64_t kNumbersPerTask = 1 << 15;
  const std::int64_t pairs = cos.size(-1);
  const std::int64_t width = x.size(3);
  const std::int64_t tokens = x.size(2);
  const std::int64_t of_heads = cos.dim() == 3 ? x.size(1) : 1;  // tables of angles
  const PairPlaces places = places_of(layout, pairs);
  at::Tensor turned = at::empty_like(x);
  const float* const from = x.data_ptr<float>();
  const Angle* const cosines = cos.data_ptr<Angle>();
  const Angle* const sines = sin.data_ptr<Angle>();
  float* const to = turned.data_ptr<float>();
  const auto turn_rows = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const float* const in = from + row * width;
      float* const out = to + row * width;
      const std::int64_t angle = (row / tokens % of_heads * tokens + row % tokens) * pairs;
      for (std::int64_t m = 0; m < pairs; ++m) {
        const float a = in[places.first + m * places.step];
        const float b = in[places.second + m * places.step];
        const auto c = static_cast<float>(cosines[angle + m]);
        const auto s = static_cast<float>(sines[angle + m]);
        out[places.first + m * places.step] = a * c - b * s;
        out[places.second + m * places.step] = b * c + a * s;
      }
      std::copy(in + 2 * pairs, in + width, out + 2 * pairs);
    }
  };
  at::parallel_for(0, x.numel() / width, std::max<std::int64_t>(1, kNumbersPerTask / width), turn_rows);
  return turned;
}

}  // namespace

at::Tensor rotate(const at::Tensor& x, const Rotation& rotation, PairLayout layout) {
  const std::int64_t pairs = rotation.pairs();
  const bool loop = has_loop(x, rotation, layout);
  if (loop && x.size(2) == 1 && rotation.cos.scalar_type() == at::kDouble) {
    return turn_by_loop<double>(x, rotation.cos.contiguous(), rotation.sin.contiguous(), layout);
  }
  const at::Tensor cos = rotation.cos.to(x.options());
  const at::Tensor sin = rotation.sin.to(x.options());
  if (loop) {
    return turn_by_loop<float>(x, cos.contiguous(), sin.contiguous(), layout);
  }
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
