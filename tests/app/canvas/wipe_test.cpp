// Maps of two columns in one panel, on both sides of a line.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "app/views/shared/plots/map_lines.h"
#include "app/workbench/canvas/instruments/wipe_line.h"

namespace locus::workbench {
namespace {

figure::Panel panel_of(float value, std::int64_t rows = 4, std::int64_t columns = 6, double step = 1) {
  Field field = Field::zeros(rows, columns);
  for (float& each : field.values) {
    each = value;
  }
  field.column_axis.first = 2;
  field.column_axis.step = step;
  figure::Panel panel;
  panel.title = "panel";
  panel.layers.emplace_back(figure::Marker{});
  panel.layers.emplace_back(figure::HeatMap{.field = std::make_shared<const Field>(std::move(field)), .scale = {}});
  return panel;
}

TEST(Wipe, CellsFromTheNearestEdgeOnAreTheReferences) {
  const figure::Panel own = panel_of(1);
  const figure::Panel other = panel_of(2);
  for (const auto& [x, from] : {std::pair(0.0, 0), std::pair(2.0, 0), std::pair(4.4, 2), std::pair(4.6, 3),
                                std::pair(8.0, 6), std::pair(100.0, 6)}) {
    const auto both = wiped(own, other, x);
    ASSERT_TRUE(both.has_value());
    const Field& field = *views::map_of(*both)->field;
    for (std::int64_t row = 0; row < field.rows; ++row) {
      for (std::int64_t column = 0; column < field.columns; ++column) {
        EXPECT_EQ(field.at(row, column), column < from ? 1.0F : 2.0F) << x;
      }
    }
    EXPECT_EQ(wipe_edge(field, x), 2 + from);
  }
  EXPECT_EQ(views::map_of(own)->field->at(0, 5), 1.0F);  // it stays as it is
  EXPECT_EQ(wiped(own, other, 4)->layers.size(), own.layers.size());
}

TEST(Wipe, TheNumbersUnderThePointerFollowAndThoseInCellsGo) {
  figure::Panel own = panel_of(1);
  figure::Panel other = panel_of(2);
  const auto put = [](figure::Panel& panel, float number) {
    auto& map = std::get<figure::HeatMap>(panel.layers[1]);
    Field numbers = *map.field;
    for (float& each : numbers.values) {
      each = number;
    }
    map.numbers = std::make_shared<const Field>(std::move(numbers));
    map.texts = std::make_shared<const std::vector<std::string>>(24, "text");
  };
  put(own, 10);
  EXPECT_FALSE(wiped(own, other, 4).has_value());  // one shows shares, the other numbers
  put(other, 20);
  const auto both = wiped(own, other, 4);
  ASSERT_TRUE(both.has_value());
  const figure::HeatMap& map = *views::map_of(*both);
  EXPECT_EQ(views::numbers_of(map).at(1, 1), 10.0F);
  EXPECT_EQ(views::numbers_of(map).at(1, 2), 20.0F);
  EXPECT_EQ(map.texts, nullptr);
}

TEST(Wipe, MapsOfOtherCellsAndPanelsWithoutAMapAreRefused) {
  const figure::Panel own = panel_of(1);
  EXPECT_FALSE(wiped(own, panel_of(2, 5), 4).has_value());
  EXPECT_FALSE(wiped(own, panel_of(2, 4, 7), 4).has_value());
  EXPECT_FALSE(wiped(own, panel_of(2, 4, 6, 2), 4).has_value());
  figure::Panel curves;
  curves.layers.emplace_back(figure::Curve{});
  EXPECT_FALSE(wiped(own, curves, 4).has_value());
  EXPECT_FALSE(wiped(curves, own, 4).has_value());
}

}  // namespace
}  // namespace locus::workbench
