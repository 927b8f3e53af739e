#include "core/products/integer_products.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "core/products/panels.h"

namespace locus::products {

namespace {

// Numbers of all groups, and their steps; not yet written.
struct Integers {
  Integers(std::int64_t rows, std::int64_t inputs)
      : pairs(lines_of<std::int32_t>(rows * inputs / 2)), steps(floats(rows * inputs / kIntegerGroup)) {}

  Lines<std::int32_t> pairs;
  Lines<float> steps;
};

// One product: strips of x are rounded once, panels of the weights as they are needed.
class IntegerProduct {
 public:
  static constexpr std::int64_t kDepth = 1024;   // inputs of a panel
  static constexpr std::int64_t kMaxSlices = 4;  // of a panel: 256 KiB with AVX-512, 128 with AVX2

  IntegerProduct(const Weights& weights, const IntegerTiles& with, const float* x, std::int64_t tokens,
                 std::int64_t x_stride)
      : weights_(weights), with_(with), tokens_(tokens), strips_(round_up(tokens, with.rows), weights.inputs) {
    at::parallel_for(0, round_up(tokens, with.rows) / with.rows, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t strip = begin; strip < end; ++strip) {
        pack_strip(x + strip * with_.rows * x_stride, std::min(with_.rows, tokens_ - strip * with_.rows), x_stride,
                   strip * with_.rows * weights_.inputs);
      }
    });
  }

  std::int64_t panel_outputs() const { return kMaxSlices * with_.columns; }

  // Writes outputs [begin, end) to y. `panel`: for panel_outputs() × kDepth.
  void write(std::int64_t begin, std::int64_t end, const Integers& panel, const float* bias, float* y,
             std::int64_t y_stride) const {
    for (std::int64_t first = 0; first < weights_.inputs; first += kDepth) {
      const std::int64_t depth = std::min(kDepth, weights_.inputs - first);
      const std::int64_t groups = depth / kIntegerGroup;
      for (std::int64_t n = begin; n < end; n += with_.columns) {
        pack_slice(n, std::min(with_.columns, end - n), first, depth, panel.pairs.get() + (n - begin) * depth / 2,
                   panel.steps.get() + (n - begin) * groups);
      }
      for (std::int64_t t = 0; t < tokens_; t += with_.rows) {
        const std::int64_t from = t * weights_.inputs + first * with_.rows;
        for (std::int64_t n = begin; n < end; n += with_.columns) {
          write_tile(from, panel.pairs.get() + (n - begin) * depth / 2, panel.steps.get() + (n - begin) * groups,
                     groups, std::min(with_.rows, tokens_ - t), std::min(with_.columns, end - n),
                     first == 0 ? start_of(bias, n) : nullptr, y + t * y_stride + n, y_stride);
        }
      }
    }
  }

 private:
  // A strip, (groups, kGroupPairs, rows), whose first number is the from-th; tokens from `count` on are zeros.
  void pack_strip(const float* x, std::int64_t count, std::int64_t x_stride, std::int64_t from) {
    std::array<IntegerPairs, kMaxColumns> integers{};
    for (std::int64_t g = 0; g < weights_.inputs / kIntegerGroup; ++g) {
      float* const steps = strips_.steps.get() + from / kIntegerGroup + g * with_.rows;
      for (std::int64_t m = 0; m < with_.rows; ++m) {
        steps[m] =
            m < count ? with_.round(x + m * x_stride + g * kIntegerGroup, integers[static_cast<std::size_t>(m)]) : 0.0F;
      }
      std::int32_t* pairs = strips_.pairs.get() + from / 2 + g * kGroupPairs * with_.rows;
      for (std::size_t p = 0; p < kGroupPairs; ++p) {
        for (std::int64_t m = 0; m < with_.rows; ++m) {
          *pairs++ = integers[static_cast<std::size_t>(m)][p];
        }
      }
    }
  }

  // The weights of `count` outputs, (groups, kGroupPairs, columns).
  void pack_slice(std::int64_t n, std::int64_t count, std::int64_t first, std::int64_t depth, std::int32_t* slice,
                  float* steps) const {
    constexpr std::int64_t kGroups = kDepth / kIntegerGroup;
    alignas(64) std::array<float, kDepth> row;
    alignas(64) std::array<IntegerPairs, kMaxColumns * kGroups> integers;
    const std::int64_t groups = depth / kIntegerGroup;
    for (std::int64_t c = 0; c < with_.columns; ++c) {
      if (c < count) {
        blocks::expand(*weights_.blocks, weights_.at(n + c, first), depth / weights_.blocks->elements, row.data());
      }
      for (std::int64_t g = 0; g < groups; ++g) {
        IntegerPairs& own = integers[static_cast<std::size_t>(c * kGroups + g)];
        if (c < count) {
          steps[g * with_.columns + c] = with_.round(row.data() + g * kIntegerGroup, own);
        } else {
          steps[g * with_.columns + c] = 0;
          own.fill(0);
        }
      }
    }
    for (std::int64_t g = 0; g < groups; ++g) {
      with_.pack(integers.data() + g, kGroups, slice + g * kGroupPairs * with_.columns);
    }
  }

  void write_tile(std::int64_t from, const std::int32_t* slice, const float* slice_steps, std::int64_t groups,
                  std::int64_t rows, std::int64_t columns, const float* start, float* y, std::int64_t y_stride) const {
    const std::int32_t* const strip = strips_.pairs.get() + from / 2;
    const float* const strip_steps = strips_.steps.get() + from / kIntegerGroup;
    if (columns == with_.columns) {
      return with_.tile(strip, strip_steps, slice, slice_steps, groups, rows, start, y, y_stride);
    }
    write_part(rows, with_.columns, columns, start, y, y_stride, [&](float* whole, std::int64_t stride) {
      with_.tile(strip, strip_steps, slice, slice_steps, groups, rows, start_of(nullptr, 0), whole, stride);
    });
  }

  const Weights& weights_;
  const IntegerTiles& with_;
  std::int64_t tokens_;
  Integers strips_;
};

}  // namespace

bool has_integers(const blocks::Format& format, const Kernels& with) {
  return with.integers != nullptr && with.tiles == nullptr && format.elements % kIntegerGroup == 0 &&
         IntegerProduct::kDepth % format.elements == 0;
}

bool takes_integers(const Weights& weights, const Kernels& with) {
  return weights.fast && weights.blocks != nullptr && has_integers(*weights.blocks, with);
}

void multiply_integers(const Weights& weights, const float* x, std::int64_t tokens, std::int64_t x_stride,
                       const float* bias, float* y, std::int64_t y_stride, const IntegerTiles& with) {
  const IntegerProduct product(weights, with, x, tokens, x_stride);
  for_panels(weights.outputs, with.columns, product.panel_outputs(), [&](const auto& panels) {
    const Integers panel(product.panel_outputs(), std::min(IntegerProduct::kDepth, weights.inputs));
    panels([&](std::int64_t begin, std::int64_t end) { product.write(begin, end, panel, bias, y, y_stride); });
  });
}

}  // namespace locus::products
