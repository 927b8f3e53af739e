// The interval of a difference of two ratios, against the paired t interval and by how often it holds the truth.
#include "core/analysis/paired_difference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace locus::analysis {
namespace {

// By hand: differences 1, 2, 3 and 6 of parts of 2 each: mean 3, s² = 14/3, t₃ = 3.1824; half of both a count of 2.
TEST(PairedDifference, OfEqualPartsIsThePairedInterval) {
  const std::vector<Part> first{{5, 2}, {7, 2}, {9, 2}, {16, 2}};
  const std::vector<Part> second{{4, 2}, {5, 2}, {6, 2}, {10, 2}};
  const Difference found = paired_difference(first, second);
  const double reach = 3.1824 * std::sqrt(14.0 / 3 / 4) / 2;
  EXPECT_NEAR(found.value, 1.5, 1e-12);
  EXPECT_NEAR(found.low, 1.5 - reach, 1e-4);
  EXPECT_NEAR(found.high, 1.5 + reach, 1e-4);
  const Difference back = paired_difference(second, first);
  EXPECT_NEAR(back.low, -found.high, 1e-12);
  EXPECT_NEAR(back.high, -found.low, 1e-12);
}

// What is hard for both by the same amount widens nothing.
TEST(PairedDifference, WhatBothHaveCancels) {
  std::vector<Part> first;
  std::vector<Part> second;
  for (int n = 0; n < 20; ++n) {
    const double hard = n % 7 * 100.0;
    first.push_back({hard + 3 + n % 2, 10});
    second.push_back({hard, 10});
  }
  const Difference found = paired_difference(first, second);
  EXPECT_NEAR(found.value, 0.35, 1e-12);
  EXPECT_LT(found.high - found.low, 0.06);
}

TEST(PairedDifference, RatiosAreThoseOfTheSums) {
  const Difference found = paired_difference({{10, 4}, {20, 11}}, {{9, 5}, {3, 7}});
  EXPECT_NEAR(found.value, 30.0 / 15 - 12.0 / 12, 1e-12);
  // z of the first: (10 − 2·4)/15, (20 − 2·11)/15; of the second: (9 − 5)/12, (3 − 7)/12
  const double z = 2.0 / 15 - 4.0 / 12;
  EXPECT_NEAR(found.high - found.value, 12.7062 * std::sqrt(2 * 2 * z * z), 1e-4);
}

TEST(PairedDifference, NothingToPairHasNoInterval) {
  const Difference one = paired_difference({{3, 2}}, {{1, 2}});
  EXPECT_EQ(one.value, 1);
  EXPECT_TRUE(std::isnan(one.low));
  EXPECT_TRUE(std::isnan(paired_difference({{3, 2}, {3, 2}}, {{1, 2}}).value));
  EXPECT_TRUE(std::isnan(paired_difference({}, {}).value));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(paired_difference({{3, 2}, {nan, 2}}, {{1, 2}, {1, 2}}).high));
}

// Parts of different sizes, drawn 2,000 times: the interval holds the true difference in 95 % of them.
TEST(PairedDifference, HoldsTheTruthAsOftenAsItSays) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  int held = 0;
  constexpr int kTrials = 2000;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<Part> first;
    std::vector<Part> second;
    for (int n = 0; n < 24; ++n) {
      const double count = 900 + 200 * std::abs(normal(random));
      const double hard = 0.3 * normal(random);
      first.push_back({count * (2.25 + hard + 0.05 * normal(random)), count});
      second.push_back({count * (2.2 + hard + 0.05 * normal(random)), count});
    }
    const Difference found = paired_difference(first, second);
    held += found.low <= 0.05 && 0.05 <= found.high ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(held) / kTrials, 0.95, 0.02);  // four standard errors
}

}  // namespace
}  // namespace locus::analysis
