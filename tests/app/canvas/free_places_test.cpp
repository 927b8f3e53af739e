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
