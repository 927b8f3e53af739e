// What the products share: sizes, memory, panels of outputs, and where sums begin.
#pragma once

#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace locus::products {

constexpr std::int64_t round_up(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step * step;
}

// Elements that begin at a line of the cache, so that no vector of them lies in two.
struct FreeLines {
  static constexpr std::align_val_t kLine{64};
  void operator()(void* begin) const { ::operator delete(begin, kLine); }
};
template <class T>
using Lines = std::unique_ptr<T[], FreeLines>;

// So many elements, not yet written.
template <class T>
Lines<T> lines_of(std::int64_t count) {
  return Lines<T>(static_cast<T*>(::operator new(static_cast<std::size_t>(count) * sizeof(T), FreeLines::kLine)));
}
inline Lines<float> floats(std::int64_t count) {
  return lines_of<float>(count);
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

constexpr std::int64_t kMaxColumns = 32;  // of the kernels' tiles

// What a tile of outputs from n on starts with: their biases; zeros where `bias` is null.
inline const float* start_of(const float* bias, std::int64_t n) {
  static constexpr std::array<float, kMaxColumns> kZeros{};
  return bias != nullptr ? bias + n : kZeros.data();
}

// Makes a tile of which only `count` columns are outputs: tile(y, stride) writes all `columns`, starting with zeros.
// `start` as of Kernels::tile.
template <class Tile>
void write_part(std::int64_t rows, std::int64_t columns, std::int64_t count, const float* start, float* y,
                std::int64_t y_stride, const Tile& tile) {
  constexpr std::int64_t kMaxRows = 12;
  std::array<float, kMaxRows * kMaxColumns> whole{};
  tile(whole.data(), columns);
  for (std::int64_t m = 0; m < rows; ++m) {
    for (std::int64_t c = 0; c < count; ++c) {
      float& own = y[m * y_stride + c];
      own = (start != nullptr ? start[c] : own) + whole[static_cast<std::size_t>(m * columns + c)];
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
