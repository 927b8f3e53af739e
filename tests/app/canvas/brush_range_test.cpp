// Rails of numbers: where values stand, what drags and keys do to them.
#include "app/workbench/canvas/instruments/brush_range.h"

#include <gtest/gtest.h>

#include "core/base/controls.h"

namespace locus::workbench {
namespace {

using Changes = std::vector<std::pair<std::string, SettingValue>>;

const views::Control kFrom = whole("from", "from", "", 0, 0, 1 << 20);  // by factors
const views::Control kTo = whole("to", "to", "", 100, 0, 1 << 20);
const views::Control kBins = whole("bins", "Bins", "", 60, 5, 500);
const views::Control kUnit = choice("unit", "in", "", {"tokens", "percent"});
const views::Control kTint = number("tint", "Tint", "", 0.6, 0, 1);

TEST(BrushRange, AValueStandsWhereItIsTaken) {
  for (const views::Control* control : {&kFrom, &kBins, &kTint}) {
    for (const double share : {0.0, 0.2, 0.5, 0.9, 1.0}) {
      const double value = value_at(*control, share);
      EXPECT_EQ(value_at(*control, share_of(*control, value)), value) << control->name << " " << share;
    }
  }
  EXPECT_EQ(value_at(kFrom, -1), 0);
  EXPECT_EQ(value_at(kFrom, 2), 1 << 20);
  EXPECT_NEAR(share_of(kFrom, 1024), 0.5, 1e-9);
}

TEST(BrushRange, AnEndPushesTheOtherOneBeforeIt) {
  const Rail rail{"λ", &kFrom, &kTo};
  const Settings options;
  EXPECT_TRUE(takes_low_end(rail, options, 0.01));
  EXPECT_FALSE(takes_low_end(rail, options, 0.9));
  EXPECT_EQ(pulled_to(rail, options, false, 0.5), (Changes{{"to", std::int64_t{1024}}}));
  EXPECT_EQ(pulled_to(rail, options, true, 0.5), (Changes{{"from", std::int64_t{1024}}, {"to", std::int64_t{1024}}}));
}

TEST(BrushRange, KeysMoveByAtLeastOne) {
  const Rail rail{"bins", nullptr, &kBins};
  Settings options;
  EXPECT_EQ(stepped(rail, options, false, 1), (Changes{{"bins", std::int64_t{65}}}));
  options.set("to", std::int64_t{3});
  EXPECT_EQ(stepped({"λ", &kFrom, &kTo}, options, false, -1), (Changes{{"to", std::int64_t{2}}}));
  EXPECT_EQ(stepped({"λ", &kFrom, &kTo}, {}, true, -1), (Changes{{"from", std::int64_t{0}}}));
}

TEST(BrushRange, RailsSayTheirNumbersAndEveryBrushNamesOptionsOfItsView) {
  EXPECT_EQ(words_of({"λ", &kFrom, &kTo}, {}), "λ 0 to 100");
  EXPECT_EQ(words_of({"bins", nullptr, &kBins}, {}), "bins 60");
  const Rail of_unit{"λ", &kFrom, &kTo, &kUnit};
  Settings percent;
  percent.set("unit", std::string("percent"));
  EXPECT_EQ(words_of(of_unit, {}), "λ 0 to 100 tokens");
  EXPECT_EQ(words_of(of_unit, percent), "λ 0 to 100 %");
  for (const views::View* view : views::views()) {
    EXPECT_EQ(rails_of(view->info()).size(), view->info().brushes.size()) << view->info().name;
    for (const Rail& rail : rails_of(view->info())) {
      EXPECT_NE(rail.high, nullptr);
    }
  }
}

}  // namespace
}  // namespace locus::workbench
