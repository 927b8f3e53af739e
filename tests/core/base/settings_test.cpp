#include "core/base/settings.h"

#include <gtest/gtest.h>

namespace locus {
namespace {

TEST(Settings, AbsentOptionsGiveTheFallback) {
  const Settings settings;
  EXPECT_EQ(*settings.integer("p_max", 64), 64);
  EXPECT_EQ(*settings.text("layout", "half"), "half");
  EXPECT_TRUE(settings.numbers("mean")->empty());
}

TEST(Settings, WholeNumbersServeAsNumbersAndBack) {
  const Settings settings{{"base", std::int64_t{10000}}, {"length", 512.0}};
  EXPECT_EQ(*settings.number("base", 0), 10000.0);
  EXPECT_EQ(*settings.integer("length", 0), 512);
}

TEST(Settings, AnotherKindIsAnErrorThatNamesOptionExpectedAndFound) {
  const Settings settings{{"base", std::string("big")}, {"length", 1.5}};
  const auto base = settings.number("base", 1);
  ASSERT_FALSE(base.ok());
  EXPECT_EQ(base.error().code, ErrorCode::kBadInput);
  EXPECT_EQ(base.error().message, "option base: expected a number, found big");
  EXPECT_EQ(settings.integer("length", 1).error().message, "option length: expected a whole number, found 1.5");
}

TEST(Settings, UnknownOptionsAreNamedWithTheKnownOnes) {
  const Settings settings{{"bse", 1.0}};
  const Status status = settings.only({"base", "layout"});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "unknown option bse; known: base, layout");
  EXPECT_TRUE(settings.only({"bse"}).ok());
}

TEST(Settings, ValuesAreShownAsAPersonWouldWriteThem) {
  EXPECT_EQ(to_text(SettingValue{0.1}), "0.1");
  EXPECT_EQ(to_text(SettingValue{true}), "true");
  EXPECT_EQ(to_text(SettingValue{std::vector<double>{1, 2.5}}), "[1, 2.5]");
}

}  // namespace
}  // namespace locus
