// The visible part of a map on the minimap, and the way back from a drag.
#include "app/workbench/canvas/instruments/map_window.h"

#include <gtest/gtest.h>

namespace locus::workbench {
namespace {

const views::Camera kHome{{0, 100}, {100, 0}};  // query 0 on top
const figure::Rect kPicture{10, 20, 50, 50};

TEST(MapWindow, WhatIsVisibleIsWhereItIsInTheWhole) {
  const views::Camera camera{{50, 70}, {20, 0}};  // right of the middle, at the top
  EXPECT_TRUE(is_zoomed(kHome, camera));
  EXPECT_FALSE(is_zoomed(kHome, kHome));
  const figure::Rect part = visible_part(kHome, camera, kPicture);
  EXPECT_DOUBLE_EQ(part.x, 35);
  EXPECT_DOUBLE_EQ(part.width, 10);
  EXPECT_DOUBLE_EQ(part.y, 20);
  EXPECT_DOUBLE_EQ(part.height, 10);
}

TEST(MapWindow, ADragMovesTheCameraAsFarAsTheWholeGoes) {
  const views::Camera camera{{50, 70}, {20, 0}};
  const views::Camera middle = centred_at(kHome, camera, kPicture, {35, 45});
  EXPECT_EQ(middle.x, (figure::Interval{40, 60}));
  EXPECT_EQ(middle.y, (figure::Interval{60, 40}));
  const views::Camera corner = centred_at(kHome, camera, kPicture, {-500, 900});
  EXPECT_EQ(corner.x, (figure::Interval{0, 20}));
  EXPECT_EQ(corner.y, (figure::Interval{100, 80}));
  // There and back.
  const figure::Rect part = visible_part(kHome, middle, kPicture);
  EXPECT_DOUBLE_EQ(part.center_x(), 35);
  EXPECT_DOUBLE_EQ(part.center_y(), 45);
}

TEST(MapWindow, KeysMoveByPartsOfWhatIsVisible) {
  const views::Camera camera{{50, 70}, {20, 0}};
  EXPECT_EQ(shifted(kHome, camera, 0.5, 0).x, (figure::Interval{60, 80}));
  EXPECT_EQ(shifted(kHome, camera, 0, 0.5).y, (figure::Interval{30, 10}));  // down
  EXPECT_EQ(shifted(kHome, camera, 0, -1).y, (figure::Interval{20, 0}));
}

}  // namespace
}  // namespace locus::workbench
