// Marks on maps, and the figure that has them.
#include "app/session/marks.h"

#include <gtest/gtest.h>

namespace locus::session {
namespace {

figure::Figure figure_of_maps() {
  figure::Figure figure;
  for (int n = 0; n < 2; ++n) {
    Field field = Field::zeros(4, 4);
    for (std::size_t i = 0; i < field.values.size(); ++i) {
      field.values[i] = static_cast<float>(i);
    }
    field.row_axis = {"query", "token", 0, 1};
    field.column_axis = {"key", "token", 0, 1};
    field.quantity = "logit";
    figure::Panel panel;
    panel.x.view = {0, 4};
    panel.y.view = {4, 0};
    figure::HeatMap map;
    map.field = std::make_shared<const Field>(std::move(field));
    panel.layers.emplace_back(map);
    figure.panels.push_back(panel);
  }
  figure.columns = 2;
  return figure;
}

TEST(Marks, AProfileIsKeptOnceAndOldOnesGo) {
  Marks marks;
  for (int n = 0; n < 6; ++n) {
    marks = with_profile(marks, {1.0 * n, 2});
    marks = with_measure(marks, {0, {1.0 * n, 0}, {2, 2}});
  }
  ASSERT_EQ(marks.profiles.size(), kMaxProfiles);
  EXPECT_EQ(marks.profiles.front().x, 2);
  marks = with_profile(marks, {5, 2});  // again: it goes
  EXPECT_EQ(marks.profiles.back().x, 4);
  EXPECT_EQ(marks.measures.size(), 6U);
}

TEST(Marks, AFigureHasThemAsLinesAndCurves) {
  Marks marks;
  marks.profiles = {{0, 2}, {1, 30}};  // the second is beside the map
  marks.measures = {{1, {0, 0}, {3, 2}}, {1, {2, 2}, {2, 2}}, {5, {0, 0}, {1, 1}}};
  const figure::Figure figure = with_marks(figure_of_maps(), marks);
  ASSERT_EQ(figure.panels.size(), 4U);
  EXPECT_EQ(figure.panels[0].layers.size(), 2U);  // the map and the row's line
  ASSERT_EQ(figure.panels[1].layers.size(), 3U);
  const auto& line = std::get<figure::Curve>(figure.panels[1].layers[2]);
  EXPECT_EQ(line.x, (std::vector<double>{0.5, 3.5}));
  EXPECT_EQ(line.y, (std::vector<double>{0.5, 2.5}));
  EXPECT_NE(line.name.find("Δ query 2, Δ key 3"), std::string::npos) << line.name;
  ASSERT_EQ(figure.panels[2].layers.size(), 1U);
  const auto& row = std::get<figure::Curve>(figure.panels[2].layers[0]);
  EXPECT_EQ(row.name, "query 2");
  EXPECT_EQ(row.y, (std::vector<double>{8, 9, 10, 11}));
  EXPECT_EQ(figure.panels[2].y.label, "logit");
  EXPECT_LT(figure.panels[2].y.view.low, 0);
  EXPECT_EQ(with_marks(figure_of_maps(), {}).panels.size(), 2U);
}

}  // namespace
}  // namespace locus::session
