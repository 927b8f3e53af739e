#include "core/base/lists.h"

#include <gtest/gtest.h>

#include <string>

namespace locus {
namespace {

using Parts = std::vector<std::string_view>;

TEST(Lists, PartsStandBetweenSeparators) {
  EXPECT_EQ(split("a,,b,"), (Parts{"a", "", "b", ""}));
  EXPECT_EQ(split(""), Parts{""});
  EXPECT_EQ(split("1:2 3", ": "), (Parts{"1", "2", "3"}));
  EXPECT_EQ(split_terminated("a,,b,"), (Parts{"a", "", "b"}));
  EXPECT_EQ(split_terminated(""), Parts{});
  EXPECT_EQ(split_terminated(","), Parts{""});
  EXPECT_EQ(split_words(" a,, b ", " ,"), (Parts{"a", "b"}));
  EXPECT_EQ(split_words(",", ","), Parts{});
}

TEST(Lists, EveryPartIsANumber) {
  EXPECT_EQ(parse_numbers<std::int64_t>(split("4,-9")), (std::vector<std::int64_t>{4, -9}));
  EXPECT_EQ(parse_numbers<double>({}), std::vector<double>{});
  for (const char* text : {"", "4,", "4,x", "4 9", "4,0x9", "99999999999999999999"}) {
    EXPECT_EQ(parse_numbers<std::int64_t>(split(text)), std::nullopt) << text;
  }
}

TEST(Lists, RangesHaveTwoEnds) {
  EXPECT_EQ(parse_range("3:7"), (Range{3, 7}));
  EXPECT_EQ(parse_range("7:-3"), (Range{7, -3}));
  for (const char* text : {"", ":", "3", "3:", ":7", "3:7:9", "3.5:7", "a:b"}) {
    EXPECT_EQ(parse_range(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace locus
