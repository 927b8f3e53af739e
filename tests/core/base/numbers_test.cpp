#include "core/base/numbers.h"

#include <gtest/gtest.h>

#include <clocale>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>
#include <string>

namespace locus {
namespace {

// Runs with a comma for the decimal point, where the machine has such a locale (Debian: locales-all).
class Numbers : public testing::Test {
 protected:
  void SetUp() override {
    if (std::setlocale(LC_NUMERIC, "de_DE.UTF-8") == nullptr) {
      GTEST_SKIP() << "there is no locale de_DE.UTF-8 (Debian: locales-all)";
    }
    char text[16];
    std::snprintf(text, sizeof text, "%.1f", 0.5);
    ASSERT_STREQ(text, "0,5");
  }
  void TearDown() override { std::setlocale(LC_NUMERIC, "C"); }

  static std::string printed(const char* format, int precision, double value) {
    std::setlocale(LC_NUMERIC, "C");
    char text[400];
    std::snprintf(text, sizeof text, format, precision, value);
    std::setlocale(LC_NUMERIC, "de_DE.UTF-8");
    return text;
  }
};

TEST_F(Numbers, AreWrittenAsPrintfDoesInTheCLocale) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> exponents(-12, 12);
  std::vector<double> values{0, -0.0, 0.5, 1.5, 2.5, -0.125, 1e15, 1e300, 99.95, 0.0995, 9999.5};
  for (int n = 0; n < 500; ++n) {
    values.push_back((n % 2 == 0 ? 1 : -1) * std::pow(10.0, exponents(random)));
  }
  for (const double value : values) {
    for (const int precision : {0, 1, 2, 4, 9}) {
      EXPECT_EQ(fixed_text(value, precision), printed("%.*f", precision, value));
      EXPECT_EQ(general_text(value, precision), printed("%.*g", precision, value));
      EXPECT_EQ(scientific_text(value, precision), printed("%.*e", precision, value));
    }
    EXPECT_EQ(parse_number<double>(number_text(value)), value);
  }
  EXPECT_EQ(fixed_text(std::numeric_limits<double>::infinity(), 1), "inf");
  EXPECT_EQ(fixed_text(std::nan(""), 1), "nan");
}

TEST_F(Numbers, AreReadWithAPointAndWhole) {
  EXPECT_EQ(parse_number<double>("2.5"), 2.5);
  EXPECT_EQ(parse_number<double>("-1e3"), -1000.0);
  EXPECT_EQ(parse_number<std::int64_t>("-12"), -12);
  for (const char* text : {"", "2,5", "2.5x", " 2.5", "2.5 ", "x", "1e999"}) {
    EXPECT_FALSE(parse_number<double>(text)) << text;
  }
  for (const char* text : {"", "2.5", "12 ", "99999999999999999999", "0x10"}) {
    EXPECT_FALSE(parse_number<std::int64_t>(text)) << text;
  }
}

TEST_F(Numbers, ThatLibrariesPrintHaveAPointAgain) {
  use_plain_numbers();
  char text[16];
  std::snprintf(text, sizeof text, "%.1f", 0.5);
  EXPECT_STREQ(text, "0.5");
}

}  // namespace
}  // namespace locus
