#include "core/position/tile_kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

// The loops below are compiled for the vector units of common CPUs and chosen at load time. Sanitizers instrument the
// choosing function before they are ready, so they get the plain version.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define LOCUS_VECTOR_VERSIONS __attribute__((target_clones("default", "arch=haswell", "arch=skylake-avx512")))
#else
#define LOCUS_VECTOR_VERSIONS
#endif

namespace locus::position::kernel {

namespace {

// GCC inlines across targets only where it must, so what the loops call is always_inline.
//
// Adding and subtracting 1.5·2^23 rounds to the nearest integer, in any vector width.
constexpr float kRounder = 12582912.0F;

[[gnu::always_inline]] inline float round_nearest(float x) {
  return (x + kRounder) - kRounder;
}

// cos(2πt): t is reduced by whole turns exactly; then cos(2πf) = sin(2π(1/4 − |f|)), a polynomial on [−π/2, π/2].
[[gnu::always_inline]] inline float cos_turns(float t) {
  const float f = t - round_nearest(t);
  const float x = 6.28318530717958648F * (0.25F - (f < 0 ? -f : f));
  const float xx = x * x;
  float p = -2.50521084e-8F;
  p = p * xx + 2.75573192e-6F;
  p = p * xx - 1.98412698e-4F;
  p = p * xx + 8.33333333e-3F;
  p = p * xx - 1.66666667e-1F;
  return x + x * xx * p;
}

// 1/(1 + e^−x), relative error below 3e-7: from e^−|x| = 2^n·e^r with |r| ≤ ln 2 / 2. The exponent is limited as an
// integer: GCC 12 then vectorises the default version of sigmoid(), though not its AVX-512 one.
[[gnu::always_inline]] inline float logistic(float x) {
  const float a = -std::fabs(x);
  const float n = round_nearest(a * 1.44269504F);
  const float r = (a - n * 0.693359375F) + n * 2.12194440e-4F;
  float p = 1.98756915e-4F;
  p = p * r + 1.39819995e-3F;
  p = p * r + 8.33345192e-3F;
  p = p * r + 4.16657959e-2F;
  p = p * r + 1.66666655e-1F;
  p = p * r + 5.00000012e-1F;
  p = p * r * r + r + 1.0F;
  std::int32_t exponent = static_cast<std::int32_t>(n);
  exponent = exponent > -126 ? exponent : -126;
  const float e = p * std::bit_cast<float>((exponent + 127) << 23);
  const float q = 1.0F / (1.0F + e);
  // x < 0 ? e·q : q, by bits for the same reason.
  const std::int32_t negative = std::bit_cast<std::int32_t>(x) >> 31;
  return std::bit_cast<float>((std::bit_cast<std::int32_t>(e * q) & negative) |
                              (std::bit_cast<std::int32_t>(q) & ~negative));
}

}  // namespace

LOCUS_VECTOR_VERSIONS void add_bias(std::span<float> logits, const float* bias) {
  float* const out = logits.data();
  const std::size_t columns = logits.size();
  for (std::size_t c = 0; c < columns; ++c) {
    out[c] += bias[c];
  }
}

LOCUS_VECTOR_VERSIONS void modulate(std::span<float> logits, const float* amplitude, const float* phase,
                                    const float* distance) {
  float* const out = logits.data();
  const std::size_t columns = logits.size();
#pragma GCC ivdep
  for (std::size_t c = 0; c < columns; ++c) {
    out[c] = amplitude[c] * cos_turns(distance[c] * phase[c]);
  }
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

LOCUS_VECTOR_VERSIONS void add_line(float* logits, const float* numerator, std::int64_t columns, float slope,
                                    float intercept) {
  for (std::int64_t c = 0; c < columns; ++c) {
    logits[c] += slope * numerator[c] + intercept;
  }
}

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
      add_line(logits[h] + c, numerator + c, end - c, f.slopes[entry] * factor, f.intercepts[entry]);
    }
    c = end;
  }
}

LOCUS_VECTOR_VERSIONS void sigmoid(const float* x, float* out, std::int64_t columns) {
#pragma GCC ivdep
  for (std::int64_t c = 0; c < columns; ++c) {
    out[c] = logistic(x[c]);
  }
}

LOCUS_VECTOR_VERSIONS void interpolate(const float* content, const float* positions, const float* z, float* logits,
                                       std::int32_t last, std::int64_t columns) {
#pragma GCC ivdep
  for (std::int64_t c = 0; c < columns; ++c) {
    const auto below = static_cast<std::int32_t>(positions[c]);
    const std::int32_t above = below < last ? below + 1 : last;
    const float part = positions[c] - static_cast<float>(below);
    logits[c] = content[c] + (z[below] + part * (z[above] - z[below]));
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

LOCUS_VECTOR_VERSIONS void limit(float* positions, float carry, float p_max, std::int64_t columns) {
  for (std::int64_t c = 0; c < columns; ++c) {
    const float p = positions[c] + carry;
    positions[c] = p < p_max ? p : p_max;
  }
}

float cope_row(const CopeRow& row, float carry) {
  float* const positions = row.positions;
  sigmoid(row.gate_logits, row.gates, row.visible);
  std::fill(row.gates + row.visible, row.gates + row.columns, 0.0F);
  const float p = carry + sums_from_right(row.gates, positions, row.columns);
  limit(positions, carry, row.p_max, row.columns);
  if (row.z != nullptr) {
    interpolate(row.content, positions, row.z, row.logits, static_cast<std::int32_t>(row.p_max), row.columns);
    return p;
  }
  for (std::int64_t c = 0; c < row.columns; ++c) {
    row.logits[c] = row.content[c] + row.slope * positions[c];
  }
  return p;
}

double cope_row_exact(const CopeRow& row, double carry) {
  sigmoid(row.gate_logits, row.gates, row.visible);
  std::fill(row.gates + row.visible, row.gates + row.columns, 0.0F);
  double p = carry;
  for (std::int64_t c = row.columns - 1; c >= 0; --c) {
    p += static_cast<double>(row.gates[c]);
    row.positions[c] = std::min(static_cast<float>(p), row.p_max);
  }
  if (row.z != nullptr) {
    interpolate(row.content, row.positions, row.z, row.logits, static_cast<std::int32_t>(row.p_max), row.columns);
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
    const auto below = static_cast<std::int64_t>(row.positions[c]);
    const std::int64_t above = std::min(below + 1, static_cast<std::int64_t>(row.p_max));
    const double part = row.positions[c] - static_cast<double>(below);
    row.logits[c] = row.content[c] + row.z[below] + part * (row.z[above] - row.z[below]);
  }
  return p;
}

namespace {

// dp[c] = dL/dposition: the slope of the interpolation there, 0 where the position is limited.
template <class Number>
[[gnu::always_inline]] inline void position_gradient(const CopeGradientRow<Number>& row, Number* dp) {
  const auto last = static_cast<std::int32_t>(row.last);
  const Number* const z = row.z;
  const Number* const positions = row.positions;
  const Number* const logits = row.logits;
#pragma GCC ivdep
  for (std::int64_t c = 0; c < row.visible; ++c) {
    const auto below = static_cast<std::int32_t>(positions[c]);
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
    const auto below = static_cast<std::int64_t>(row.positions[c]);
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

}  // namespace

LOCUS_VECTOR_VERSIONS float cope_row_gradient(const CopeGradientRow<float>& row) {
  position_gradient(row, row.gate_logits);
  const float carry = gate_gradient(row);
  through_sigmoid(row);
  return carry;
}

double cope_row_gradient(const CopeGradientRow<double>& row) {
  position_gradient(row, row.gate_logits);
  const double carry = gate_gradient(row);
  through_sigmoid(row);
  return carry;
}

}  // namespace locus::position::kernel
