// Products with 16-bit weights against sums in float64 over weights converted one by one, for every kernel that this
// CPU can run.
#include "core/products/products.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "core/products/many_tokens.h"

namespace locus::products {

namespace {

// binary16 by its definition (IEEE 754-2019, 3.6), bfloat16 as the upper half of a float32.
float value_of(std::uint16_t bits, Format format) {
  if (format == Format::kBfloat16) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
  const int exponent = (bits >> 10) & 31;
  const int fraction = bits & 1023;
  const double size = exponent == 0    ? std::ldexp(fraction, -24)
                      : exponent == 31 ? (fraction == 0 ? std::numeric_limits<double>::infinity() : std::nan(""))
                                       : std::ldexp(1024 + fraction, exponent - 25);
  return static_cast<float>((bits & 0x8000) != 0 ? -size : size);
}

// Numbers around 1, some of them subnormal or zero.
std::vector<std::uint16_t> stored(std::size_t count, Format format, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::uint16_t> bits(count);
  for (std::uint16_t& value : bits) {
    const auto draw = static_cast<unsigned>(random());
    const unsigned exponent = format == Format::kHalf ? (10 + draw % 6) << 10 : (120 + draw % 8) << 7;
    const unsigned fraction = (draw >> 8) & (format == Format::kHalf ? 1023U : 127U);
    value = static_cast<std::uint16_t>((draw % 31 == 0 ? 0U : exponent) | fraction | ((draw >> 20) & 1U) << 15);
  }
  return bits;
}

std::vector<float> numbers(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) {
    value = normal(random);
  }
  return values;
}

struct Shape {
  std::int64_t tokens, inputs, outputs;
};

// How weights lie: rows of K, rows of N, or neither (both with gaps).
struct Layout {
  const char* name;
  std::int64_t output_stride, input_stride, elements;
};

std::vector<Layout> layouts(const Shape& shape) {
  const std::int64_t row = shape.inputs + 3;
  const std::int64_t column = shape.outputs + 5;
  return {{"rows", row, 1, row * shape.outputs},
          {"transposed", 1, column, column * shape.inputs},
          {"strided", 2 * row, 2, 2 * row * shape.outputs}};
}

const std::vector<Shape> kShapes{{1, 64, 32},    {1, 77, 129},   {2, 33, 70}, {3, 128, 9},   {4, 513, 40},
                                 {5, 16, 31},    {6, 700, 64},   {13, 1, 1},  {29, 600, 97}, {40, 530, 300},
                                 {1550, 20, 33}, {33, 1700, 90}, {48, 96, 17}};

// All kernels that this CPU can run.
std::vector<const Kernels*> runnable_kernels() {
  std::vector<const Kernels*> found;
  for (std::int64_t version = 0; version < runnable_versions(); ++version) {
    found.push_back(&kernels(version, false));
  }
  if (runnable_tiles()) {
    found.push_back(&kernels(runnable_versions() - 1, true));
  }
  return found;
}

// "16 columns", or "tiles".
std::string name_of(const Kernels& kernels) {
  return kernels.tiles != nullptr ? "tiles" : std::to_string(kernels.columns) + " columns";
}

class Products : public testing::TestWithParam<Format> {};

TEST_P(Products, AreThoseOfTheConvertedWeights) {
  for (const Kernels* const with : runnable_kernels()) {
    for (const Shape& shape : kShapes) {
      for (const Layout& layout : layouts(shape)) {
        SCOPED_TRACE(std::string(layout.name) + ", " + name_of(*with) + ", T " + std::to_string(shape.tokens) + " K " +
                     std::to_string(shape.inputs) + " N " + std::to_string(shape.outputs));
        const std::vector<std::uint16_t> bits = stored(static_cast<std::size_t>(layout.elements), GetParam(), 7);
        const std::vector<float> bias = numbers(static_cast<std::size_t>(shape.outputs), 2);
        const std::int64_t x_stride = shape.inputs + 2;
        const std::int64_t y_stride = shape.outputs + 1;
        const std::vector<float> x = numbers(static_cast<std::size_t>(shape.tokens * x_stride), 1);
        const Weights weights{bits.data(),  GetParam(),           shape.outputs,
                              shape.inputs, layout.output_stride, layout.input_stride};
        std::vector<float> y(static_cast<std::size_t>(shape.tokens * y_stride), 99.0F);
        multiply(weights, x.data(), shape.tokens, x_stride, bias.data(), y.data(), y_stride, *with);

        std::vector<float> converted(bits.size());
        for (std::size_t n = 0; n < bits.size(); ++n) {
          converted[n] = value_of(bits[n], GetParam());
        }
        Weights wide = weights;
        wide.data = converted.data();
        wide.format = Format::kFloat;
        std::vector<float> same(y.size(), 99.0F);
        multiply(wide, x.data(), shape.tokens, x_stride, bias.data(), same.data(), y_stride, *with);
        EXPECT_EQ(y, same);  // bit for bit what converting first gives, and nothing written beside the outputs

        double worst = 0;
        for (std::int64_t t = 0; t < shape.tokens; ++t) {
          for (std::int64_t n = 0; n < shape.outputs; ++n) {
            double sum = bias[static_cast<std::size_t>(n)];
            double size = 1;
            for (std::int64_t k = 0; k < shape.inputs; ++k) {
              const double term =
                  static_cast<double>(x[static_cast<std::size_t>(t * x_stride + k)]) *
                  converted[static_cast<std::size_t>(n * layout.output_stride + k * layout.input_stride)];
              sum += term;
              size += std::abs(term);
            }
            worst = std::max(worst, std::abs(sum - y[static_cast<std::size_t>(t * y_stride + n)]) / size);
          }
          EXPECT_EQ(y[static_cast<std::size_t>(t * y_stride + shape.outputs)], 99.0F);
        }
        EXPECT_LT(worst, with->tiles != nullptr && shape.tokens >= kLeastTiled ? 2e-7 : 1e-6);
      }
    }
  }
}

TEST_P(Products, ReadEveryNumberOfTheFormat) {
  // The 65,536 numbers as weights of one input each: what is not finite must stay so.
  std::vector<std::uint16_t> bits(1 << 16);
  for (std::size_t n = 0; n < bits.size(); ++n) {
    bits[n] = static_cast<std::uint16_t>(n);
  }
  const auto count = static_cast<std::int64_t>(bits.size());
  const float one = 1;
  for (const Kernels* const with : runnable_kernels()) {
    // One output an input, and one input an output.
    for (const Weights& weights :
         {Weights{bits.data(), GetParam(), count, 1, 1, 1}, Weights{bits.data(), GetParam(), count, 1, 1, count}}) {
      std::vector<float> y(bits.size());
      multiply(weights, &one, 1, 1, nullptr, y.data(), count, *with);
      for (std::size_t n = 0; n < bits.size(); ++n) {
        const float expected = value_of(bits[n], GetParam());
        ASSERT_TRUE(std::isnan(expected) ? std::isnan(y[n]) : y[n] == expected) << n << ", " << name_of(*with);
      }
    }
    // Vectors of a packed panel: 64 rows of 1,024 inputs, one of which is multiplied with 1. Tiles take numbers of the
    // least exponent as 0.
    const bool tiled = with->tiles != nullptr;
    const std::size_t tokens = tiled ? 2 * kLeastTiled : 8;
    std::vector<float> x(tokens * 1024);
    std::vector<std::uint16_t> finite = bits;
    for (std::uint16_t& value : finite) {
      value = std::isfinite(value_of(value, GetParam())) ? value : std::uint16_t{0};
    }
    for (std::size_t k = 0; k < 1024; k += 37) {
      std::fill(x.begin(), x.end(), 0.0F);
      for (std::size_t t = 0; t < tokens; ++t) {
        x[t * 1024 + k] = 1;
      }
      std::vector<float> y(tokens * 64);
      multiply({finite.data(), GetParam(), 64, 1024, 1024, 1}, x.data(), static_cast<std::int64_t>(tokens), 1024,
               nullptr, y.data(), 64, *with);
      for (std::size_t n = 0; n < y.size(); ++n) {
        const float expected = value_of(finite[n % 64 * 1024 + k], GetParam());
        ASSERT_EQ(y[n], tiled && std::abs(expected) < std::numeric_limits<float>::min() ? 0 : expected);
      }
    }
  }
}

TEST_P(Products, TakeTokensThatTilesCannotHold) {
  if (!runnable_tiles()) {
    GTEST_SKIP() << "no matrix tiles";
  }
  const Shape shape{40, 96, 50};
  const std::vector<std::uint16_t> bits = stored(static_cast<std::size_t>(shape.outputs * shape.inputs), GetParam(), 7);
  const Weights weights{bits.data(), GetParam(), shape.outputs, shape.inputs, shape.inputs, 1};
  const auto product = [&](const std::vector<float>& x, bool tiles) {
    std::vector<float> y(static_cast<std::size_t>(shape.tokens * shape.outputs));
    multiply(weights, x.data(), shape.tokens, shape.inputs, nullptr, y.data(), shape.outputs, kernels(2, tiles));
    return y;
  };
  std::vector<float> x = numbers(static_cast<std::size_t>(shape.tokens * shape.inputs), 1);
  EXPECT_NE(product(x, true), product(x, false));  // other sums
  for (const float large : {3.4e38F, -3.4e38F, std::numeric_limits<float>::infinity()}) {
    x[x.size() / 2] = large;
    const std::vector<float> tiled = product(x, true);
    const std::vector<float> plain = product(x, false);
    for (std::size_t n = 0; n < plain.size(); ++n) {
      ASSERT_TRUE(std::isnan(plain[n]) ? std::isnan(tiled[n]) : tiled[n] == plain[n]) << large << " " << n;
    }
  }
}

TEST_P(Products, KnowWhatIsNotFinite) {
  std::vector<std::uint16_t> bits = stored(3'000'001, GetParam(), 3);
  const auto count = static_cast<std::int64_t>(bits.size());
  EXPECT_TRUE(all_finite(bits.data(), count, GetParam()));
  for (const std::size_t place : {std::size_t{0}, std::size_t{1'500'000}, bits.size() - 1}) {
    const std::uint16_t before = bits[place];
    bits[place] = GetParam() == Format::kHalf ? 0xFC00 : 0x7F81;  // −∞, NaN
    EXPECT_FALSE(all_finite(bits.data(), count, GetParam()));
    bits[place] = before;
  }
  EXPECT_TRUE(all_finite(bits.data(), 0, GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Formats, Products, testing::Values(Format::kBfloat16, Format::kHalf),
                         [](const auto& info) { return info.param == Format::kHalf ? "half" : "bfloat16"; });

}  // namespace

}  // namespace locus::products
