// What a figure says of a column that a shared colour range flattens.
#include "app/views/shared/plots/flat_columns.h"

#include <gtest/gtest.h>

#include "tests/support/exported_views.h"

namespace locus::views {
namespace {

figure::Panel panel_of(const std::string& name, std::vector<float> values, float high) {
  Field field = Field::zeros(1, std::ssize(values));
  field.values = std::move(values);
  figure::HeatMap map;
  map.field = std::make_shared<const Field>(std::move(field));
  map.scale.high = high;
  figure::Panel panel;
  panel.names = {name};
  panel.note = "said before";
  panel.layers.emplace_back(std::move(map));
  return panel;
}

ViewInput columns(std::size_t count) {
  ViewInput input;
  input.columns.resize(count);
  return input;
}

TEST(FlatColumns, AColumnSaysWhatItTakesOfASharedRange) {
  figure::Figure figure;
  figure.panels = {panel_of("a", {0, 10}, 10), panel_of("b", {2, 2.5F}, 10), panel_of("c", {2, 3.1F}, 10)};
  note_flat_columns(columns(3), figure);
  EXPECT_EQ(figure.panels[0].note, "said before");
  EXPECT_EQ(figure.panels[1].note, "said before; values take 5.00 % of the shared colour range");
  EXPECT_EQ(figure.panels[2].note, "said before");  // 11 %
}

TEST(FlatColumns, AColumnIsAllOfItsPanels) {
  figure::Figure figure;
  figure.panels = {panel_of("a", {0, 0.1F}, 10), panel_of("b", {1, 1.1F}, 10), panel_of("a", {9, 10}, 10),
                   panel_of("b", {1, 1.5F}, 10)};
  note_flat_columns(columns(2), figure);
  EXPECT_EQ(figure.panels[0].note, "said before");
  EXPECT_EQ(figure.panels[1].note, "said before; values take 5.00 % of the shared colour range");
  EXPECT_EQ(figure.panels[3].note, "said before");
}

TEST(FlatColumns, RangesOfTheirOwnFlattenNothing) {
  figure::Figure figure;
  figure.panels = {panel_of("a", {0, 10}, 10), panel_of("b", {2, 2.1F}, 11)};
  note_flat_columns(columns(2), figure);
  EXPECT_EQ(figure.panels[1].note, "said before");
  figure.panels = {panel_of("a", {0, 10}, 10), panel_of("b", {2, 2.1F}, 10)};
  ViewInput input = columns(2);
  input.scale.shared = false;
  note_flat_columns(input, figure);
  EXPECT_EQ(figure.panels[1].note, "said before");
  figure.panels.pop_back();
  note_flat_columns(columns(1), figure);
  EXPECT_EQ(figure.panels[0].note, "said before");
}

// Position dot products of two checkpoints whose values lie far apart.
TEST(FlatColumns, ViewsSayIt) {
  ViewInput input;
  for (const char* const name : {"text-seqpe-plain", "text-rope"}) {
    input.columns.push_back(test::column_of(test::bundled(name), std::string(32, 'a')));
  }
  input.layer = 1;
  const auto figure = test_views::view_of("pe-dot-product").figure(input);
  ASSERT_TRUE(figure.ok()) << figure.error().describe();
  const std::string& said = figure->panels[1].note;
  EXPECT_NE(said.find(" % of the shared colour range"), std::string::npos) << said;
  input.scale.shared = false;
  EXPECT_EQ(test_views::view_of("pe-dot-product").figure(input)->panels[1].note.find("shared"), std::string::npos);
}

}  // namespace
}  // namespace locus::views
