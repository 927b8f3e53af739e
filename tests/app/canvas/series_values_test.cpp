// The values of all series at one place.
#include "app/workbench/canvas/instruments/series_values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "app/views/shared/plots/series.h"

namespace locus::workbench {
namespace {

figure::Panel panel_of_series() {
  figure::Panel panel;
  figure::Curve curve;
  curve.name = "rope";
  curve.x = {0, 10, 20, 30};
  curve.y = {1, std::nan(""), 3, 4};
  panel.layers.emplace_back(curve);
  curve.name = "";
  panel.layers.emplace_back(curve);
  panel.layers.emplace_back(figure::Bars{"tapa: μ 1", {10, 20, 30}, {5, 7}});
  return panel;
}

TEST(SeriesValues, EverySeriesThatIsThereHasOne) {
  const auto values = values_at(panel_of_series(), 12);
  ASSERT_EQ(values.size(), 2U);
  EXPECT_EQ(values[0].name, "rope");
  EXPECT_EQ(values[0].x, 20);  // the point without a value is none
  EXPECT_EQ(values[0].y, 3);
  EXPECT_EQ(values[1].name, "tapa");
  EXPECT_EQ(values[1].layer, 2U);
  EXPECT_EQ(values[1].y, 5);
}

TEST(SeriesValues, TheKeyboardStopsWhereThereAreValues) {
  EXPECT_EQ(places_of(panel_of_series()), (std::vector<double>{0, 15, 20, 25, 30}));
  EXPECT_TRUE(places_of({}).empty());
}

// Bars of named things have room between them, where the nearest thing is read and not the room.
TEST(SeriesValues, BetweenBarsOfThingsTheThingIsRead) {
  figure::Panel panel;
  panel.x.cell_names = std::make_shared<const std::vector<std::string>>(std::vector<std::string>{"a", "b", "c"});
  panel.layers.emplace_back(views::grouped_bars("parts", {1, -2, 4}, 0, 1));
  panel.layers.emplace_back(views::curve_through("sum", {0.5, 1.5, 2.5}, {1, -1, 3}));
  for (const auto& [x, part] :
       {std::pair(0.95, 1.0), std::pair(1.05, -2.0), std::pair(1.97, -2.0), std::pair(2.5, 4.0)}) {
    const auto values = values_at(panel, x);
    ASSERT_EQ(values.size(), 2U) << x;
    EXPECT_EQ(values[0].y, part) << x;
    EXPECT_DOUBLE_EQ(values[0].x, values[1].x) << x;
  }
  EXPECT_EQ(places_of(panel), (std::vector<double>{0.5, 1.5, 2.5}));
}

TEST(SeriesValues, ABandIsAnInterval) {
  figure::Panel panel;
  figure::Curve curve;
  curve.name = "loss";
  curve.x = {1, 2};
  curve.y = {0.5, 0.25};
  curve.low = {0.4, std::nan("")};
  curve.high = {0.6, 0.3};
  panel.layers.emplace_back(curve);
  EXPECT_EQ(values_at(panel, 1)[0].interval, " [0.400, 0.600]");
  EXPECT_EQ(values_at(panel, 2)[0].interval, "");
}

TEST(SeriesValues, ThoseThatEndBeforeHaveNone) {
  EXPECT_EQ(values_at(panel_of_series(), 5).size(), 1U);
  EXPECT_EQ(values_at(panel_of_series(), 30).size(), 1U);  // its last point, and no bar
  EXPECT_TRUE(values_at(panel_of_series(), 31).empty());
  EXPECT_TRUE(has_series(panel_of_series()));
  EXPECT_FALSE(has_series({}));
}

}  // namespace
}  // namespace locus::workbench
