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

using Ids = std::vector<std::int64_t>;

// Placeholders of id 9: one for each file, or as many as its cells.
TEST(TextPictures, StandInIdsAtTheirPlaceholders) {
  const auto single = single_marks({1, 9, 2, 9}, 2, 9, 2);
  ASSERT_TRUE(single);
  EXPECT_EQ(single->ids, (Ids{1, 9, 2, 9}));
  EXPECT_EQ(single->caret, 2U);
  EXPECT_EQ(single->place, 1U);
  const auto runs = single_marks({1, 9, 9, 9, 2, 9, 9}, 4, 9, 2);
  ASSERT_TRUE(runs);
  EXPECT_EQ(runs->ids, (Ids{1, 9, 2, 9}));
  EXPECT_EQ(runs->caret, 2U);
  EXPECT_EQ(runs->place, 1U);
  const auto within = single_marks({1, 9, 9, 9, 2}, 2, 9, 1);  // the caret in a run is behind its file
  ASSERT_TRUE(within);
  EXPECT_EQ(within->caret, 2U);
  EXPECT_EQ(within->place, 1U);
  const auto end = single_marks({1, 9, 9}, 3, 9, 1);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->caret, 2U);
  EXPECT_FALSE(single_marks({9, 9, 1, 9}, 0, 9, 1));  // a video with times between its placeholders
  const auto none = single_marks({}, 0, 9, 0);
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->ids.empty());
}

TEST(TextPictures, GoWithTheirPlaceholderInIds) {
  Pictures removed;
  const Pictures two{"a", "b"};
  EXPECT_EQ(files_of_ids({1, 9, 2, 9}, {1, 9, 2, 9, 3}, 9, two, removed), two);
  EXPECT_EQ(files_of_ids({1, 9, 2, 9}, {1, 2, 9}, 9, two, removed), Pictures{"b"});
  EXPECT_EQ(removed, Pictures{"a"});
  EXPECT_EQ(files_of_ids({1, 2, 9}, {1, 9, 2, 9}, 9, {"b"}, removed), two);
  EXPECT_EQ(files_of_ids({9, 9, 2, 9, 9}, {9, 9, 2}, 9, two, removed), Pictures{"a"});
  EXPECT_EQ(files_of_ids({9, 9, 2}, {2}, 9, {"a"}, removed), Pictures());
  EXPECT_EQ(files_of_ids({9, 9, 2, 9, 9}, {9, 9}, 9, {"film"}, removed),
            Pictures{"film"});  // its groups are not told apart
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
