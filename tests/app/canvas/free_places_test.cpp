// Where instruments stand.
#include "app/workbench/canvas/instruments/free_places.h"

#include <gtest/gtest.h>

namespace locus::workbench {
namespace {

const figure::Point kSize{20, 10};
const figure::Point kCanvas{100, 60};

TEST(FreePlaces, TheFirstPlaceAlongTheEdgeThatIsFree) {
  const auto place = free_place(kSize, kCanvas, 2, {});
  ASSERT_TRUE(place);
  EXPECT_EQ(place->x, 2);
  EXPECT_EQ(place->bottom(), 58);
  // The lower corners are taken: the middle of the left side.
  const auto middle = free_place(kSize, kCanvas, 2, {{0, 50, 100, 10}});
  ASSERT_TRUE(middle);
  EXPECT_EQ(middle->x, 2);
  EXPECT_EQ(middle->y, 25);
  EXPECT_FALSE(free_place(kSize, kCanvas, 2, {{0, 0, 100, 60}}));
  EXPECT_FALSE(free_place({101, 10}, kCanvas, 0, {}));
}

TEST(FreePlaces, BetweenTwoThingsAlongTheEdge) {
  // The corners and the middles of both sides are taken; on the right there is a gap of 14 from 38 to 52.
  const std::vector<figure::Rect> taken{{0, 0, 40, 60}, {60, 0, 40, 38}, {60, 52, 40, 8}, {40, 0, 20, 60}};
  const auto place = free_place(kSize, kCanvas, 2, taken);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->x, 78);
  EXPECT_GE(place->y, 38);
  EXPECT_LE(place->bottom(), 52);
  // Of two gaps the lower one; one that is too low holds nothing.
  const auto lower = free_place(kSize, kCanvas, 2, {{0, 0, 100, 6}, {0, 20, 100, 6}, {0, 52, 100, 8}});
  ASSERT_TRUE(lower);
  EXPECT_GE(lower->y, 26);
  EXPECT_FALSE(free_place(kSize, kCanvas, 2, {{0, 0, 100, 20}, {0, 29, 100, 31}}));
  // Along the lower edge, where both sides are taken.
  const auto along = free_place(kSize, kCanvas, 2, {{0, 0, 30, 60}, {60, 0, 40, 60}});
  ASSERT_TRUE(along);
  EXPECT_GE(along->x, 30);
  EXPECT_LE(along->right(), 60);
  EXPECT_EQ(along->bottom(), 58);
}

// A label that is hidden is missed more than a corner of a plot.
TEST(FreePlaces, WithoutRoomOverAPlotRatherThanOverALabel) {
  const std::vector<figure::Rect> taken{{0, 0, 70, 60}, {70, 0, 30, 15}, {70, 22, 30, 12}, {70, 40, 30, 20}};
  const figure::Rect place = place_or_corner(kSize, kCanvas, 2, taken);
  EXPECT_EQ(place.x, 2);
}

TEST(FreePlaces, WithoutRoomInTheUpperRightCornerOfAPlot) {
  // The edge is full of labels; the plot within it is not.
  const std::vector<figure::Rect> taken{
      {30, 2, 60, 46}, {0, 0, 28, 28}, {0, 30, 28, 30}, {90, 0, 10, 60}, {0, 50, 100, 10}};
  const figure::Rect place = place_or_corner(kSize, kCanvas, 2, taken);
  EXPECT_EQ(place.right(), 88);
  EXPECT_EQ(place.y, 4);
}

TEST(FreePlaces, WithoutRoomTheOneThatCoversLeast) {
  // Everything is taken once, the right side twice, and the lower left corner twice.
  const std::vector<figure::Rect> taken{{0, 0, 100, 60}, {70, 0, 30, 60}, {0, 45, 30, 15}};
  const figure::Rect place = place_or_corner(kSize, kCanvas, 2, taken);
  EXPECT_EQ(place.x, 2);
  EXPECT_EQ(place.y, 25);
  // A canvas that is too small: its corner.
  EXPECT_EQ(place_or_corner({101, 10}, kCanvas, 0, {}).x, 0);
}

}  // namespace
}  // namespace locus::workbench
