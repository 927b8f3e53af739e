#include "renderers/figure/titles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "renderers/text/typeface.h"

namespace locus::figure {
namespace {

const std::string kLong = "a-checkpoint-of-a-long-name-with-seed-17";
constexpr const char* kPlace = "layer 11, mean of 12 heads";

std::vector<std::string> lines_of(const std::string& title, const std::vector<std::string>& names, double width,
                                  int most) {
  const text::Typeface typeface;
  const std::vector<std::string> lines = title_lines(typeface, title, names, 12, width, most);
  EXPECT_LE(lines.size(), static_cast<std::size_t>(most));
  for (const std::string& line : lines) {
    EXPECT_LE(typeface.width(line, 12), width) << line;
    EXPECT_FALSE(line.starts_with("·") || line.ends_with("·")) << line;
  }
  return lines;
}

std::string together(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    text += (text.empty() ? "" : " ") + line;
  }
  return text;
}

TEST(Titles, KeepTheLayerAndTheHeadWhateverTheName) {
  const text::Typeface typeface;
  const std::string title = kLong + " · " + kPlace;
  const double place = typeface.width(kPlace, 12);
  for (double width = place + 1; width < 4 * place; width += 7) {
    for (const int most : {1, 2}) {
      const std::string shown = together(lines_of(title, {kLong}, width, most));
      if (most == 2 || width > place + typeface.width("a-…17 · ", 12) + 1) {
        EXPECT_NE(shown.find(kPlace), std::string::npos) << width << " " << most << ": " << shown;
        EXPECT_TRUE(shown.starts_with("a-")) << shown;
        EXPECT_NE(shown.find("17"), std::string::npos) << "the end tells seeds apart: " << shown;
      }
    }
  }
  EXPECT_EQ(lines_of(title, {kLong}, 5 * place, 2), std::vector<std::string>{title});
}

TEST(Titles, BreakWhereTheirPartsMeet) {
  EXPECT_EQ(lines_of("text-words-rope · layer 0, head 0", {"text-words-rope"}, 120, 2),
            (std::vector<std::string>{"text-words-rope", "layer 0, head 0"}));
  // Without names nothing is shortened in its middle.
  const auto elided = lines_of("one two three four five six seven eight nine", {}, 80, 2);
  EXPECT_TRUE(elided.back().ends_with("…"));
  EXPECT_TRUE(lines_of("", {kLong}, 80, 2).empty());
}

TEST(Titles, OfDifferencesShortenBothNames) {
  const std::string other = "a-checkpoint-of-a-long-name-with-seed-18";
  const std::string shown = together(lines_of(kLong + " − " + other, {kLong, other}, 200, 1));
  EXPECT_NE(shown.find("17 − a-"), std::string::npos) << shown;
  EXPECT_TRUE(shown.ends_with("18")) << shown;
  // The second is looked for behind the first, of which it may be a part.
  const std::string nested = together(
      lines_of("rope-long-name-of-rope-long − rope-long", {"rope-long-name-of-rope-long", "rope-long"}, 160, 1));
  EXPECT_TRUE(nested.ends_with("− rope-long")) << nested;
}

TEST(Titles, AreNeverCutWithinALetter) {
  const std::string name = "żółć-źdźbło-żółć-źdźbło-żółć-źdźbło";
  for (double width = 60; width < 300; width += 3) {
    for (const std::string& line : lines_of(name + " · layer 1, head 2", {name}, width, 2)) {
      for (std::size_t n = 0; n < line.size(); ++n) {
        const auto byte = static_cast<unsigned char>(line[n]);
        const std::size_t more = byte >= 0xE0 ? 2 : byte >= 0xC0 ? 1 : 0;
        for (std::size_t next = 1; next <= more; ++next) {
          ASSERT_LT(n + next, line.size()) << line;
          ASSERT_EQ(static_cast<unsigned char>(line[n + next]) & 0xC0U, 0x80U) << line;
        }
      }
    }
  }
}

}  // namespace
}  // namespace locus::figure
