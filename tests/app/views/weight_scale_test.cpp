// The default scale of attention weights follows the data.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "app/views/shared/score_maps/score_map.h"
#include "tests/support/fake_views.h"

namespace locus::views {
namespace {

using figure::Transfer;
using test_views::fake;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// `large` weights of 0.1 among a thousand.
std::vector<float> thousand_with(std::size_t large) {
  std::vector<float> weights(1000, 0.0999F);
  std::fill_n(weights.begin(), large, 0.1F);
  return weights;
}

TEST(WeightScale, IsLogarithmicWhereOneWeightInAHundredIsNotATenth) {
  EXPECT_EQ(transfer_of_weights(thousand_with(10), false), Transfer::kLinear);
  EXPECT_EQ(transfer_of_weights(thousand_with(9), false), Transfer::kLog);
  EXPECT_EQ(transfer_of_weights(thousand_with(9), true), Transfer::kGamma);
  EXPECT_EQ(transfer_of_weights(thousand_with(10), true), Transfer::kLinear);
}

// A cell that is the largest of twelve stands for eleven small ones.
TEST(WeightScale, CountsWhatAReducedCellStandsFor) {
  EXPECT_EQ(transfer_of_weights(thousand_with(119), false, 12), Transfer::kLog);
  EXPECT_EQ(transfer_of_weights(thousand_with(120), false, 12), Transfer::kLinear);
}

TEST(WeightScale, LeavesOutWhatHasNoValue) {
  EXPECT_EQ(transfer_of_weights({}, false), Transfer::kLinear);
  EXPECT_EQ(transfer_of_weights(std::vector<float>(50, kNaN), false), Transfer::kLinear);
  EXPECT_EQ(transfer_of_weights(std::vector<float>{1}, false), Transfer::kLinear);
  EXPECT_EQ(transfer_of_weights(std::vector<float>{0.05F}, false), Transfer::kLog);
  std::vector<float> hidden(1000, kNaN);  // one of ten seen weights is large
  std::fill_n(hidden.begin(), 10, 0.01F);
  hidden[3] = 0.9F;
  EXPECT_EQ(transfer_of_weights(hidden, false), Transfer::kLinear);
}

const figure::ColorScale& scale_in(const figure::Figure& figure) {
  const figure::Layer& layer = figure.panels.front().layers.front();
  const auto* strip = std::get_if<figure::TokenStrip>(&layer);
  return strip != nullptr ? strip->scale : std::get<figure::HeatMap>(layer).scale;
}

// A text of so many tokens, on which the head gives every key about as much.
ViewInput even_text(std::size_t length) {
  test::FakeShape shape;
  shape.slope = 0;
  ViewInput input;
  input.columns.push_back({"fake", nullptr, std::make_shared<test::FakeTrace>(shape, std::string(length, 'a'))});
  return input;
}

// The 99th percentile of the weights on other keys than the first, one by one.
double percentile_of(const ViewInput& input) {
  std::vector<double> weights;
  for (std::int64_t i = 0; i < fake(input).length(); ++i) {
    for (std::int64_t j = 1; j <= i; ++j) {
      weights.push_back(fake(input).weight(0, 0, i, j));
    }
  }
  std::sort(weights.begin(), weights.end());
  return weights[static_cast<std::size_t>(std::ceil(0.99 * static_cast<double>(weights.size()))) - 1];
}

TEST(WeightScale, FollowsTheMapUnlessOneIsNamed) {
  for (const std::size_t length : {std::size_t{30}, std::size_t{200}}) {
    ViewInput input = even_text(length);
    const auto scale = [&] {
      const auto figure = test_views::view_of("attention").figure(input);
      EXPECT_TRUE(figure.ok()) << figure.error().describe();
      return scale_in(*figure);
    };
    EXPECT_EQ(scale().transfer == Transfer::kLog, percentile_of(input) < 0.1);
    EXPECT_EQ(scale().transfer, length == 30 ? Transfer::kLinear : Transfer::kLog);
    EXPECT_EQ(figure::automatic_words(scale()), length == 30 ? "" : ", log scale (auto)");
    for (const Transfer named : {Transfer::kLinear, Transfer::kLog, Transfer::kGamma}) {
      input.scale.transfer = named;
      EXPECT_EQ(scale().transfer, named);
      EXPECT_FALSE(scale().automatic);
    }
    input.scale.transfer.reset();
    input.quantity = models::Quantity::kLogit;  // no weight
    EXPECT_EQ(scale().transfer, Transfer::kLinear);
  }
}

// Whatever the resolution: small maps of long texts show the largest of many weights.
TEST(WeightScale, IsTheSameForTheGridOfAllHeads) {
  ViewInput input = even_text(200);
  for (const int pixels : {200, 900}) {
    input.width_px = input.height_px = pixels;
    for (const char* const view : {"attention", "attention-grid"}) {
      const auto figure = test_views::view_of(view).figure(input);
      ASSERT_TRUE(figure.ok()) << figure.error().describe();
      EXPECT_EQ(scale_in(*figure).transfer, Transfer::kLog) << view << " of " << pixels << " pixels";
    }
  }
}

TEST(WeightScale, OfOneQueryIsAGamma) {
  const auto figure = test_views::view_of("attention-text").figure(even_text(200));
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  EXPECT_EQ(scale_in(*figure).transfer, Transfer::kGamma);
  EXPECT_EQ(figure::automatic_words(scale_in(*figure)), ", gamma 0.5 (auto)");
}

}  // namespace
}  // namespace locus::views
