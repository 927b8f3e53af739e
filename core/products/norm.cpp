#include "core/products/norm.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace locus::products {

namespace {

constexpr std::int64_t kPartsOfSum = 16;
constexpr std::int64_t kNumbersPerTask = 1 << 15;

float sum_of_squares(const float* x, std::int64_t count) {
  std::array<float, kPartsOfSum> sums{};
  std::int64_t n = 0;
  for (; n + kPartsOfSum <= count; n += kPartsOfSum) {
    for (std::int64_t part = 0; part < kPartsOfSum; ++part) {
      sums.at(static_cast<std::size_t>(part)) += x[n + part] * x[n + part];
    }
  }
  for (; n < count; ++n) {
    sums.front() += x[n] * x[n];
  }
  for (std::size_t half = kPartsOfSum / 2; half > 0; half /= 2) {
    for (std::size_t part = 0; part < half; ++part) {
      sums.at(part) += sums.at(part + half);
    }
  }
  return sums.front();
}

// Whether the loop can read it.
bool is_plain(const at::Tensor& x) {
  return x.device().is_cpu() && x.scalar_type() == at::kFloat && x.is_contiguous();
}

}  // namespace

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps) {
  const std::int64_t width = x.size(-1);
  if (at::GradMode::is_enabled() || x.numel() == 0 || !is_plain(x) || (weight.defined() && !is_plain(weight))) {
    const at::Tensor scaled = x * at::rsqrt(x.square().mean(-1, true) + eps);
    return weight.defined() ? scaled * weight : scaled;
  }
  at::Tensor y = at::empty_like(x);
  const float* const from = x.data_ptr<float>();
  const float* const factors = weight.defined() ? weight.data_ptr<float>() : nullptr;
  float* const to = y.data_ptr<float>();
  const std::int64_t grain = std::max<std::int64_t>(1, kNumbersPerTask / width);
  at::parallel_for(0, x.numel() / width, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const float* const in = from + row * width;
      float* const out = to + row * width;
      const float mean = sum_of_squares(in, width) / static_cast<float>(width);
      const float scale = 1 / std::sqrt(mean + static_cast<float>(eps));
      for (std::int64_t n = 0; n < width; ++n) {
        out[n] = factors == nullptr ? in[n] * scale : in[n] * scale * factors[n];
      }
    }
  });
  return y;
}

}  // namespace locus::products
