// The colour bar's drags, turns and histogram, as numbers.
#include "app/workbench/canvas/instruments/bar_scale.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace locus::workbench {
namespace {

figure::ColorScale scale_of(float low, float high, figure::Transfer transfer, bool centred = false) {
  figure::ColorScale scale;
  scale.low = low;
  scale.high = high;
  scale.transfer = transfer;
  scale.gamma = 0.4F;
  scale.centred = centred;
  return scale;
}

// What stands at a share of the bar has that share as its colour.
TEST(BarScale, AValueStandsWhereItsColourIs) {
  for (const figure::ColorScale& scale :
       {scale_of(0, 1, figure::Transfer::kLinear), scale_of(-2, 6, figure::Transfer::kLinear),
        scale_of(0, 3, figure::Transfer::kGamma), scale_of(1e-4F, 1, figure::Transfer::kLog),
        scale_of(-4, 4, figure::Transfer::kLinear, true), scale_of(-4, 4, figure::Transfer::kGamma, true),
        scale_of(1e-3F, 4, figure::Transfer::kLog, true)}) {
    for (const float share : {0.0F, 0.1F, 0.37F, 0.75F, 1.0F}) {
      EXPECT_NEAR(figure::normalised(scale, value_at(scale, static_cast<double>(share))), share, 1e-3F)
          << scale.low << " to " << scale.high;
    }
  }
}

TEST(BarScale, AnEndThatIsPulledGoesThereAndNeverPastTheOther) {
  const figure::ColorScale scale = scale_of(0, 2, figure::Transfer::kLinear);
  const views::ScaleOptions half = pulled({}, scale, BarEnd::kHigh, 0.5);
  EXPECT_FLOAT_EQ(*half.high, 1);
  EXPECT_FLOAT_EQ(*half.low, 0);                                    // stays where it was seen
  EXPECT_FLOAT_EQ(*pulled({}, scale, BarEnd::kHigh, 1.5).high, 3);  // out of the bar
  EXPECT_GT(*pulled({}, scale, BarEnd::kHigh, -1).high, 0);
  EXPECT_LT(*pulled({}, scale, BarEnd::kLow, 3).low, 2);
  const views::ScaleOptions both = pulled({}, scale_of(-4, 4, figure::Transfer::kLinear, true), BarEnd::kHigh, 0.75);
  EXPECT_FLOAT_EQ(*both.high, 2);
  EXPECT_FLOAT_EQ(*both.low, -2);
}

TEST(BarScale, AnEndThatIsPulledStandsAtANumberThatCanBeRead) {
  EXPECT_EQ(*pulled({}, scale_of(0, 1, figure::Transfer::kLinear), BarEnd::kHigh, 0.70909088).high, 0.709F);
  EXPECT_EQ(*pulled({}, scale_of(-30, 50, figure::Transfer::kLinear), BarEnd::kLow, 0.1234567).low, -20.12F);
  EXPECT_EQ(*pulled({}, scale_of(1e-4F, 1, figure::Transfer::kLog), BarEnd::kLow, 0.3333).low, 0.00215F);
}

TEST(BarScale, TheWheelTurnsGammaOrLeavesExtremesOutAndBack) {
  views::ScaleOptions options;
  options.transfer = figure::Transfer::kGamma;
  EXPECT_GT(turned(options, 1).gamma, options.gamma);
  EXPECT_NEAR(turned(turned(options, 3), -3).gamma, options.gamma, 1e-5F);
  options.transfer = figure::Transfer::kLinear;
  options.high = 0.5F;
  const views::ScaleOptions once = turned(options, 1);
  EXPECT_LT(once.percentile, 100);
  EXPECT_GT(once.percentile, 99.9);
  EXPECT_FALSE(once.high);  // else the percentile has no effect
  EXPECT_LT(turned(once, 1).percentile, once.percentile);
  EXPECT_EQ(turned(once, -1).percentile, 100);
  EXPECT_GE(turned(options, 1000).percentile, 50);
  EXPECT_EQ(automatic(turned(options, 5)).percentile, 100);
}

TEST(BarScale, TheHistogramCountsWhatIsSeen) {
  Field field = Field::zeros(2, 4);
  field.values = {0, 0, 0, 0, 1, 1, std::numeric_limits<float>::quiet_NaN(), 0.49F};
  const std::vector<float> counts = histogram_of(field, scale_of(0, 1, figure::Transfer::kLinear), 4);
  ASSERT_EQ(counts.size(), 4U);
  EXPECT_FLOAT_EQ(counts[0], 1);
  EXPECT_FLOAT_EQ(counts[1], 0.5F);  // one of four, as a root
  EXPECT_FLOAT_EQ(counts[2], 0);
  EXPECT_FLOAT_EQ(counts[3], std::sqrt(0.5F));
  field.values.assign(8, std::numeric_limits<float>::quiet_NaN());
  EXPECT_TRUE(histogram_of(field, scale_of(0, 1, figure::Transfer::kLinear), 4).empty());
}

TEST(BarScale, WordsSayTheRange) {
  EXPECT_EQ(words_of(scale_of(0, 1, figure::Transfer::kLog)).find("viridis, 0 to 1"), 0U);
  EXPECT_NE(words_of(scale_of(0, 1, figure::Transfer::kGamma)).find("gamma 0.40"), std::string::npos);
}

}  // namespace
}  // namespace locus::workbench
