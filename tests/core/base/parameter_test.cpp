#include "core/base/parameter.h"

#include <gtest/gtest.h>

#include <limits>

namespace locus {
namespace {

constexpr double kEndless = std::numeric_limits<double>::infinity();

Parameter number(double low, double high) {
  return {Parameter::Kind::kNumber, "share", "Share", "", 0.5, low, high, {}};
}
Parameter head() {
  Parameter parameter{Parameter::Kind::kWhole, "head", "Head", "", std::int64_t{0}, 0, kEndless, {}};
  parameter.words = {{"mean", -1}, {"all", -2}};
  return parameter;
}
Parameter reduction() {
  return {Parameter::Kind::kChoice, "reduction", "", "", std::string("max"), 0, 1, {"max", "mean"}};
}

void expect_refused(const Parameter& parameter, const std::string& text, const std::string& message) {
  const auto value = parse(parameter, text, "--it");
  ASSERT_FALSE(value.ok()) << text;
  EXPECT_EQ(value.error().code, ErrorCode::kUsage);
  EXPECT_EQ(value.error().message, message);
}

TEST(Parameter, NumbersStayWithinTheirBounds) {
  EXPECT_EQ(*parse(number(0, 1), "0.25"), SettingValue(0.25));
  EXPECT_EQ(*parse(number(0, 1), "1"), SettingValue(1.0));
  expect_refused(number(0, 1), "1.01", "--it: expected a number from 0 to 1, found 1.01");
  expect_refused(number(0, 1), "nan", "--it: expected a number from 0 to 1, found nan");
  expect_refused(number(0, kEndless), "inf", "--it: expected a number from 0, found inf");
  expect_refused(number(-kEndless, 1), "x", "--it: expected a number up to 1, found x");
  expect_refused(number(0, 1), "", "--it: expected a number from 0 to 1, found nothing");
  EXPECT_FALSE(checked(number(0, 1), SettingValue(std::nan(""))).ok());
  EXPECT_EQ(*checked(number(0, 1), SettingValue(std::int64_t{1})), SettingValue(1.0));
}

TEST(Parameter, WordsStandForWholeNumbers) {
  EXPECT_EQ(*parse(head(), "mean"), SettingValue(std::int64_t{-1}));
  EXPECT_EQ(*parse(head(), "3"), SettingValue(std::int64_t{3}));
  expect_refused(head(), "-1", "--it: expected mean, all or a whole number from 0, found -1");
  expect_refused(head(), "1.5", "--it: expected mean, all or a whole number from 0, found 1.5");
  EXPECT_EQ(*checked(head(), SettingValue(std::int64_t{-2})), SettingValue(std::int64_t{-2}));  // of a file
  EXPECT_EQ(*checked(head(), SettingValue(2.0)), SettingValue(std::int64_t{2}));
  EXPECT_FALSE(checked(head(), SettingValue(std::int64_t{-3})).ok());
  EXPECT_FALSE(checked(head(), SettingValue(2.5)).ok());
  EXPECT_FALSE(checked(head(), SettingValue(true)).ok());
  EXPECT_EQ(to_text(head(), SettingValue(std::int64_t{-2})), "all");
}

TEST(Parameter, ChoicesAndTogglesAreTheirWords) {
  EXPECT_EQ(*parse(reduction(), "mean"), SettingValue(std::string("mean")));
  expect_refused(reduction(), "sum", "--it: expected one of max, mean, found sum");
  Parameter toggle{Parameter::Kind::kToggle, "shared", "", "", true, 0, 1, {}};
  EXPECT_EQ(*parse(toggle, "off"), SettingValue(false));
  expect_refused(toggle, "maybe", "--it: expected true or false, found maybe");
  toggle.choices = {"own", "shared"};
  EXPECT_EQ(*parse(toggle, "own"), SettingValue(false));
  EXPECT_EQ(to_text(toggle, SettingValue(true)), "shared");
  expect_refused(toggle, "true", "--it: expected own or shared, found true");
  // Without a name of its own the option says which it is.
  EXPECT_EQ(parse(reduction(), "sum").error().message, "option reduction: expected one of max, mean, found sum");
}

TEST(Parameter, ListsAreNumbersWithinTheirBounds) {
  const Parameter list{Parameter::Kind::kList, "ends", "", "", std::vector<double>(), 0, 64, {}};
  EXPECT_EQ(*parse(list, "0,12.5"), SettingValue(std::vector<double>{0, 12.5}));
  EXPECT_EQ(*parse(list, "8:4"), SettingValue(std::vector<double>{8, 4}));
  for (const char* text : {"", "1,,2", "1,", "1,x", "1,65", "1,-1", "nan,1"}) {
    EXPECT_FALSE(parse(list, text).ok()) << text;
  }
  EXPECT_EQ(to_text(list, SettingValue(std::vector<double>{0, 12.5})), "0,12.5");
}

}  // namespace
}  // namespace locus
