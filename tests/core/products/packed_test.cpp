// Matrices in blocks: products, rows and checks of them against the same of the expanded numbers.
#include "core/products/packed.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "core/base/held_formats.h"
#include "core/products/block_kernels.h"
#include "core/products/linear.h"
#include "core/products/rounded_kernels.h"
#include "tests/support/block_matrices.h"
#include "tests/support/golden.h"

namespace locus::products {
namespace {

using test::all_formats;
using test::matrix_of;

constexpr double kSums = 1e-5;

at::Tensor expected_product(const at::Tensor& x, const at::Tensor& weight) {
  return at::linear(x.to(at::kDouble), dense(weight).to(at::kDouble)).to(at::kFloat);
}

TEST(Packed, MultipliesAsTheExpandedNumbers) {
  at::manual_seed(1);
  for (const blocks::Format* const each : all_formats()) {
    const blocks::Format& format = *each;
    for (const std::int64_t outputs : {std::int64_t{5}, std::int64_t{70}}) {
      const std::int64_t inputs = 3 * std::max<std::int64_t>(format.elements, 64);
      const at::Tensor weight = packed_tensor(matrix_of(format, outputs, inputs));
      const at::Tensor bias = at::randn({outputs});
      for (const std::int64_t tokens : {1, 3, 37}) {
        const at::Tensor x = at::randn({tokens, inputs});
        const at::Tensor scale = at::matmul(x.abs(), dense(weight).abs().t()).max();
        const at::Tensor difference = (linear(x, weight, bias) - bias - expected_product(x, weight)).abs().max();
        EXPECT_LE((difference / scale).item<double>(), kSums) << format.name << " " << tokens << " tokens";
      }
    }
  }
}

// Every version of the kernels that this CPU runs.
TEST(Packed, MultipliesAlikeWithEveryVersion) {
  at::manual_seed(2);
  int tested = 0;
  for (const blocks::Format* const each : all_formats()) {
    const blocks::Format& format = *each;
    const std::int64_t inputs = format.elements == 32 ? 1120 : 1024;  // small blocks: four times eight, and three
    const Packed matrix = matrix_of(format, 6, inputs);
    const at::Tensor x = at::randn({inputs});
    const at::Tensor numbers = dense(packed_tensor(matrix));
    const at::Tensor wanted = at::mv(numbers.to(at::kDouble), x.to(at::kDouble));
    const double size = at::mv(numbers.abs(), x.abs()).max().item<double>();
    // AVX-512 twice where the CPU has byte products: with them and without.
    const std::int64_t kernels = runnable_versions() + (runnable_versions() > 2 && has_byte_products() ? 1 : 0);
    for (std::int64_t kernel = 0; kernel < kernels; ++kernel) {
      const std::int64_t version = std::min<std::int64_t>(kernel, 2);
      const BlockDot dot = block_dot(format, version, kernel > 2);
      if (dot == nullptr) {
        continue;
      }
      tested += kernel > 2 ? -1 : 0;  // beside the others
      const BlockToken token(x.data_ptr<float>(), inputs, token_order(format, version));
      EXPECT_NEAR(token.sums[1], x.slice(0, 16, 32).sum().item<double>(), 1e-5);
      EXPECT_NEAR(token.wide_sums[3], x.slice(0, 96, 128).sum().item<double>(), 1e-5);
      at::Tensor y = at::ones({6});
      dot(matrix.data, 6, inputs, token, y.data_ptr<float>());
      EXPECT_LE((y - 1 - wanted).abs().max().item<double>(), kSums * size) << format.name << " " << version;
      ++tested;
    }
  }
  // IQ4_XS and the 16 formats of other files have a kernel with AVX2, which AVX-512 uses too, but for 8-bit floats where
  // it permutes bytes.
  EXPECT_EQ(tested, 10 * runnable_versions() + 17 * (runnable_versions() - 1));
}

// Three digits and a step a group of 32 are x within half a step, but for the rounding of x / step; what is not finite
// stays so.
TEST(Packed, TokensInDigits) {
  at::manual_seed(3);
  at::Tensor x = at::randn({4, 32});
  x[1] *= 1e-20;
  x[2] *= 1e30;
  x[3].zero_();
  const BlockToken token(x.data_ptr<float>(), 128, TokenOrder::kPlain);
  for (std::int64_t n = 0; n < 128; ++n) {
    const auto group = static_cast<std::size_t>(n / 32);
    const auto digit = [&](std::int64_t which) { return token.digits()[192 * (n / 64) + 64 * which + n % 64]; };
    const double whole = 16384.0 * digit(0) + 128.0 * digit(1) + digit(2);
    const double step = static_cast<double>(token.steps[group]);
    EXPECT_LE(std::abs(whole * step - x.view(-1)[n].item<double>()), 0.57 * step) << n;
    EXPECT_LE(step, x[n / 32].abs().max().item<double>() / 1040000) << n;
  }
  for (const float odd : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    at::Tensor spoiled = at::ones({1024});
    spoiled[40] = odd;
    for (const blocks::Format* const format : all_formats()) {
      const std::string_view name = format->name;
      const BlockDot dot = block_dot(*format);
      if (dot == nullptr) {
        continue;
      }
      const Packed matrix = matrix_of(*format, 2, 1024);
      const BlockToken other(spoiled.data_ptr<float>(), 1024, token_order(*format));
      float y[2] = {};
      dot(matrix.data, 2, 1024, other, y);
      EXPECT_FALSE(std::isfinite(y[0]) || std::isfinite(y[1])) << name;
    }
  }
}

// In pairs, lines of 16 hold the even and the odd ones of eight numbers of each 16 in 64; zeros follow.
TEST(Packed, TokensInPairs) {
  at::manual_seed(6);
  constexpr std::int64_t kInputs = 160;
  const at::Tensor x = at::randn({kInputs});
  const BlockToken token(x.data_ptr<float>(), kInputs, TokenOrder::kPairs);
  ASSERT_EQ(token.pairs.size(), 12U);
  EXPECT_TRUE(token.lines.empty()) << "digits that no kernel reads";
  for (std::int64_t n = 0; n < 192; ++n) {
    const std::int64_t line = n / 16 % 4;
    const std::int64_t first = line / 2 * 8 + line % 2;  // of each 16
    const std::int64_t from = n / 64 * 64 + n % 16 / 4 * 16 + first + n % 4 * 2;
    const float found = token.pairs[static_cast<std::size_t>(n / 16)].numbers[n % 16];
    EXPECT_EQ(found, from < kInputs ? x[from].item<float>() : 0) << n;
  }
}

// In halves, numbers 0 … 15 of every 32 come first of each 128; zeros follow up to a multiple of 256.
TEST(Packed, TokensInHalves) {
  at::manual_seed(5);
  constexpr std::int64_t kInputs = 160;
  const at::Tensor x = at::randn({kInputs});
  const auto place = [](std::int64_t n) { return n / 128 * 128 + n % 32 / 16 * 64 + n % 128 / 32 * 16 + n % 16; };
  const BlockToken plain(x.data_ptr<float>(), kInputs, TokenOrder::kPlain);
  const BlockToken halves(x.data_ptr<float>(), kInputs, TokenOrder::kHalves);
  ASSERT_EQ(halves.lines.size(), 12U);
  ASSERT_EQ(halves.steps.size(), 8U);
  EXPECT_EQ(halves.steps, plain.steps);
  EXPECT_EQ(halves.wide_sums, plain.wide_sums);
  std::int64_t sizes[2] = {};
  for (std::int64_t n = 0; n < 256; ++n) {
    for (std::int64_t which = 0; which < 3; ++which) {
      const auto digit = [&](const BlockToken& token, std::int64_t at) {
        return token.digits()[192 * (at / 64) + 64 * which + at % 64];
      };
      sizes[0] += std::abs(digit(halves, n));
      sizes[1] += n < kInputs ? std::abs(digit(plain, n)) : 0;
      EXPECT_EQ(n < kInputs ? digit(plain, n) : digit(halves, place(n)), n < kInputs ? digit(halves, place(n)) : 0);
    }
  }
  EXPECT_EQ(sizes[0], sizes[1]);
  for (std::int64_t version = 0; version < runnable_versions(); ++version) {
    const RoundedToken bytes(x.data_ptr<float>(), kInputs, 32, TokenOrder::kPlain, version);
    const RoundedToken other(x.data_ptr<float>(), kInputs, 32, TokenOrder::kHalves, version);
    ASSERT_EQ(other.lines.size(), 4U);
    EXPECT_EQ(other.steps, bytes.steps);
    for (std::int64_t n = 0; n < 256; ++n) {
      EXPECT_EQ(other.bytes()[place(n)], n < kInputs ? bytes.bytes()[n] : 0) << n;
    }
  }
}

// The formats of fast products, and each kernel that this CPU runs: plain, AVX2's twice (AVX-512 without byte products
// uses it too), AVX-512's.
constexpr const char* kRoundedFormats[] = {"Q4_0", "Q4_1", "Q5_0", "Q5_1",   "Q8_0",
                                           "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "MXFP4"};
struct RoundedKernel {
  std::int64_t version;
  bool byte_products;
};
std::vector<RoundedKernel> rounded_kernels() {
  std::vector<RoundedKernel> kernels;
  for (std::int64_t version = 0; version < runnable_versions(); ++version) {
    kernels.push_back({version, false});
  }
  if (runnable_versions() > 2 && has_byte_products()) {
    kernels.push_back({2, true});
  }
  return kernels;
}

// The numbers that a token is rounded to, in float64.
at::Tensor rounded(const RoundedToken& token, std::int64_t inputs, std::int64_t group) {
  at::Tensor x = at::empty({inputs}, at::kDouble);
  for (std::int64_t n = 0; n < inputs; ++n) {
    const double step = static_cast<double>(token.steps[static_cast<std::size_t>(n / group)]);
    x[n] = step * token.bytes()[n];
  }
  return x;
}

// As llama.cpp rounds: 127 steps to the largest of a group, the nearest byte; by every version alike.
TEST(Packed, TokensInBytes) {
  at::manual_seed(4);
  for (const std::int64_t group : {32, 256}) {
    at::Tensor x = at::randn({5, group});
    x[1] *= 1e-20;
    x[2] *= 1e30;
    x[3].zero_();
    x[4] *= 1e-40;  // denormal: 0
    const std::int64_t inputs = 5 * group;
    const RoundedToken token(x.data_ptr<float>(), inputs, group, TokenOrder::kPlain, 0);
    for (std::int64_t n = 0; n < inputs; ++n) {
      const auto own = static_cast<std::size_t>(n / group);
      const float step = token.steps[own];
      EXPECT_EQ(step, own > 2 ? 0 : x[n / group].abs().max().item<float>() / 127) << n;
      const double error = std::abs(token.bytes()[n] * static_cast<double>(step) - x.view(-1)[n].item<double>());
      EXPECT_LE(error, own == 4 ? 1e-37 : 0.5001 * static_cast<double>(step)) << n;
    }
    for (std::int64_t n = 0; n < inputs / 16; ++n) {
      std::int64_t sum = 0;
      for (std::int64_t k = 16 * n; k < 16 * n + 16; ++k) {
        sum += token.bytes()[k];
      }
      EXPECT_EQ(token.sums[static_cast<std::size_t>(n)], sum) << n;
    }
    for (std::int64_t version = 1; version < runnable_versions(); ++version) {
      const RoundedToken other(x.data_ptr<float>(), inputs, group, TokenOrder::kPlain, version);
      EXPECT_EQ(std::memcmp(other.bytes(), token.bytes(), static_cast<std::size_t>(inputs)), 0) << version;
      EXPECT_EQ(other.steps, token.steps);
      EXPECT_EQ(other.sums, token.sums);
      EXPECT_EQ(other.wide_sums, token.wide_sums);
    }
  }
}

// With scales of 1 and whole tokens a product is a whole number, and is that number.
TEST(Packed, SumsOfRoundedTokensAreExact) {
  std::srand(5);
  constexpr std::uint16_t kOne = 0x3C00;  // binary16
  constexpr std::int64_t kOutputs = 9;
  for (const char* const name : kRoundedFormats) {
    const blocks::Format& format = *blocks::format_of(std::string_view(name));
    const std::int64_t inputs = format.elements == 32 ? 1120 : 512;  // eight blocks at once, and three
    const std::int64_t count = kOutputs * inputs / format.elements;
    auto bytes = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(count * format.bytes));
    for (std::byte& byte : *bytes) {
      byte = static_cast<std::byte>(std::rand() >> 7 & 0xFF);
    }
    for (std::int64_t block = 0; block < count; ++block) {
      std::byte* const own = bytes->data() + block * format.bytes;
      std::memcpy(own + (format.name == "Q6_K" ? 208 : 0), &kOne, sizeof kOne);
      if (format.name.ends_with("_1") || format.name == "Q4_K" || format.name == "Q5_K") {
        std::memcpy(own + 2, &kOne, sizeof kOne);
      } else if (format.name == "MXFP4") {
        own[0] = std::byte{128};  // numbers in halves: whole with this scale
        own[1] = static_cast<std::byte>(std::rand() >> 7 & 0xFF);
      }
    }
    std::vector<float> x(static_cast<std::size_t>(inputs));
    for (std::size_t k = 0; k < x.size(); ++k) {
      x[k] = static_cast<float>(k % 32 == 5 ? 127 : (std::rand() >> 7) % 255 - 127);
    }
    const at::Tensor weight = dense(packed_tensor({&format, bytes->data(), kOutputs, inputs, 0, bytes}));
    const at::Tensor wanted =
        at::mv(weight.to(at::kDouble), at::from_blob(x.data(), {inputs}, at::kFloat).to(at::kDouble));
    ASSERT_LT(wanted.abs().max().item<double>(), 1 << 24) << name;
    for (const RoundedKernel& kernel : rounded_kernels()) {
      const RoundedToken token(x.data(), inputs, rounded_group(format), token_order(format, kernel.version),
                               kernel.version);
      const RoundedDot dot = rounded_dot(format, kernel.version, kernel.byte_products);
      ASSERT_NE(dot, nullptr) << name;
      at::Tensor y = at::zeros({kOutputs});
      dot(bytes->data(), kOutputs, inputs, token, y.data_ptr<float>());
      EXPECT_TRUE(at::equal(y.to(at::kDouble), wanted)) << name << " " << kernel.version << kernel.byte_products;
    }
  }
}

// The products are those of the rounded token, to float32's rounding; they differ from the exact ones by no more than
// half a step times Σ |w| of its group, and where numbers are drawn from a normal distribution by 2e-3 of Σ |w·x|.
TEST(Packed, RoundedProductsStayWithinTheirBound) {
  constexpr double kOfNormal = 2e-3;
  at::manual_seed(6);
  for (const char* const name : kRoundedFormats) {
    const blocks::Format& format = *blocks::format_of(std::string_view(name));
    const std::int64_t group = rounded_group(format);
    const std::int64_t inputs = format.elements == 32 ? 1120 : 1024;
    const Packed matrix = matrix_of(format, 24, inputs);
    const at::Tensor weight = dense(packed_tensor(matrix)).to(at::kDouble);
    const at::Tensor x = at::randn({inputs});
    const at::Tensor exact = at::mv(weight, x.to(at::kDouble));
    const at::Tensor size = at::mv(weight.abs(), x.abs().to(at::kDouble));
    for (const RoundedKernel& kernel : rounded_kernels()) {
      const RoundedToken token(x.data_ptr<float>(), inputs, group, token_order(format, kernel.version), kernel.version);
      const RoundedToken plain(x.data_ptr<float>(), inputs, group, TokenOrder::kPlain, kernel.version);
      const at::Tensor of_rounded = at::mv(weight, rounded(plain, inputs, group));
      at::Tensor bound = at::zeros({24}, at::kDouble);
      for (std::int64_t n = 0; n < inputs / group; ++n) {
        bound += weight.slice(1, n * group, (n + 1) * group).abs().sum(1) * 0.5 *
                 static_cast<double>(token.steps[static_cast<std::size_t>(n)]);
      }
      at::Tensor y = at::ones({24});
      rounded_dot(format, kernel.version, kernel.byte_products)(matrix.data, 24, inputs, token, y.data_ptr<float>());
      const at::Tensor found = y.to(at::kDouble) - 1;
      EXPECT_LE(((found - of_rounded).abs() / size).max().item<double>(), kSums) << name << " " << kernel.version;
      EXPECT_TRUE(((found - exact).abs() <= bound + kSums * size).all().item<bool>()) << name;
      EXPECT_LE(((found - exact).abs() / size).max().item<double>(), kOfNormal) << name;
      EXPECT_GT((found - exact).abs().max().item<double>(), 0) << name;
    }
  }
}

// Rows that end anywhere within eight blocks, before one that is no number and at the end of the matrix.
TEST(Packed, RowsOfAnyNumberOfBlocks) {
  at::manual_seed(7);
  for (const char* const name : kRoundedFormats) {
    const blocks::Format& format = *blocks::format_of(std::string_view(name));
    for (std::int64_t count = 1; count <= 17 && format.elements == 32; ++count) {
      const std::int64_t inputs = 32 * count;
      const Packed matrix = matrix_of(format, 3, inputs);
      std::vector<std::byte> bytes(matrix.data, matrix.data + 3 * matrix.row_bytes());
      std::fill_n(bytes.begin() + matrix.row_bytes(), matrix.row_bytes(), std::byte{0xFF});
      const at::Tensor weight = dense(packed_tensor(matrix)).to(at::kDouble);
      const at::Tensor x = at::randn({inputs});
      const at::Tensor exact = at::mv(weight, x.to(at::kDouble));
      const double size = at::mv(weight.abs(), x.abs().to(at::kDouble)).max().item<double>();
      for (const RoundedKernel& kernel : rounded_kernels()) {
        const TokenOrder order = token_order(format, kernel.version);
        float y[2][3] = {};
        const BlockToken digits(x.data_ptr<float>(), inputs, order);
        block_dot(format, kernel.version, kernel.byte_products)(bytes.data(), 3, inputs, digits, y[0]);
        const RoundedToken token(x.data_ptr<float>(), inputs, 32, order, kernel.version);
        const RoundedToken plain(x.data_ptr<float>(), inputs, 32, TokenOrder::kPlain, kernel.version);
        const at::Tensor of_rounded = at::mv(weight, rounded(plain, inputs, 32));
        rounded_dot(format, kernel.version, kernel.byte_products)(bytes.data(), 3, inputs, token, y[1]);
        EXPECT_TRUE(std::isnan(y[0][1]) && std::isnan(y[1][1])) << name << " " << count << " " << kernel.version;
        for (const std::int64_t n : {0, 2}) {
          const double wanted = exact[n].item<double>();
          EXPECT_NEAR(y[0][n], wanted, kSums * size) << name << " " << count << " " << kernel.version;
          EXPECT_NEAR(y[1][n], of_rounded[n].item<double>(), kSums * size) << name << " " << count << kernel.version;
        }
      }
    }
  }
}

TEST(Packed, RoundedTokensThatAreNotFiniteStaySo) {
  for (const float odd : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    at::Tensor spoiled = at::ones({1024});
    spoiled[40] = odd;
    for (const char* const name : kRoundedFormats) {
      const blocks::Format& format = *blocks::format_of(std::string_view(name));
      const Packed matrix = matrix_of(format, 2, 1024);
      for (const RoundedKernel& kernel : rounded_kernels()) {
        const RoundedToken token(spoiled.data_ptr<float>(), 1024, rounded_group(format),
                                 token_order(format, kernel.version), kernel.version);
        float y[2] = {};
        rounded_dot(format, kernel.version, kernel.byte_products)(matrix.data, 2, 1024, token, y);
        EXPECT_FALSE(std::isfinite(y[0]) || std::isfinite(y[1])) << name << " " << kernel.version;
      }
    }
  }
}

// Products of one token and of two, on one thread and on three: matrices of different sizes, in blocks whose rows come in order or
// interleaved, exact and fast, and of numbers.
TEST(Packed, ProductsSideBySideAreThoseOfEach) {
  const at::NoGradGuard no_grad;
  at::manual_seed(8);
  constexpr std::int64_t kInputs = 768;  // whole blocks of every format
  std::vector<Matrix> matrices;
  for (const blocks::Format* const format : all_formats()) {
    for (const std::int64_t outputs : {4, 52}) {
      Packed matrix = matrix_of(*format, outputs, kInputs);
      matrix.interleaved = outputs == 52 ? 4 : 0;
      const at::Tensor weight = packed_tensor(matrix);
      matrices.push_back({weight, at::randn({outputs})});
      matrices.push_back({with_fast_products(weight), {}});
    }
  }
  for (const at::ScalarType type : {at::kFloat, at::kHalf, at::kBFloat16}) {
    matrices.push_back({at::randn({300, kInputs}).to(type), at::randn({300})});
    matrices.push_back({at::randn({kInputs, 20}).to(type).t(), {}});
    matrices.push_back({at::randn({0, kInputs}).to(type), {}});
  }
  const at::Tensor x = at::randn({1, 2, kInputs});
  const int threads = at::get_num_threads();
  for (const int count : {1, 3}) {
    at::set_num_threads(count);
    for (const at::Tensor& tokens : {x, x.narrow(1, 1, 1)}) {
      const std::vector<at::Tensor> found = linears(tokens, matrices);
      ASSERT_EQ(found.size(), matrices.size());
      for (std::size_t n = 0; n < found.size(); ++n) {
        EXPECT_TRUE(at::equal(found[n], linear(tokens, matrices[n].weight, matrices[n].bias))) << n;
      }
    }
  }
  at::set_num_threads(threads);
}

// One token alone, of the formats that have fast products, and many (integer_products_test.cpp), but not a few; bias and
// order of rows are as without.
TEST(Packed, FastProductsAreOfOneToken) {
  at::manual_seed(7);
  for (const blocks::Format* const format : all_formats()) {
    const std::int64_t inputs = 3 * std::max<std::int64_t>(format->elements, 64);
    Packed matrix = matrix_of(*format, 8, inputs);
    matrix.interleaved = 4;
    const at::Tensor exact = packed_tensor(matrix);
    const at::Tensor fast = with_fast_products(exact);
    EXPECT_FALSE(packed_of(exact)->fast);
    EXPECT_TRUE(packed_of(fast)->fast);
    EXPECT_TRUE(packed_of(narrow_rows(fast, 0, 4))->fast);
    EXPECT_TRUE(at::equal(dense(fast), dense(exact)));
    const at::Tensor bias = at::randn({8});
    const at::Tensor two = at::randn({2, inputs});
    EXPECT_TRUE(at::equal(linear(two, fast, bias), linear(two, exact, bias))) << format->name;
    const at::Tensor one = two.slice(0, 0, 1);
    const at::Tensor size = at::linear(one.abs(), dense(exact).abs());
    const at::Tensor difference = (linear(one, fast, bias) - linear(one, exact, bias)).abs();
    EXPECT_LE((difference / size).max().item<double>(), 1e-2) << format->name;
    EXPECT_EQ(difference.max().item<double>() > 0, rounded_dot(*format) != nullptr) << format->name;
  }
  const at::Tensor plain = at::ones({2, 2});
  EXPECT_TRUE(with_fast_products(plain).is_same(plain));
}

// An 8-bit float that is no number makes the product none, wherever it lies: in either block of a pair, or in a last one.
TEST(Packed, KeepsWhatIsNoNumber) {
  for (const std::int64_t elements : {32, 128}) {
    const blocks::Format& format = blocks::scaled_float8(elements);
    const std::int64_t inputs = elements == 32 ? 352 : 384;
    const at::Tensor x = at::ones({inputs});
    for (const std::int64_t place : {std::int64_t{0}, std::int64_t{9}, std::int64_t{23}, std::int64_t{31},
                                     elements + 13, inputs - 32, inputs - 1}) {
      for (const std::byte none : {std::byte{0x7F}, std::byte{0xFF}}) {
        Packed matrix = matrix_of(format, 2, inputs);
        const auto bytes = std::static_pointer_cast<const std::vector<std::byte>>(matrix.owner);
        const std::int64_t at = place / elements * format.bytes + 4 + place % elements;
        const_cast<std::vector<std::byte>&>(*bytes).at(static_cast<std::size_t>(at)) = none;
        const at::Tensor y = products::linear(x, packed_tensor(std::move(matrix)));
        EXPECT_TRUE(std::isnan(y[0].item<float>())) << elements << " " << place;
        EXPECT_FALSE(std::isnan(y[1].item<float>())) << elements << " " << place;
      }
    }
  }
}

// One input alone reads a number of every code that is one, with every version.
TEST(Packed, NumbersOfFloat8AreThoseOfTheTable) {
  constexpr std::int64_t kInputs = 384;
  for (const std::int64_t elements : {32, 128}) {
    const blocks::Format& format = blocks::scaled_float8(elements);
    const std::int64_t inputs = elements == 32 ? kInputs - 32 : kInputs;  // eleven blocks: five times two, and one
    Packed matrix = matrix_of(format, 1, inputs);
    const auto bytes = std::static_pointer_cast<const std::vector<std::byte>>(matrix.owner);
    for (std::int64_t n = 0; n < inputs; ++n) {
      const auto at = static_cast<std::size_t>(n / elements * format.bytes + 4 + n % elements);
      const bool is_number = (n & 127) != 127;
      const_cast<std::vector<std::byte>&>(*bytes).at(at) = static_cast<std::byte>(is_number ? n & 255 : 0);
    }
    const std::byte* const row = matrix.data;
    const at::Tensor numbers = dense(packed_tensor(std::move(matrix)))[0];
    for (std::int64_t version = 1; version < runnable_versions(); ++version) {
      for (std::int64_t input = 0; input < inputs; ++input) {
        at::Tensor x = at::zeros({inputs});
        x[input] = 1;
        const BlockToken token(x.data_ptr<float>(), inputs, token_order(format, version));
        float y = 0;
        block_dot(format, version)(row, 1, inputs, token, &y);
        EXPECT_EQ(y, numbers[input].item<float>()) << elements << " " << version << " " << input;
      }
    }
  }
}

// One input alone reads a number of every code with every scale that all versions hold, and the scale that is none.
TEST(Packed, NumbersOfMxfp4AreThoseOfTheTable) {
  const blocks::Format& format = *blocks::format_of("MXFP4");
  constexpr std::int64_t kInputs = 352;  // eight blocks at once, and three
  for (const int exponent : {0, 1, 2, 100, 127, 200, 255}) {
    auto bytes = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(kInputs / 32 * format.bytes));
    for (std::size_t n = 0; n < bytes->size(); ++n) {
      const std::size_t within = n % 17;
      bytes->at(n) = static_cast<std::byte>(within == 0 ? static_cast<std::size_t>(exponent)
                                                        : (within + n / 17) % 16 | (within * 7 + 3) % 16 << 4U);
    }
    const at::Tensor numbers = dense(packed_tensor({&format, bytes->data(), 1, kInputs, 0, bytes}))[0];
    for (std::int64_t input = 0; input < kInputs; ++input) {
      at::Tensor x = at::zeros({kInputs});
      x[input] = 1;
      for (std::int64_t version = 0; version < runnable_versions(); ++version) {
        const BlockToken token(x.data_ptr<float>(), kInputs, token_order(format, version));
        float y = 0;
        block_dot(format, version)(bytes->data(), 1, kInputs, token, &y);
        const auto wanted = numbers[input].item<float>();
        // With vectors x is taken in digits, whose products have 12 times the scale taken off: half a step of x, 2^−21,
        // and rounding of what is at most 24 times the scale; below 1e-37, scales times steps are denormal.
        const float off = version > 0 ? 2e-6F * numbers.abs().max().item<float>() + 1e-37F : 0;
        EXPECT_TRUE(exponent == 255 ? std::isnan(y) : std::abs(y - wanted) <= off)
            << exponent << " " << input << " " << version << ": " << y << ", not " << wanted;
      }
    }
  }
}

// Rows of every storage, some of them twice, give the outputs of the whole matrix.
TEST(Packed, StoredRowsGiveTheSameOutputs) {
  at::manual_seed(8);
  Packed interleaved = matrix_of(*blocks::format_of("Q8_0"), 24, 256);
  interleaved.interleaved = 8;
  const at::Tensor numbers = at::randn({24, 256});
  const at::Tensor ids = at::tensor({23, 0, 5, 5, 17, 8}, at::kLong);
  for (const at::Tensor& weight :
       {packed_tensor(interleaved), packed_tensor(matrix_of(*blocks::format_of("Q4_K"), 24, 256)), numbers,
        numbers.to(at::kBFloat16), with_fast_products(packed_tensor(matrix_of(*blocks::format_of("Q5_0"), 24, 256)))}) {
    const at::Tensor some = stored_rows(weight, ids);
    EXPECT_EQ(packed_of(some) != nullptr, packed_of(weight) != nullptr);
    EXPECT_EQ(packed_of(some) != nullptr && packed_of(some)->fast,
              packed_of(weight) != nullptr && packed_of(weight)->fast);
    for (const std::int64_t tokens : {1, 3, 40}) {
      const at::Tensor x = at::randn({tokens, 256});
      const at::Tensor all = products::linear(x, weight).index_select(1, ids);
      EXPECT_LE((products::linear(x, some) - all).abs().max().item<double>(), kSums * all.abs().max().item<double>());
    }
  }
  EXPECT_THROW(stored_rows(packed_tensor(interleaved), at::tensor({24}, at::kLong)), c10::Error);
}

TEST(Packed, PutsInterleavedRowsInOrder) {
  Packed matrix = matrix_of(*blocks::format_of("Q8_0"), 8, 64);
  const at::Tensor as_stored = dense(packed_tensor(matrix));
  matrix.interleaved = 4;
  const at::Tensor weight = packed_tensor(matrix);
  const at::Tensor order = at::tensor(std::vector<std::int64_t>{0, 2, 1, 3, 4, 6, 5, 7}, at::kLong);
  EXPECT_TRUE(at::equal(dense(weight), as_stored.index_select(0, order)));
  EXPECT_TRUE(at::equal(ordered_rows(as_stored, 4), as_stored.index_select(0, order)));
  const at::Tensor x = at::randn({2, 64});
  const at::Tensor bias = at::randn({8});
  EXPECT_CLOSE(linear(x, weight, bias), at::linear(x, dense(weight), bias), 1e-6);
  EXPECT_TRUE(
      at::equal(rows(weight, at::tensor(std::vector<std::int64_t>{5}, at::kLong)), dense(weight).slice(0, 5, 6)));
  EXPECT_TRUE(at::equal(dense(narrow_rows(weight, 4, 8)), dense(weight).slice(0, 4, 8)));
}

TEST(Packed, ReadsRowsAndSeesWhatIsNotFinite) {
  Packed matrix = matrix_of(*blocks::format_of("Q4_K"), 5, 512);
  const at::Tensor weight = packed_tensor(matrix);
  EXPECT_TRUE(is_stored(weight));
  EXPECT_EQ(weight.sizes(), at::IntArrayRef({5, 512}));
  const at::Tensor ids = at::tensor(std::vector<std::int64_t>{4, 0, 4, 2}, at::kLong).view({2, 2});
  EXPECT_TRUE(at::equal(rows(weight, ids), at::embedding(dense(weight), ids)));
  EXPECT_THROW(rows(weight, at::tensor(std::vector<std::int64_t>{5}, at::kLong)), c10::Error);
  EXPECT_TRUE(all_finite(weight));
  auto damaged = std::make_shared<std::vector<std::byte>>(matrix.data, matrix.data + 5 * matrix.row_bytes());
  damaged->at(3 * 144 + 1) = std::byte{0x7C};  // the scale of a block: infinite
  matrix.data = damaged->data();
  matrix.owner = damaged;
  EXPECT_FALSE(all_finite(packed_tensor(matrix)));
}

// What would read its elements throws, rather than read something else.
TEST(Packed, CannotBeReadByOthers) {
  const at::Tensor weight = packed_tensor(matrix_of(*blocks::format_of("Q8_0"), 4, 32));
  EXPECT_THROW(weight.t(), c10::Error);
  EXPECT_THROW(weight.sum(), c10::Error);
  EXPECT_THROW(weight.to(at::kFloat), c10::Error);
  EXPECT_EQ(packed_of(at::ones({2})), nullptr);
  EXPECT_EQ(packed_of(at::Tensor()), nullptr);
  EXPECT_NE(packed_of(weight.detach()), nullptr);
  // A gradient through x expands the matrix for the call.
  at::Tensor x = at::ones({1, 32}).set_requires_grad(true);
  products::linear(x, weight).sum().backward();
  EXPECT_CLOSE(x.grad()[0], dense(weight).sum(0), 1e-6);
}

}  // namespace
}  // namespace locus::products
