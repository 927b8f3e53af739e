#include "core/analysis/distance_profile.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/core/analysis/analysis_fields.h"

namespace locus::analysis {
namespace {

TEST(DistanceProfile, MeansAndQuantilesAreThoseOfTheDiagonals) {
  at::manual_seed(1);
  constexpr std::int64_t kLength = 33;
  const at::Tensor logits = at::randn({2, kLength, kLength});
  DistanceProfileOptions options;
  options.head = 1;
  options.low = 0;
  options.high = 1;
  const auto profile = distance_profile(test::causal_field(logits), options);
  ASSERT_TRUE(profile.ok()) << profile.error().describe();
  ASSERT_EQ(profile->mean.size(), static_cast<std::size_t>(kLength));
  EXPECT_EQ(profile->rows_used, kLength);
  for (std::int64_t distance = 0; distance < kLength; ++distance) {
    const at::Tensor diagonal = logits[1].diagonal(-distance);
    const auto bin = static_cast<std::size_t>(distance);
    EXPECT_EQ(profile->cells[bin], kLength - distance);
    EXPECT_NEAR(profile->mean[bin], diagonal.mean().item<double>(), 1e-5);
    EXPECT_EQ(profile->low[bin], static_cast<double>(diagonal.min().item<float>()));
    EXPECT_EQ(profile->high[bin], static_cast<double>(diagonal.max().item<float>()));
  }
}

TEST(DistanceProfile, UniformAttentionIsFlatAtOneRelativeToItsBaseline) {
  DistanceProfileOptions options;
  options.quantity = attention::Quantity::kWeight;
  const auto field = test::causal_field(at::zeros({1, 50, 50}));
  const auto profile = distance_profile(field, options);
  ASSERT_TRUE(profile.ok());
  for (const double mean : profile->mean) {
    EXPECT_NEAR(mean, 1, 1e-5);
  }
  options.relative_to_uniform = false;
  EXPECT_GT(distance_profile(field, options)->mean.front(), 2 * distance_profile(field, options)->mean.back());
}

TEST(DistanceProfile, LongTextsAreSampledAndSaySo) {
  DistanceProfileOptions options;
  options.cell_limit = 600;
  options.bins = 6;
  const auto profile = distance_profile(test::causal_field(at::ones({1, 60, 60})), options);
  ASSERT_TRUE(profile.ok());
  EXPECT_EQ(profile->rows_used, 10);
  EXPECT_EQ(profile->rows, 60);
  EXPECT_EQ(profile->edges, (std::vector<std::int64_t>{0, 10, 20, 30, 40, 50, 60}));
  EXPECT_EQ(profile->mean.front(), 1);
  EXPECT_EQ(profile->cells.back(), 10 + 4) << "of queries 59 and 53";
}

TEST(DistanceProfile, TheMeanOfHeadsIsOfTheirWeights) {
  at::manual_seed(2);
  const at::Tensor logits = at::randn({3, 12, 12});
  const auto field = test::causal_field(logits);
  DistanceProfileOptions options;
  options.head = attention::kMeanHead;
  EXPECT_EQ(distance_profile(field, options).error().message,
            "the mean over heads is defined for weights only, not for the logit");
  options.quantity = attention::Quantity::kWeight;
  options.relative_to_uniform = false;
  const auto profile = distance_profile(field, options);
  ASSERT_TRUE(profile.ok()) << profile.error().describe();
  const at::Tensor hidden = at::ones({12, 12}, at::kBool).triu(1);
  const at::Tensor weights = logits.masked_fill(hidden, -INFINITY).softmax(-1).mean(0);
  for (std::int64_t distance = 0; distance < 12; ++distance) {
    EXPECT_NEAR(profile->mean[static_cast<std::size_t>(distance)], weights.diagonal(-distance).mean().item<double>(),
                1e-6);
  }
}

// Two groups of tokens on a grid of 3 columns, and tokens of neither: every pair is sorted by hand.
TEST(DistanceProfile, ByPlacesComparesTokensOfAGroup) {
  at::manual_seed(4);
  constexpr std::int64_t kLength = 16;
  const at::Tensor logits = at::randn({1, kLength, kLength});
  DistanceProfileOptions options;
  for (std::int64_t token = 0; token < kLength; ++token) {
    const bool first = token >= 2 && token < 8;
    const bool second = token >= 10;
    options.groups.push_back(first ? 0 : second ? 1 : -1);
    options.places.push_back(static_cast<double>(first ? (token - 2) % 3 : second ? (token - 10) % 3 : 99));
  }
  const auto profile = distance_profile(test::causal_field(logits), options);
  ASSERT_TRUE(profile.ok()) << profile.error().describe();
  ASSERT_EQ(profile->edges, (std::vector<std::int64_t>{-2, -1, 0, 1, 2, 3}));
  for (std::int64_t distance = -2; distance <= 2; ++distance) {
    double sum = 0;
    std::int64_t cells = 0;
    for (std::int64_t i = 0; i < kLength; ++i) {
      for (std::int64_t j = 0; j <= i; ++j) {
        const auto query = static_cast<std::size_t>(i);
        const auto key = static_cast<std::size_t>(j);
        if (options.groups[query] >= 0 && options.groups[query] == options.groups[key] &&
            options.places[query] - options.places[key] == static_cast<double>(distance)) {
          sum += logits[0][i][j].item<double>();
          ++cells;
        }
      }
    }
    const auto bin = static_cast<std::size_t>(distance + 2);
    EXPECT_EQ(profile->cells[bin], cells);
    EXPECT_NEAR(profile->mean[bin], sum / static_cast<double>(cells), 1e-5);
  }
  options.groups.assign(kLength, -1);
  EXPECT_EQ(distance_profile(test::causal_field(logits), options).error().code, ErrorCode::kBadInput);
  options.groups.assign(kLength, 0);
  options.places.front() = 1e30;
  EXPECT_EQ(distance_profile(test::causal_field(logits), options).error().code, ErrorCode::kBadInput);
}

TEST(DistanceProfile, ReportsAndStops) {
  const auto field = test::causal_field(at::zeros({1, 40, 40}));
  DistanceProfileOptions options;
  options.cell_limit = 160;
  std::vector<double> fractions;
  std::stop_source stop;
  const auto profile = distance_profile(field, options, stop.get_token(), [&](const ProgressReport& news) {
    fractions.push_back(news.fraction);
    if (fractions.size() == 2) {
      stop.request_stop();
    }
  });
  EXPECT_EQ(fractions, (std::vector<double>{0.25, 0.5}));
  ASSERT_FALSE(profile.ok());
  EXPECT_EQ(profile.error().code, ErrorCode::kCancelled);
}

TEST(DistanceProfile, CellsThatAreNotFiniteAreLeftOut) {
  at::Tensor logits = at::ones({1, 6, 6});
  logits[0][4][2] = -INFINITY;
  const auto profile = distance_profile(test::causal_field(logits), {});
  ASSERT_TRUE(profile.ok());
  EXPECT_EQ(profile->cells[2], 3);
  EXPECT_EQ(profile->mean[2], 1);
}

TEST(DistanceProfile, SkippedKeysAreLeftOut) {
  at::Tensor logits = at::zeros({1, 20, 20});
  logits.select(2, 0).fill_(1000);  // a sink
  DistanceProfileOptions options;
  options.skip_keys = 1;
  const auto profile = distance_profile(test::causal_field(logits), options);
  ASSERT_TRUE(profile.ok());
  for (std::size_t distance = 0; distance + 1 < 20; ++distance) {
    EXPECT_EQ(profile->high[distance], 0);
  }
  EXPECT_EQ(profile->cells.back(), 0);
  EXPECT_TRUE(std::isnan(profile->mean.back()));
}

TEST(DistanceProfile, RefusesAHeadThatDoesNotExist) {
  DistanceProfileOptions options;
  options.head = 2;
  const auto profile = distance_profile(test::causal_field(at::zeros({2, 8, 8})), options);
  ASSERT_FALSE(profile.ok());
  EXPECT_EQ(profile.error().message, "head: expected 0 … 1, found 2");
}

}  // namespace
}  // namespace locus::analysis
