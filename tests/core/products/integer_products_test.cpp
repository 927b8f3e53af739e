// Fast products of many tokens: against sums in float64 of the expanded numbers, and what every version of the kernels
// rounds to.
#include "core/products/integer_products.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/products/integer_tiles.h"
#include "core/products/linear.h"
#include "tests/support/block_matrices.h"

namespace locus::products {
namespace {

using test::all_formats;
using test::matrix_of;

constexpr double kFloatSums = 1e-5;  // of Σ |w·x|, what float32's rounding may add
constexpr double kBias = 1e-6;       // of a bias, what adding small sums to it may lose
constexpr double kWhole = 8191;

// The tiles of each version that has them; AVX-512's twice where the CPU multiplies and adds in one step.
std::vector<const IntegerTiles*> tiles_of_this_cpu() {
  std::vector<const IntegerTiles*> all;
  for (std::int64_t version = 1; version < runnable_versions(); ++version) {
    all.push_back(integer_tiles(version, false));
  }
  if (runnable_versions() > 2 && has_byte_products()) {
    all.push_back(integer_tiles(2, true));
  }
  return all;
}

Weights weights_of(const Packed& matrix) {
  Weights weights;
  weights.data = matrix.data;
  weights.outputs = matrix.outputs;
  weights.inputs = matrix.inputs;
  weights.blocks = matrix.format;
  weights.fast = true;
  return weights;
}

at::Tensor product(const at::Tensor& x, const Packed& matrix, const at::Tensor& bias, const IntegerTiles& with) {
  at::Tensor y = at::empty({x.size(0), matrix.outputs + 3});  // what lies between rows is left alone
  y.fill_(7);
  multiply_integers(weights_of(matrix), x.data_ptr<float>(), x.size(0), x.stride(0),
                    bias.defined() ? bias.data_ptr<float>() : nullptr, y.data_ptr<float>(), y.stride(0), with);
  EXPECT_TRUE((y.slice(1, matrix.outputs) == 7).all().item<bool>());
  return y.slice(1, 0, matrix.outputs);
}

// (T, N) float64, the error that integer_tiles.h states, but for float32's rounding.
at::Tensor stated_error(const at::Tensor& x, const at::Tensor& numbers) {
  const auto groups = [](const at::Tensor& rows) { return rows.to(at::kDouble).unflatten(1, {-1, kIntegerGroup}); };
  const auto steps = [&](const at::Tensor& rows) { return groups(rows).abs().amax(2) / kWhole; };
  const auto sums = [&](const at::Tensor& rows) { return groups(rows).abs().sum(2); };
  return at::matmul(steps(x) / 2, sums(numbers).t()) + at::matmul(sums(x), steps(numbers).t() / 2) +
         8 * at::matmul(steps(x), steps(numbers).t());
}

// Every format and version, panels and strips that are full and that are not, several panels of inputs.
TEST(IntegerProducts, AreWithinTheStatedError) {
  at::manual_seed(1);
  for (const blocks::Format* const format : all_formats()) {
    if (format->elements % kIntegerGroup != 0) {
      continue;
    }
    struct Shape {
      std::int64_t tokens, inputs, outputs;
    };
    for (const Shape& shape : {Shape{5, 256, 3}, Shape{12, 512, 32}, Shape{37, 768, 70}, Shape{6, 1280, 300}}) {
      const Packed matrix = matrix_of(*format, shape.outputs, shape.inputs);
      const at::Tensor numbers = dense(packed_tensor(matrix));
      const at::Tensor x = at::randn({shape.tokens, shape.inputs + 5}).slice(1, 0, shape.inputs);
      const at::Tensor bias = shape.tokens == 12 ? at::Tensor() : at::randn({shape.outputs});
      at::Tensor wanted = at::linear(x.to(at::kDouble), numbers.to(at::kDouble));
      at::Tensor allowed = stated_error(x, numbers) + kFloatSums * at::linear(x.abs(), numbers.abs());
      if (bias.defined()) {
        wanted += bias;
        allowed += kBias * bias.abs();
      }
      at::Tensor first;
      for (const IntegerTiles* const with : tiles_of_this_cpu()) {
        const at::Tensor y = product(x, matrix, bias, *with);
        EXPECT_TRUE(((y - wanted).abs() <= allowed).all().item<bool>())
            << format->name << ", " << shape.tokens << " tokens, rows of " << with->rows;
        first = first.defined() ? first : y;
        EXPECT_TRUE(at::equal(y, first)) << format->name << ": the versions differ";
      }
    }
  }
}

// Numbers of random sizes, and groups of zeros, of denormal steps and of what is no number.
TEST(IntegerProducts, RoundToTheNearestWholeNumber) {
  at::manual_seed(2);
  for (const IntegerTiles* const with : tiles_of_this_cpu()) {
    for (const double size : {1.0, 1e-20, 1e30, 0.0, 1e-38}) {
      at::Tensor x = at::randn({kIntegerGroup}) * size;
      IntegerPairs integers;
      const float step = with->round(x.data_ptr<float>(), integers);
      const bool none = size < 1e-30;
      EXPECT_EQ(step, none ? 0 : x.abs().max().item<float>() / 8191.0F);
      for (std::int64_t n = 0; n < kIntegerGroup; ++n) {
        const auto pair = static_cast<std::uint32_t>(integers.at(static_cast<std::size_t>(n / 2)));
        const auto number = static_cast<std::int16_t>(n % 2 == 0 ? pair & 0xFFFFU : pair >> 16);
        const double error = std::abs(number * static_cast<double>(step) - x[n].item<double>());
        EXPECT_LE(error, none ? 1e-37 : 0.501 * static_cast<double>(step)) << n;
        EXPECT_LE(std::abs(number), 8191);
      }
    }
    for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
      at::Tensor x = at::ones({kIntegerGroup});
      x[9] = bad;
      IntegerPairs integers;
      EXPECT_TRUE(std::isnan(with->round(x.data_ptr<float>(), integers)));
    }
  }
}

// All numbers the largest: the sum of a group is the largest that 32 bits have to hold.
TEST(IntegerProducts, HoldTheLargestSums) {
  const blocks::Format& format = *blocks::format_of("Q8_0");
  const at::Tensor numbers = at::full({40, 64}, 0.5F);
  constexpr std::int64_t kBlocks = 80;
  auto bytes = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(kBlocks * format.bytes));
  blocks::pack(format, numbers.data_ptr<float>(), kBlocks, bytes->data());
  const Packed matrix{&format, bytes->data(), 40, 64, 0, bytes};
  const at::Tensor held = dense(packed_tensor(matrix));
  for (const IntegerTiles* const with : tiles_of_this_cpu()) {
    for (const float sign : {1.0F, -1.0F}) {
      const at::Tensor x = at::full({7, 64}, 3 * sign);
      const at::Tensor y = product(x, matrix, {}, *with);
      EXPECT_TRUE(at::allclose(y, at::linear(x, held), kFloatSums, 0));
    }
  }
}

// What is no number makes the outputs of its token none, and those of no other.
TEST(IntegerProducts, KeepWhatIsNoNumber) {
  const Packed matrix = matrix_of(*blocks::format_of("Q8_0"), 33, 64);
  for (const IntegerTiles* const with : tiles_of_this_cpu()) {
    at::Tensor x = at::ones({6, 64});
    x[2][40] = std::numeric_limits<float>::infinity();
    const at::Tensor numbers = product(x, matrix, {}, *with).isnan();
    EXPECT_TRUE(numbers[2].all().item<bool>());
    EXPECT_EQ(numbers.sum().item<std::int64_t>(), 33);
  }
}

// Only weights that ask for them have them, from five tokens on and where no matrix tiles are used.
TEST(IntegerProducts, AreOfManyTokensOfFastWeights) {
  at::manual_seed(3);
  for (const char* const name : {"Q8_0", "Q4_K", "IQ4_XS"}) {
    const at::Tensor exact = packed_tensor(matrix_of(*blocks::format_of(name), 40, 512));
    const at::Tensor fast = with_fast_products(exact);
    const at::Tensor x = at::randn({64, 512});
    for (const std::int64_t tokens : {2, 4}) {
      EXPECT_TRUE(
          at::equal(products::linear(x.slice(0, 0, tokens), fast), products::linear(x.slice(0, 0, tokens), exact)))
          << name;
    }
    const bool rounds = kernels().integers != nullptr && kernels().tiles == nullptr;
    EXPECT_EQ(at::equal(products::linear(x.slice(0, 0, 5), fast), products::linear(x.slice(0, 0, 5), exact)), !rounds)
        << name;
    EXPECT_EQ(at::equal(products::linear(x, fast), products::linear(x, exact)), !rounds) << name;
  }
}

}  // namespace
}  // namespace locus::products
