#include "core/base/shown.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "core/base/listed.h"

namespace {

using locus::listed_known;
using locus::printable;
using locus::shown;

TEST(Shown, IsAtMostEightyCharacters) {
  EXPECT_EQ(shown(std::string(80, 'a')), std::string(80, 'a'));
  EXPECT_EQ(shown(std::string(100'000, 'a')), std::string(80, 'a') + "…");
  std::string umlauts;
  std::string expected;
  for (int n = 0; n < 100; ++n) {
    umlauts += "ü";
    expected += n < 80 ? "ü" : "";
  }
  EXPECT_EQ(shown(umlauts), expected + "…");
  // An escape is not cut in two.
  EXPECT_EQ(shown(std::string(79, 'a') + "\x1B[2J"), std::string(79, 'a') + "…");
  EXPECT_EQ(shown("abc", 2), "ab…");
  EXPECT_EQ(shown(""), "");
}

TEST(Shown, NothingMovesATerminal) {
  EXPECT_EQ(shown("a\x1B[31mred"), "a\\x1B[31mred");
  EXPECT_EQ(shown("one\rtwo\n\t\b\x7F"), "one\\x0Dtwo\\x0A\\x09\\x08\\x7F");
  EXPECT_EQ(shown("\xC2\x9B"
                  "2J"),
            "\\u009B2J");  // the control sequence introducer as one character
  EXPECT_EQ(shown("\xE2\x80\xAE"
                  "abc"),
            "\\u202Eabc");  // right to left from here
  EXPECT_EQ(shown("\xE2\x80\xA8"
                  "x"),
            "\\u2028x");  // a line separator
  EXPECT_EQ(shown("\xE2\x81\xA6"
                  "x"),
            "\\u2066x");
  EXPECT_EQ(shown("\xFF\xC3"), "\\xFF\\xC3");  // no UTF-8
  EXPECT_EQ(shown("日本 é 𝄞"), "日本 é 𝄞");
  EXPECT_EQ(printable(std::string(200, 'b') + "\x1B"), std::string(200, 'b') + "\\x1B");
}

TEST(Shown, LongListsSayHowManyMoreThereAre) {
  const std::array<const char*, 3> few{"one", "two", "three"};
  EXPECT_EQ(listed_known(few, "encodings"), "one, two, three");
  std::vector<std::string> many;
  for (int n = 100; n < 200; ++n) {
    many.push_back("name-" + std::to_string(n));
  }
  // 20 names of 8 bytes and 19 commas with blanks are 198 bytes.
  const std::string text = listed_known(many, "checkpoints");
  EXPECT_TRUE(text.starts_with("name-100, name-101"));
  EXPECT_TRUE(text.ends_with("name-119 and 80 more: `locus help checkpoints`")) << text;
}

}  // namespace
