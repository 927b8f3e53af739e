// What the products share: sizes, memory, panels of outputs, and where sums begin.
#pragma once

#include <ATen/Parallel.h>

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

// Every thread has as many of the `unit` outputs, in panels of the same size, at most `largest`: thread(panels) is
// called once in each, and panels(write) calls write(begin, end) for each panel.
template <class Thread>
void for_panels(std::int64_t outputs, std::int64_t unit, std::int64_t largest, const Thread& thread) {
  at::parallel_for(0, (outputs + unit - 1) / unit, 1, [&](std::int64_t first, std::int64_t last) {
    const std::int64_t most = largest / unit;
    const std::int64_t panels = (last - first + most - 1) / most;
    thread([&](const auto& write) {
      for (std::int64_t n = 0; n < panels; ++n) {
        const auto output_of = [&](std::int64_t part) {
          return std::min((first + (last - first) * part / panels) * unit, outputs);
        };
        write(output_of(n), output_of(n + 1));
      }
    });
  });
}

}  // namespace locus::products
