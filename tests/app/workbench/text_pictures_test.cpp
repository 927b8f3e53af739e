// Pictures move with their marks while a text is typed.
#include "app/workbench/work/text_pictures.h"

#include <gtest/gtest.h>

namespace locus::workbench {
namespace {

using Pictures = std::vector<std::filesystem::path>;

TEST(TextPictures, StayAtTheirMarks) {
  Pictures removed;
  const Pictures two{"a", "b"};
  EXPECT_EQ(pictures_after("x<image>y<image>z", "xx<image>y<image>z", two, removed), two);
  EXPECT_EQ(pictures_after("x<image>y<image>z", "x<image>yy<image>z", two, removed), two);
  EXPECT_EQ(pictures_after("x<image>y<image>z", "x<image>y<image>z!", two, removed), two);
  EXPECT_TRUE(removed.empty());
}

TEST(TextPictures, GoWithTheirMarkAndComeBackWithIt) {
  Pictures removed;
  const std::string text = "x<image>y<image>z";
  EXPECT_EQ(pictures_after(text, "xy<image>z", {"a", "b"}, removed), Pictures{"b"});
  EXPECT_EQ(removed, Pictures{"a"});
  EXPECT_EQ(pictures_after("xy<image>z", text, {"b"}, removed), (Pictures{"a", "b"}));
  EXPECT_EQ(pictures_after(text, "x<image>yz", {"a", "b"}, removed), Pictures{"a"});
  EXPECT_EQ(pictures_after("x<image>yz", text, {"a"}, removed), (Pictures{"a", "b"}));
  EXPECT_EQ(pictures_after(text, "", {"a", "b"}, removed), Pictures());
  EXPECT_EQ(pictures_after("", text, {}, removed), (Pictures{"a", "b"}));
}

TEST(TextPictures, AreToldFromVideos) {
  Pictures removed;
  const std::string text = "x<image>y<video>z";
  EXPECT_EQ(pictures_after(text, "x<image>yz", {"clip"}, removed, kVideoMark), Pictures());
  EXPECT_EQ(removed, Pictures{"clip"});
  EXPECT_EQ(pictures_after("x<image>yz", text, {}, removed, kVideoMark), Pictures{"clip"});
  EXPECT_EQ(pictures_after(text, "x<image>yz", {"a"}, removed), Pictures{"a"});
  EXPECT_EQ(marks_before(text, text.size()), 1U);
  EXPECT_EQ(marks_before(text, text.size(), kVideoMark), 1U);
  EXPECT_EQ(marks_before(text, 3, kVideoMark), 0U);
}

// A mark that is cut in two is none; a mark without a picture stays without.
TEST(TextPictures, AreFewerThanMarksThatNobodyFilled) {
  Pictures removed;
  EXPECT_EQ(pictures_after("x<image>", "x<imag>", {"a"}, removed), Pictures());
  EXPECT_EQ(pictures_after("x<imag>", "x<image>", {}, removed), Pictures{"a"});
  EXPECT_EQ(pictures_after("x", "x<image>", {}, removed), Pictures());
}

TEST(TextPictures, AreCountedBeforeTheCaret) {
  const std::string text = "x<image>y<image>";
  EXPECT_EQ(marks_before(text, 0), 0U);
  EXPECT_EQ(marks_before(text, 1), 0U);
  EXPECT_EQ(marks_before(text, 8), 1U);
  EXPECT_EQ(marks_before(text, text.size()), 2U);
}

}  // namespace
}  // namespace locus::workbench
