#include "core/position/tile_kernels.h"

#include <algorithm>
#include <bit>
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

// Adding and subtracting 1.5·2^23 rounds to the nearest integer, in any vector width.
constexpr float kRounder = 12582912.0F;

inline float round_nearest(float x) {
  return (x + kRounder) - kRounder;
}

// cos(2πt): t is reduced by whole turns exactly; then cos(2πf) = sin(2π(1/4 − |f|)), a polynomial on [−π/2, π/2].
inline float cos_turns(float t) {
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

// e^x for x ≤ 88, relative error below 2e-7: 2^n · e^r with |r| ≤ ln 2 / 2.
inline float exponential(float x) {
  x = x < -87.0F ? -87.0F : x;
  x = x > 88.0F ? 88.0F : x;
  const float n = round_nearest(x * 1.44269504F);
  const float r = (x - n * 0.693359375F) + n * 2.12194440e-4F;
  float p = 1.98756915e-4F;
  p = p * r + 1.39819995e-3F;
  p = p * r + 8.33345192e-3F;
  p = p * r + 4.16657959e-2F;
  p = p * r + 1.66666655e-1F;
  p = p * r + 5.00000012e-1F;
  p = p * r * r + r + 1.0F;
  return p * std::bit_cast<float>((static_cast<std::int32_t>(n) + 127) << 23);
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
    out[c] = 1.0F / (1.0F + exponential(-x[c]));
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

float cope_row(const CopeRow& row, float carry) {
  float* const positions = row.positions;
  sigmoid(row.gate_logits, row.gates, row.visible);
  std::fill(row.gates + row.visible, row.gates + row.columns, 0.0F);
  float p = carry;
  for (std::int64_t c = row.columns - 1; c >= 0; --c) {
    p += row.gates[c];
    positions[c] = p < row.p_max ? p : row.p_max;
  }
  if (row.z != nullptr) {
    interpolate(row.content, positions, row.z, row.logits, static_cast<std::int32_t>(row.p_max), row.columns);
    return p;
  }
  for (std::int64_t c = 0; c < row.columns; ++c) {
    row.logits[c] = row.content[c] + row.slope * positions[c];
  }
  return p;
}

}  // namespace locus::position::kernel
