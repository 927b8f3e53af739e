// The table of Vaswani et al. 2017, §3.5: PE(p, 2i) = sin(p / base^(2i/C)), PE(p, 2i + 1) = cos of the same.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/encodings.h"

namespace locus::test {
namespace {

TEST(Sinusoidal, TheTableIsThePapers) {
  constexpr std::int64_t kWidth = 12;
  position::ModelShape shape = shape_of(2, kWidth / 2);
  shape.width = kWidth;
  for (const bool interleaved : {true, false}) {
    const auto encoding = test::encoding(
        "sinusoidal", {{"layout", std::string(interleaved ? "interleaved" : "half")}, {"base", 500.0}}, shape);
    const at::Tensor table = encoding->vectors(encoding->begin(position::Positions::sequence(40, 3), 1), 0)[0];
    ASSERT_EQ(table.sizes(), at::IntArrayRef({40, kWidth}));
    for (const std::int64_t row : {0, 1, 17, 39}) {
      for (std::int64_t i = 0; i < kWidth / 2; ++i) {
        const double angle = static_cast<double>(row + 3) / std::pow(500.0, 2.0 * static_cast<double>(i) / kWidth);
        const std::int64_t sine = interleaved ? 2 * i : i;
        const std::int64_t cosine = interleaved ? 2 * i + 1 : i + kWidth / 2;
        EXPECT_NEAR(table[row][sine].item<double>(), std::sin(angle), 1e-6) << row << ", " << i;
        EXPECT_NEAR(table[row][cosine].item<double>(), std::cos(angle), 1e-6) << row << ", " << i;
      }
    }
  }
}

// M2M-100's table: rates from 1 to 1/base, both included, and zeros in the row of padding, which is before the first.
TEST(Sinusoidal, ClosedSpacingEndsAtTheBase) {
  constexpr std::int64_t kWidth = 12;
  position::ModelShape shape = shape_of(2, kWidth / 2);
  shape.width = kWidth;
  const auto encoding = test::encoding("sinusoidal",
                                       {{"layout", std::string("half")},
                                        {"spacing", std::string("closed")},
                                        {"base", 500.0},
                                        {"first", std::int64_t{2}}},
                                       shape);
  const at::Tensor table = encoding->vectors(encoding->begin(position::Positions::sequence(41, -1), 1), 0)[0];
  EXPECT_EQ(table[0].abs().max().item<double>(), 0);
  constexpr std::int64_t kLast = kWidth / 2 - 1;
  for (const std::int64_t row : {1, 2, 18, 40}) {
    for (std::int64_t i = 0; i < kWidth / 2; ++i) {
      const double rate = std::pow(500.0, -static_cast<double>(i) / static_cast<double>(kLast));
      EXPECT_NEAR(table[row][i].item<double>(), std::sin(static_cast<double>(row + 1) * rate), 1e-6) << row;
      EXPECT_NEAR(table[row][i + kWidth / 2].item<double>(), std::cos(static_cast<double>(row + 1) * rate), 1e-6)
          << row;
    }
  }
}

}  // namespace
}  // namespace locus::test
