// What the products share: sizes, memory, and where sums begin.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace locus::products {

constexpr std::int64_t round_up(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step * step;
}

// Not yet written.
inline std::unique_ptr<float[]> floats(std::int64_t count) {
  return std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(count));
}

// y[t·y_stride + n] = bias[n], n in [begin, end); 0 where `bias` is null.
inline void fill(const float* bias, std::int64_t begin, std::int64_t end, std::int64_t tokens, float* y,
                 std::int64_t y_stride) {
  for (std::int64_t t = 0; t < tokens; ++t) {
    if (bias == nullptr) {
      std::fill(y + t * y_stride + begin, y + t * y_stride + end, 0.0F);
    } else {
      std::copy(bias + begin, bias + end, y + t * y_stride + begin);
    }
  }
}

}  // namespace locus::products
