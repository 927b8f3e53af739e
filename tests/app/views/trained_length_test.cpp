// The trained length on axes, and what is said of texts that are longer.
#include "app/views/shared/plots/trained_length.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "app/views/shared/view.h"
#include "tests/support/fake_model.h"

namespace locus::views {
namespace {

Column column_of(std::int64_t trained, std::size_t letters) {
  test::FakeShape shape;
  shape.trained_length = trained;
  const test::FakeModel model(shape);
  models::Input input;
  input.text = std::string(letters, 'a');
  auto run = model.run(input, {}, {}, {});
  EXPECT_TRUE(run.ok());
  return {"fake", nullptr, *run};
}

std::vector<const figure::Marker*> marks(const figure::Panel& panel) {
  std::vector<const figure::Marker*> list;
  for (const figure::Layer& layer : panel.layers) {
    if (const auto* marker = std::get_if<figure::Marker>(&layer)) {
      list.push_back(marker);
    }
  }
  return list;
}

figure::Panel map_of(std::int64_t trained, std::size_t letters, const char* view = "attention") {
  ViewInput input;
  input.columns = {column_of(trained, letters)};
  const auto figure = (*find_view(view))->figure(input);
  EXPECT_TRUE(figure.ok());
  return figure->panels.front();
}

TEST(TrainedLength, IsMarkedOnBothAxesOfALongerText) {
  const figure::Panel panel = map_of(20, 30);
  const auto lines = marks(panel);
  ASSERT_EQ(lines.size(), 2U);
  for (const figure::Marker* line : lines) {
    EXPECT_EQ(line->at, 20);
  }
  EXPECT_NE(lines[0]->direction, lines[1]->direction);
  EXPECT_EQ(lines[0]->label, "trained length");
  EXPECT_EQ(panel.note, "10 of 30 tokens stand beyond the trained length of 20");
}

TEST(TrainedLength, IsSilentWhereTheTextIsShortOrNothingIsKnown) {
  for (const std::int64_t trained : {0, 30, 31}) {
    const figure::Panel panel = map_of(trained, 30);
    EXPECT_TRUE(marks(panel).empty()) << trained;
    EXPECT_TRUE(panel.note.empty()) << panel.note;
  }
  EXPECT_EQ(map_of(29, 30).note, "1 of 30 tokens stands beyond the trained length of 29");
}

TEST(TrainedLength, IsSaidWhereTokensAreNoAxes) {
  EXPECT_NE(map_of(20, 30, "attention-text").note.find("beyond the trained length of 20"), std::string::npos);
  EXPECT_NE(map_of(20, 30, "attention-grid").note.find("beyond the trained length of 20"), std::string::npos);
}

TEST(TrainedLength, IsMarkedOnAxesOfDistance) {
  figure::Panel panel;
  panel.x.view = {0, 30};
  const std::vector<Column> columns{column_of(20, 30), column_of(20, 30), column_of(40, 30), column_of(0, 30)};
  mark_trained_distance(columns, panel);
  const auto lines = marks(panel);
  ASSERT_EQ(lines.size(), 1U);  // one length of two columns; the other lies beyond what is shown
  EXPECT_EQ(lines.front()->at, 20);
}

}  // namespace
}  // namespace locus::views
