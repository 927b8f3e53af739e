#include "renderers/figure/ticks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace locus::figure {
namespace {

double letters(const std::string& label) {
  return 7.0 * static_cast<double>(label.size()) + 8;
}

TickRequest request(double low, double high, double length) {
  TickRequest result;
  result.view = {low, high};
  result.length = length;
  result.room = letters;
  return result;
}

std::vector<std::string> labels(const std::vector<Tick>& ticks) {
  std::vector<std::string> result;
  for (const Tick& tick : ticks) {
    result.push_back(tick.label);
  }
  return result;
}

TEST(Ticks, StepsAreOneTwoFive) {
  EXPECT_EQ(labels(make_ticks(request(0, 1, 200))), (std::vector<std::string>{"0", "0.2", "0.4", "0.6", "0.8", "1.0"}));
  EXPECT_EQ(labels(make_ticks(request(0, 10, 160))), (std::vector<std::string>{"0", "2", "4", "6", "8", "10"}));
}

TEST(Ticks, AReversedAxisHasTheSameTicks) {
  EXPECT_EQ(labels(make_ticks(request(10, 0, 160))), labels(make_ticks(request(0, 10, 160))));
}

TEST(Ticks, CellsAreCountedInTheirMiddle) {
  TickRequest cells = request(0, 4, 400);
  cells.cells = true;
  const auto ticks = make_ticks(cells);
  ASSERT_EQ(labels(ticks), (std::vector<std::string>{"0", "1", "2", "3"}));
  EXPECT_DOUBLE_EQ(ticks[2].at, 2.5);
  // However near the eye is, a cell is not divided.
  cells.view = {2, 2.9};
  EXPECT_EQ(labels(make_ticks(cells)), (std::vector<std::string>{"2"}));
}

TEST(Ticks, LabelsNeverTouch) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> exponent(-12, 12);
  std::uniform_real_distribution<double> unit(-1, 1);
  for (int n = 0; n < 500; ++n) {
    const double span = std::pow(10.0, exponent(random));
    const double low = unit(random) * span * 3;
    TickRequest asked = request(low, low + span, 300);
    asked.cells = n % 3 == 0 && span > 1;
    const auto ticks = make_ticks(asked);
    double end = -1e300;
    for (const Tick& tick : ticks) {
      const double at = (tick.at - low) / span * 300;
      EXPECT_GE(at, -1e-3);
      EXPECT_LE(at, 300 + 1e-3);
      EXPECT_GE(at - letters(tick.label) / 2, end - 1e-6) << low << " + " << span;
      end = at + letters(tick.label) / 2;
    }
    EXPECT_LE(ticks.size(), 40U);
  }
}

TEST(Ticks, LogarithmsOfTwoSuitLengths) {
  TickRequest lengths = request(512, 8192, 500);
  lengths.logarithmic = true;
  lengths.log_base = 2;
  EXPECT_EQ(labels(make_ticks(lengths)), (std::vector<std::string>{"512", "1024", "2048", "4096", "8192"}));
  TickRequest shares = request(0.125, 2, 500);
  shares.logarithmic = true;
  shares.log_base = 2;
  EXPECT_EQ(labels(make_ticks(shares)), (std::vector<std::string>{"0.125", "0.25", "0.5", "1", "2"}));
}

TEST(Ticks, DecadesArePowersWhenFar) {
  TickRequest decades = request(1e-6, 1e3, 300);
  decades.logarithmic = true;
  const auto ticks = make_ticks(decades);
  ASSERT_GE(ticks.size(), 3U);
  EXPECT_EQ(ticks.front().label, "10⁻⁶");
}

TEST(Ticks, WithinADecadeThereAreSeveral) {
  TickRequest narrow = request(2, 9, 300);
  narrow.logarithmic = true;
  EXPECT_GE(make_ticks(narrow).size(), 2U);
  TickRequest two = request(1, 100, 400);
  two.logarithmic = true;
  EXPECT_EQ(labels(make_ticks(two)), (std::vector<std::string>{"1", "2", "5", "10", "20", "50", "100"}));
}

TEST(Ticks, LabelsAreForPeople) {
  EXPECT_EQ(tick_label(-1500, 500), "−1500");
  EXPECT_EQ(tick_label(131072, 1), "131,072");
  EXPECT_EQ(tick_label(0.25, 0.05), "0.25");
  EXPECT_EQ(tick_label(2e-5, 1e-5), "2×10⁻⁵");
  EXPECT_EQ(tick_label(1e-7, 1e-7), "10⁻⁷");
  EXPECT_EQ(tick_label(-2e-5, 1e-5), "−2×10⁻⁵");
  EXPECT_EQ(tick_label(-1e8, 1e8), "−10⁸");
  EXPECT_EQ(tick_label(0, 1e-9), "0");
}

TEST(Ticks, DegenerateAxesHaveNone) {
  EXPECT_TRUE(make_ticks(request(1, 1, 100)).empty());
  EXPECT_TRUE(make_ticks(request(0, INFINITY, 100)).empty());
  EXPECT_TRUE(make_ticks(request(0, NAN, 100)).empty());
  EXPECT_TRUE(make_ticks(request(0, 1, 0)).empty());
}

// Where neighbouring ticks are the same number.
TEST(Ticks, AxesWhoseEndsAreAlmostOneNumberEnd) {
  for (const double low : {1.0, 1173.0, 1e9, 1e17, 1e300, -1e17}) {
    double high = low;
    for (int n = 0; n < 3; ++n) {
      high = std::nextafter(high, std::numeric_limits<double>::infinity());
      const std::vector<Tick> ticks = make_ticks(request(low, high, 400));
      EXPECT_LT(ticks.size(), 100U) << low;
      for (std::size_t tick = 1; tick < ticks.size(); ++tick) {
        EXPECT_GT(ticks[tick].value, ticks[tick - 1].value) << low;
      }
    }
  }
}

TEST(Ticks, ColourBarTicksFollowTheTransfer) {
  ColorScale scale;
  scale.low = 0.001F;
  scale.transfer = Transfer::kLog;
  const auto logs = color_bar_ticks(scale, 200, [](const std::string&) { return 16.0; });
  for (const Tick& tick : logs) {
    EXPECT_NEAR(tick.at, (std::log10(tick.value) + 3) / 3, 1e-5);
  }
  scale.low = 0;
  scale.transfer = Transfer::kGamma;
  scale.gamma = 0.5F;
  for (const Tick& tick : color_bar_ticks(scale, 200, [](const std::string&) { return 16.0; })) {
    EXPECT_NEAR(tick.at, std::sqrt(tick.value), 1e-5);
  }
}

// Layers and counts have no halves, however much room there is and whatever part of them is shown.
TEST(Ticks, ColourBarsOfWholeNumbersHaveWholeTicks) {
  ColorScale scale;
  scale.whole = true;
  for (const Transfer transfer : {Transfer::kLinear, Transfer::kGamma, Transfer::kLog}) {
    scale.transfer = transfer;
    for (const auto& [low, high] : {std::pair(0.0F, 1.0F), std::pair(0.0F, 3.0F), std::pair(0.4F, 4.7F),
                                    std::pair(0.0F, 31.0F), std::pair(2.0F, 3.0F)}) {
      scale.low = low;
      scale.high = high;
      const auto ticks = color_bar_ticks(scale, 400, [](const std::string&) { return 16.0; });
      EXPECT_FALSE(ticks.empty()) << low << " to " << high;
      for (const Tick& tick : ticks) {
        EXPECT_EQ(tick.value, std::round(tick.value)) << low << " to " << high;
        EXPECT_EQ(tick.label, std::to_string(static_cast<int>(tick.value)));
      }
    }
  }
  scale.whole = false;
  scale.transfer = Transfer::kLinear;
  const auto ticks = color_bar_ticks(scale, 400, [](const std::string&) { return 16.0; });
  EXPECT_TRUE(std::ranges::any_of(ticks, [](const Tick& tick) { return tick.value != std::round(tick.value); }));
}

TEST(Ticks, ColourBarsOfCentredScalesAreMirrorImagesAroundZero) {
  ColorScale scale;
  scale.colormap = "vik";
  scale.centred = true;
  scale.low = -9;
  scale.high = 9;
  for (const Transfer transfer : {Transfer::kLinear, Transfer::kGamma, Transfer::kLog}) {
    scale.transfer = transfer;
    scale.gamma = 0.5F;
    const auto ticks = color_bar_ticks(scale, 240, [](const std::string&) { return 16.0; });
    ASSERT_GE(ticks.size(), 5U);
    EXPECT_EQ(ticks.size() % 2, 1U);
    for (std::size_t n = 0; n < ticks.size(); ++n) {
      const Tick& mirror = ticks[ticks.size() - 1 - n];
      EXPECT_DOUBLE_EQ(ticks[n].value, -mirror.value);
      EXPECT_NEAR(ticks[n].at, static_cast<double>(normalised(scale, static_cast<float>(ticks[n].value))), 1e-6);
      EXPECT_NEAR(ticks[n].at + mirror.at, 1, 1e-6);
      EXPECT_EQ(ticks[n].label.starts_with("−"), ticks[n].value < 0 && !ticks[n].label.empty());
      EXPECT_TRUE(n == 0 || ticks[n].at > ticks[n - 1].at);
      EXPECT_TRUE(n == 0 || ticks[n].label.empty() || ticks[n - 1].label.empty() ||
                  240 * (ticks[n].at - ticks[n - 1].at) > 15.9);
    }
    EXPECT_EQ(ticks[ticks.size() / 2].label, "0");
  }
}

}  // namespace
}  // namespace locus::figure
