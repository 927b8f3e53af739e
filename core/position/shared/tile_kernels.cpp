#include "core/position/shared/tile_kernels.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>

#include "core/base/instruction_sets.h"

namespace locus::position::kernel {

namespace {

// Code that is compiled for every instruction set.
struct Loops {
  void (*add_bias)(float* out, const float* bias, std::size_t columns);
  void (*modulate)(float* out, const float* amplitude, const float* phase, const float* distance, std::size_t columns);
  void (*add_line)(float* logits, const float* numerator, std::int64_t columns, float slope, float intercept);
  void (*sigmoid)(const float* x, float* out, std::int64_t columns);
  void (*interpolate)(const float* content, const float* positions, const float* z, float* logits, std::int32_t last,
                      std::int64_t columns);
  void (*limit)(float* positions, float carry, float p_max, std::int64_t columns);
  float (*gradient)(const CopeGradientRow<float>& row);
};

// The entry of z below a position ≥ 0. A position that is no number has none: it reads the first, and stays NaN in the
// part of the next entry that is added. By bits where loops are vectorised, as GCC 12 takes no comparison of floats.
template <class Index, class Number>
[[gnu::always_inline]] inline Index bin_of(Number position) {
  if constexpr (sizeof(Number) == sizeof(std::uint32_t)) {
    constexpr std::uint32_t kInfinite = 0x7F800000;
    const auto bits = std::bit_cast<std::uint32_t>(position);
    return static_cast<Index>(std::bit_cast<Number>(bits > kInfinite ? 0U : bits));
  } else {
    return static_cast<Index>(position > 0 ? position : Number{0});
  }
}

// dp[c] = dL/dposition: the slope of the interpolation there, 0 where the position is limited.
template <class Number>
[[gnu::always_inline]] inline void position_gradient(const CopeGradientRow<Number>& row, Number* dp) {
  const auto last = static_cast<std::int32_t>(row.last);
  const Number* const z = row.z;
  const Number* const positions = row.positions;
  const Number* const logits = row.logits;
#pragma GCC ivdep
  for (std::int64_t c = 0; c < row.visible; ++c) {
    const auto below = bin_of<std::int32_t>(positions[c]);
    const std::int32_t above = below < last ? below + 1 : last;
    dp[c] = logits[c] * (z[above] - z[below]);
  }
}

// Every gate moves the positions of its own column and of all to the left: dL/dgate is a sum from the left. Positions
// fall along a row, so neighbours share their bins of z and a scatter is cheap.
template <class Number>
[[gnu::always_inline]] inline Number gate_gradient(const CopeGradientRow<Number>& row) {
  Number sum = row.carry;
  for (std::int64_t c = 0; c < row.visible; ++c) {
    const auto below = bin_of<std::int64_t>(row.positions[c]);
    const std::int64_t above = below < row.last ? below + 1 : row.last;
    const Number upper = row.logits[c] * (row.positions[c] - static_cast<Number>(below));
    row.z_gradient[below] += row.logits[c] - upper;
    row.z_gradient[above] += upper;
    sum += row.gate_logits[c];
    row.gate_logits[c] = sum;
  }
  return sum;
}

template <class Number>
[[gnu::always_inline]] inline void through_sigmoid(const CopeGradientRow<Number>& row) {
  Number* const out = row.gate_logits;
  const Number* const gates = row.gates;
#pragma GCC ivdep
  for (std::int64_t c = 0; c < row.visible; ++c) {
    out[c] *= gates[c] * (1 - gates[c]);
  }
}

namespace plain {
#include "core/position/shared/tile_kernels.inc"
}  // namespace plain

#if defined(LOCUS_VECTOR_TARGETS)
namespace avx2 {
#pragma GCC push_options
#pragma GCC target("avx2,fma,bmi,bmi2")
#include "core/position/shared/tile_kernels.inc"
#pragma GCC pop_options
}  // namespace avx2
namespace avx512 {
#pragma GCC push_options
#pragma GCC target("avx2,fma,bmi,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512cd")
#include "core/position/shared/tile_kernels.inc"
#pragma GCC pop_options
}  // namespace avx512
#endif

constexpr std::array kVersions {
  &plain::kLoops,
#if defined(LOCUS_VECTOR_TARGETS)
      &avx2::kLoops, &avx512::kLoops,
#endif
};

const Loops& loops() {
  return *kVersions[static_cast<std::size_t>(used_version())];
}

}  // namespace

void add_bias(std::span<float> logits, const float* bias) {
  loops().add_bias(logits.data(), bias, logits.size());
}

void modulate(std::span<float> logits, const float* amplitude, const float* phase, const float* distance) {
  loops().modulate(logits.data(), amplitude, phase, distance, logits.size());
}

namespace {

// The end of the run of columns from `begin` that lie in the segment (low, high] of numerator · factor.
inline std::int64_t run_end(const float* numerator, std::int64_t begin, std::int64_t columns, float low, float high) {
  std::int64_t c = begin;
  while (c < columns && numerator[c] > low && numerator[c] <= high) {
    ++c;
  }
  return c;
}

}  // namespace

void add_piecewise(const PiecewiseLinear& f, const float* numerator, float factor, std::int64_t columns,
                   std::span<float* const> logits, std::int64_t first_head) {
  constexpr float kFar = 3.4e38F;
  const std::vector<float>& knots = f.knots;
  for (std::int64_t c = 0; c < columns;) {
    const auto knot = std::lower_bound(knots.begin(), knots.end(), numerator[c] * factor);
    const auto segment = static_cast<std::size_t>(knot - knots.begin());
    const float low = segment == 0 ? -kFar : knots[segment - 1] / factor;
    const float high = segment == knots.size() ? kFar : knots[segment] / factor;
    // Rounding may put the first column a hair outside the segment; the function is continuous there.
    const std::int64_t end = run_end(numerator, c + 1, columns, low, high);
    for (std::size_t h = 0; h < logits.size(); ++h) {
      const std::size_t entry = segment * static_cast<std::size_t>(f.heads) + static_cast<std::size_t>(first_head) + h;
      loops().add_line(logits[h] + c, numerator + c, end - c, f.slopes[entry] * factor, f.intercepts[entry]);
    }
    c = end;
  }
}

namespace {

constexpr std::int64_t kChains = 8;

// sums[c] = gates[c] + … + gates[columns − 1]; returns sums[0]. One chain of additions would wait for each of them, so
// the row is summed as eight stretches at once, whose totals are added afterwards.
inline float sums_from_right(const float* gates, float* sums, std::int64_t columns) {
  const std::int64_t stretch = columns / kChains;
  const std::int64_t rest = columns - stretch * kChains;
  float chain[kChains] = {};
  for (std::int64_t n = stretch - 1; n >= 0; --n) {
    for (std::int64_t k = 0; k < kChains; ++k) {
      const std::int64_t c = rest + k * stretch + n;
      chain[k] += gates[c];
      sums[c] = chain[k];
    }
  }
  float right = 0;
  for (std::int64_t k = kChains - 1; k >= 0; --k) {
    float* const part = sums + rest + k * stretch;
    for (std::int64_t n = 0; n < stretch; ++n) {
      part[n] += right;
    }
    right += chain[k];
  }
  for (std::int64_t c = rest - 1; c >= 0; --c) {
    right += gates[c];
    sums[c] = right;
  }
  return right;
}

}  // namespace

float cope_row(const CopeRow& row, float carry) {
  float* const positions = row.positions;
  loops().sigmoid(row.gate_logits, row.gates, row.visible);
  std::fill(row.gates + row.visible, row.gates + row.columns, 0.0F);
  const float p = carry + sums_from_right(row.gates, positions, row.columns);
  loops().limit(positions, carry, row.p_max, row.columns);
  if (row.z != nullptr) {
    loops().interpolate(row.content, positions, row.z, row.logits, static_cast<std::int32_t>(row.p_max), row.columns);
    return p;
  }
  for (std::int64_t c = 0; c < row.columns; ++c) {
    row.logits[c] = row.content[c] + row.slope * positions[c];
  }
  return p;
}

double cope_row_exact(const CopeRow& row, double carry) {
  loops().sigmoid(row.gate_logits, row.gates, row.visible);
  std::fill(row.gates + row.visible, row.gates + row.columns, 0.0F);
  double p = carry;
  for (std::int64_t c = row.columns - 1; c >= 0; --c) {
    p += static_cast<double>(row.gates[c]);
    row.positions[c] = std::min(static_cast<float>(p), row.p_max);
  }
  if (row.z != nullptr) {
    loops().interpolate(row.content, row.positions, row.z, row.logits, static_cast<std::int32_t>(row.p_max),
                        row.columns);
    return p;
  }
  for (std::int64_t c = 0; c < row.columns; ++c) {
    row.logits[c] = row.content[c] + row.slope * row.positions[c];
  }
  return p;
}

double cope_row(const CopeRowOf<double>& row, double carry) {
  double p = carry;
  for (std::int64_t c = row.columns - 1; c >= 0; --c) {
    row.gates[c] = c < row.visible ? 1 / (1 + std::exp(-row.gate_logits[c])) : 0;
    p += row.gates[c];
    row.positions[c] = std::min(p, row.p_max);
    if (row.z == nullptr) {
      row.logits[c] = row.content[c] + row.slope * row.positions[c];
      continue;
    }
    const auto below = bin_of<std::int64_t>(row.positions[c]);
    const std::int64_t above = std::min(below + 1, static_cast<std::int64_t>(row.p_max));
    const double part = row.positions[c] - static_cast<double>(below);
    row.logits[c] = row.content[c] + row.z[below] + part * (row.z[above] - row.z[below]);
  }
  return p;
}

float cope_row_gradient(const CopeGradientRow<float>& row) {
  return loops().gradient(row);
}

double cope_row_gradient(const CopeGradientRow<double>& row) {
  position_gradient(row, row.gate_logits);
  const double carry = gate_gradient(row);
  through_sigmoid(row);
  return carry;
}

}  // namespace locus::position::kernel
