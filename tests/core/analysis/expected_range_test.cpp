// Student's quantiles from tables, and how often one more sample falls into the range.
#include "core/analysis/expected_range.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace locus::analysis {
namespace {

TEST(ExpectedRange, QuantilesAreThoseOfTheTables) {
  for (const auto& [freedom, quantile] : {std::pair<std::int64_t, double>{1, 12.7062},
                                          {2, 4.3027},
                                          {7, 2.3646},
                                          {10, 2.2281},
                                          {11, 2.2010},
                                          {15, 2.1314},
                                          {19, 2.0930},
                                          {30, 2.0423},
                                          {100, 1.9840},
                                          {10000, 1.9602}}) {
    EXPECT_NEAR(t_quantile(freedom), quantile, 1e-3) << freedom;
  }
}

TEST(ExpectedRange, IsTheMeanAndItsReach) {
  std::vector<Field> samples;
  for (const float value : {1.0F, 2.0F, 4.0F}) {
    Field field = Field::zeros(1, 2);
    field.values = {value, -3.0F};
    samples.push_back(field);
  }
  const auto [low, high] = expected_range(samples);
  const double mean = 7.0 / 3;
  const double reach = 4.3027 * std::sqrt(7.0 / 3) * std::sqrt(4.0 / 3);  // s² = 7/3
  EXPECT_NEAR(low.values[0], mean - reach, 1e-4);
  EXPECT_NEAR(high.values[0], mean + reach, 1e-4);
  EXPECT_EQ(low.values[1], -3.0F);
  EXPECT_EQ(high.values[1], -3.0F);
}

TEST(ExpectedRange, HoldsOneMoreSampleNineteenTimesInTwenty) {
  std::mt19937_64 random(3);
  std::normal_distribution<float> normal(5, 2);
  for (const std::size_t count : {2, 8, 20}) {
    int inside = 0;
    constexpr int kTrials = 20000;
    for (int trial = 0; trial < kTrials; ++trial) {
      std::vector<Field> samples(count, Field::zeros(1, 1));
      for (Field& sample : samples) {
        sample.values[0] = normal(random);
      }
      const auto [low, high] = expected_range(samples);
      const float next = normal(random);
      inside += next >= low.values[0] && next <= high.values[0] ? 1 : 0;
    }
    EXPECT_NEAR(static_cast<double>(inside) / kTrials, 0.95, 0.006) << count;
  }
}

}  // namespace
}  // namespace locus::analysis
