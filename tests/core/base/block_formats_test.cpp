#include "core/base/block_formats.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "core/base/sha256.h"
#include "tests/support/golden.h"
#include "tests/support/paths.h"

namespace locus::blocks {
namespace {

// The reference's blocks and their values, exactly.
TEST(BlockFormats, ExpandToTheReferencesValues) {
  const test::Golden golden("gguf");
  int compared = 0;
  for (const Format& format : formats()) {
    const std::string name(format.name);
    if (!golden.has(name + ".blocks")) {
      continue;
    }
    const at::Tensor stored = golden[name + ".blocks"].contiguous();
    const at::Tensor expected = golden[name + ".values"].contiguous();
    ASSERT_EQ(stored.numel() / format.bytes * format.elements, expected.numel());
    std::vector<float> values(static_cast<std::size_t>(expected.numel()));
    expand(format, static_cast<const std::byte*>(stored.data_ptr()), stored.numel() / format.bytes, values.data());
    EXPECT_EQ(std::memcmp(values.data(), expected.data_ptr(), expected.nbytes()), 0) << name;
    ++compared;
  }
  EXPECT_EQ(compared, 10);
}

// The numbers of random blocks, which make_block_formats.py says how to make again: all rows of every grid are in them.
TEST(BlockFormats, ExpandToTheNumbersOfThePackageGguf) {
  const auto stored =
      nlohmann::json::parse(std::ifstream(test::source_dir() + "/tests/golden/block_formats.json"), nullptr, false);
  ASSERT_TRUE(stored.is_object());
  const auto count = stored.at("blocks").get<std::int64_t>();
  int compared = 0;
  for (const Format& format : formats()) {
    if (format.name == "F32" || format.name == "F16") {
      continue;
    }
    const std::string name(format.name);
    ASSERT_TRUE(stored.at("formats").contains(name)) << name;
    const auto& row = stored.at("formats").at(name);
    std::vector<std::byte> blocks;
    for (std::int64_t n = 0; static_cast<std::int64_t>(blocks.size()) < count * format.bytes; ++n) {
      const std::string digest = sha256(name + " " + std::to_string(n));
      for (std::size_t at = 0; at < digest.size(); at += 2) {
        blocks.push_back(static_cast<std::byte>(std::stoi(digest.substr(at, 2), nullptr, 16)));
      }
    }
    for (const auto& place : row.at("cleared")) {
      for (std::int64_t block = 0; block < count; ++block) {
        blocks.at(static_cast<std::size_t>(block * format.bytes) + place.get<std::size_t>()) &= std::byte{0xBF};
      }
    }
    std::vector<float> values(static_cast<std::size_t>(count * format.elements));
    expand(format, blocks.data(), count, values.data());
    const std::string_view bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    EXPECT_EQ(sha256(bytes), row.at("values").get<std::string>()) << name;
    ++compared;
  }
  EXPECT_EQ(compared, 26);
}

// Block by block the smallest cases of the two formats without reference values: the tables, and powers of two.
TEST(BlockFormats, ExpandTablesOfNumbers) {
  std::array<std::byte, 18> block{};
  for (std::size_t n = 0; n < 16; ++n) {
    block[n + 2] = static_cast<std::byte>(n | (15 - n) << 4U);
  }
  block[1] = std::byte{0x38};  // 0.5
  std::array<float, 32> values{};
  format_of("IQ4_NL")->expand(block.data(), values.data());
  EXPECT_EQ(values[0], -63.5F);
  EXPECT_EQ(values[8], 0.5F);
  EXPECT_EQ(values[15], 56.5F);
  EXPECT_EQ(values[16], 56.5F);
  EXPECT_EQ(values[31], -63.5F);

  std::memmove(block.data() + 1, block.data() + 2, 16);
  block[0] = std::byte{127};  // 2^0
  format_of("mxfp4")->expand(block.data(), values.data());
  const std::array<float, 8> sizes{0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
  for (std::size_t n = 0; n < 8; ++n) {
    EXPECT_EQ(values[n], sizes[n]);
    EXPECT_EQ(values[n + 8], -sizes[n]);
    EXPECT_EQ(values[31 - n], sizes[n]);
  }
  block[0] = std::byte{0};
  format_of("MXFP4")->expand(block.data(), values.data());
  EXPECT_EQ(values[7], 6 * 0x1p-127F);
}

// Every number of 8 bits by its definition, alone and behind a scale; numbers of 4 bits around their zero.
TEST(BlockFormats, ExpandNumbersBehindTheirScales) {
  const float scale = 0.3F;
  for (int bits = 0; bits < 256; ++bits) {
    const int exponent = bits >> 3 & 15;
    const int fraction = bits & 7;
    const double size = exponent == 0 ? fraction * 0x1p-9 : (1 + fraction / 8.0) * std::ldexp(1.0, exponent - 7);
    const auto expected = static_cast<float>(bits > 127 ? -size : size);
    std::array<std::byte, 132> block{};
    block[0] = static_cast<std::byte>(bits);
    float value = 0;
    float8().expand(block.data(), &value);
    if (exponent == 15 && fraction == 7) {
      EXPECT_TRUE(std::isnan(value));
      continue;
    }
    EXPECT_EQ(value, expected);
    EXPECT_EQ(std::signbit(value), bits > 127);
    for (const std::int64_t elements : {32, 128}) {
      const Format& format = scaled_float8(elements);
      ASSERT_EQ(format.elements, elements);
      ASSERT_EQ(format.bytes, elements + 4);
      std::memcpy(block.data(), &scale, sizeof scale);
      block[static_cast<std::size_t>(3 + elements)] = static_cast<std::byte>(bits);
      std::array<float, 128> values{};
      format.expand(block.data(), values.data());
      EXPECT_EQ(values[static_cast<std::size_t>(elements - 1)], expected * scale);
    }
  }
  for (const std::int64_t elements : {32, 64, 128}) {
    const Format& format = scaled_int4(elements);
    ASSERT_EQ(format.elements, elements);
    ASSERT_EQ(format.bytes, 5 + elements / 2);
    std::array<std::byte, 69> block{};
    std::memcpy(block.data(), &scale, sizeof scale);
    block[4] = std::byte{7};
    for (std::size_t n = 0; n < 16; ++n) {
      block[5 + n] = static_cast<std::byte>(n | (15 - n) << 4U);
    }
    std::array<float, 128> values{};
    format.expand(block.data(), values.data());
    for (std::size_t n = 0; n < 16; ++n) {
      EXPECT_EQ(values[n], (static_cast<float>(n) - 7) * scale);
      EXPECT_EQ(values[n + 16], (8 - static_cast<float>(n)) * scale);
    }
  }
}

TEST(BlockFormats, ReadEveryBinary16AndRoundToTheNearest) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = float_of_half(half);
    if (std::isnan(value)) {
      EXPECT_GT(bits & 0x7FFFU, 0x7C00U);
    } else {
      ASSERT_EQ(half_of_float(value), half);
      // The middle to the next larger number goes to the even one.
      const float next = float_of_half(static_cast<std::uint16_t>(half + 1));
      if (std::isfinite(next) && std::isfinite(value) && std::signbit(value) == std::signbit(next)) {
        ASSERT_EQ(half_of_float((value + next) / 2), half % 2 == 0 ? half : half + 1);
      }
    }
  }
  EXPECT_EQ(half_of_float(65519), 0x7BFF);
  EXPECT_EQ(half_of_float(-65520), 0xFC00);
  EXPECT_GT(half_of_float(std::nanf("")), 0x7C00);
}

double lost(const Format& format, const std::vector<float>& values) {
  const auto count = static_cast<std::int64_t>(values.size()) / format.elements;
  std::vector<std::byte> stored(static_cast<std::size_t>(count * format.bytes));
  pack(format, values.data(), count, stored.data());
  std::vector<float> read(values.size());
  expand(format, stored.data(), count, read.data());
  double error = 0;
  double size = 0;
  for (std::size_t n = 0; n < values.size(); ++n) {
    error += std::pow(static_cast<double>(values[n]) - static_cast<double>(read[n]), 2);
    size += std::pow(static_cast<double>(values[n]), 2);
  }
  return std::sqrt(error / std::max(size, 1e-300));
}

// What each format loses of normal numbers: the root of the mean squared error over that of the numbers.
TEST(BlockFormats, PackAsCloselyAsTheirBitsAllow) {
  std::mt19937 generator(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(1 << 14);
  for (float& value : values) {
    value = 0.02F * normal(generator);
  }
  const std::vector<std::pair<const char*, double>> most{
      {"F32", 0},      {"F16", 3e-4},   {"BF16", 2e-3}, {"Q8_0", 6e-3},  {"Q6_K", 0.018}, {"Q5_1", 0.04},
      {"Q5_K", 0.037}, {"Q5_0", 0.045}, {"Q4_1", 0.08}, {"Q4_K", 0.073}, {"Q4_0", 0.09}};
  for (const auto& [name, bound] : most) {
    ASSERT_NE(format_of(name)->pack, nullptr);
    EXPECT_LE(lost(*format_of(name), values), bound) << name;
  }
}

// What a block holds already comes back as it is: packing its values again changes none.
TEST(BlockFormats, PackWhatABlockCanHoldWithoutLoss) {
  const std::vector<float> zeros(256);
  for (const Format& format : formats()) {
    if (format.pack != nullptr) {
      EXPECT_EQ(lost(format, zeros), 0) << format.name;
    }
  }
  std::vector<float> steps(256);
  for (std::size_t n = 0; n < steps.size(); ++n) {
    steps[n] = 0.25F * (static_cast<float>(n % 16) - 8);
  }
  for (const char* name : {"Q4_0", "Q4_1", "Q8_0", "Q4_K"}) {
    EXPECT_LT(lost(*format_of(name), steps), std::string(name) == "Q8_0" ? 4e-3 : 3e-4) << name;
  }
  // All above 0, where the K formats have no least value to add.
  for (float& step : steps) {
    step += 10;
  }
  EXPECT_LT(lost(*format_of("Q4_K"), steps), 0.03);
}

TEST(BlockFormats, CountTheBytesOfRows) {
  EXPECT_EQ(row_bytes(*format_of("Q4_K"), 512), 288);
  EXPECT_EQ(row_bytes(*format_of("Q8_0"), 32), 34);
  EXPECT_EQ(row_bytes(*format_of("Q4_K"), 128), std::nullopt);
  EXPECT_EQ(row_bytes(*format_of("F32"), std::numeric_limits<std::int64_t>::max()), std::nullopt);
  EXPECT_EQ(format_of("Q9_K"), nullptr);
  EXPECT_EQ(format_of(std::uint32_t{4}), nullptr);
}

}  // namespace
}  // namespace locus::blocks
