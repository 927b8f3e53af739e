#include "core/base/checked.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace locus {
namespace {

constexpr std::int64_t kMaxInteger = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

TEST(Checked, SumsThatFit) {
  EXPECT_EQ(checked_sum({}), 0);
  EXPECT_EQ(checked_sum({1, 2, 3}), 6);
  EXPECT_EQ(checked_sum({kMaxInteger, kLeast, 1}), 0);
  EXPECT_EQ(checked_sum({kMaxInteger - 1, 1}), kMaxInteger);
}

TEST(Checked, ProductsThatFit) {
  EXPECT_EQ(checked_product({}), 1);
  EXPECT_EQ(checked_product({2, 3, 7}), 42);
  EXPECT_EQ(checked_product({0, kMaxInteger}), 0);
  EXPECT_EQ(checked_product({-1, kMaxInteger}), -kMaxInteger);
  EXPECT_EQ(checked_product({std::int64_t{1} << 31, std::int64_t{1} << 31}), std::int64_t{1} << 62);
}

TEST(Checked, NothingWhereTheResultDoesNotFit) {
  EXPECT_FALSE(checked_sum({kMaxInteger, 1}));
  EXPECT_FALSE(checked_sum({kLeast, -1}));
  EXPECT_FALSE(checked_product({std::int64_t{1} << 32, std::int64_t{1} << 31}));
  EXPECT_FALSE(checked_product({4, (std::int64_t{1} << 62) + 9}));
  EXPECT_FALSE(checked_product({-1, kLeast}));
  EXPECT_FALSE(checked_product({kMaxInteger, kMaxInteger, 0}));
}

}  // namespace
}  // namespace locus
