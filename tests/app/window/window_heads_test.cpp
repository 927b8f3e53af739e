// What a head does, shown where it is pointed at: the fingerprint in the grid of heads.
#include "tests/support/window.h"

#include <QLabel>
#include <cmath>
#include <utility>

#include "app/views/shared/measured/atlas_values.h"
#include "app/workbench/work/fingerprints.h"
#include "models/api/analyses.h"
#include "models/api/atlas_trace.h"
#include "tests/support/bundled.h"

namespace locus::workbench {
namespace {

class WindowHeads : public WindowTest {
 protected:
  void SetUp() override {
    opener_ = models::open;
    WindowTest::SetUp();
    session::CheckpointEntry entry;
    entry.path = std::filesystem::path(test::source_dir()) / "assets/checkpoints/text-rope";
    window_->studio().column_actions().open(entry);
    window_->studio().inputs().set_text("ROMEO:\nMy name is Romeo; my name, my name is hateful to myself.\n");
    session::ViewState state;
    state.view = "attention-grid";
    window_->studio().change(state);
    ASSERT_TRUE(settle());
    ASSERT_EQ(window_->studio().scheduler().figure_state().view, "attention-grid");
  }
  const std::vector<viewport::Bar>& bars() { return window_->canvas()->content().bars; }
  void point_at(std::int64_t layer, std::int64_t head) {
    figure::Hit hit;
    hit.x = static_cast<double>(head) + 0.4;
    hit.y = static_cast<double>(layer) + 0.6;
    Q_EMIT window_->canvas()->hovered(hit);
  }
};

TEST_F(WindowHeads, TheFingerprintIsThatOfTheHeadUnderThePointer) {
  point_at(1, 2);
  ASSERT_TRUE(wait([this] { return bars().size() == 4; }));
  const views::Column column = window_->studio().view_input().columns.front();
  models::MapRequest request;
  request.layer = 1;
  request.head = 2;
  const auto map = column.trace->map(request);
  ASSERT_TRUE(map.ok());
  double previous = 0;
  double first = 0;
  double distance = 0;
  for (std::int64_t i = 1; i < map->rows; ++i) {
    previous += static_cast<double>(map->at(i, i - 1));
    first += static_cast<double>(map->at(i, 0));
    for (std::int64_t j = 0; j <= i; ++j) {
      distance += static_cast<double>(map->at(i, j)) * static_cast<double>(i - j);
    }
  }
  const auto queries = static_cast<double>(map->rows - 1);
  const auto print = window_->studio().fingerprints().of(column, 1, 2);
  ASSERT_TRUE(print && print->ok());
  EXPECT_NEAR((*print)->previous, previous / queries, 1e-4);
  EXPECT_NEAR((*print)->first, first / queries, 1e-4);
  EXPECT_NEAR((*print)->distance, distance / queries, 1e-4 * (1 + distance / queries));
  const auto induction = models::induction_map(*column.model);
  ASSERT_TRUE(induction.ok());
  EXPECT_NEAR((*print)->induction, static_cast<double>(induction->at(1, 2)), 1e-5);

  // As they are written.
  EXPECT_EQ(bars()[0].label, "previous");
  EXPECT_EQ(bars()[0].text, share_text((*print)->previous));
  EXPECT_NEAR(bars()[0].share, (*print)->previous, 1e-9);
  EXPECT_EQ(bars()[1].label, "first");
  EXPECT_EQ(bars()[2].label, "induction");
  EXPECT_EQ(bars()[3].label, "distance");
  EXPECT_NE(bars()[3].text.find(" tokens"), std::string::npos);
  EXPECT_NEAR(bars()[3].share, (*print)->distance / queries, 1e-9);

  // The inspector says the same of the head that keys have chosen.
  const auto* words = window_->findChild<QLabel*>(QStringLiteral("context"));
  EXPECT_TRUE(words->text().startsWith(QStringLiteral("head 0.0: previous "))) << words->text().toStdString();
  press(window_->canvas(), Qt::Key_Down);
  press(window_->canvas(), Qt::Key_Right);
  press(window_->canvas(), Qt::Key_Right);
  ASSERT_TRUE(wait([&] {
    return words->text() == QStringLiteral("head 1.2: ") + QString::fromStdString(words_of(**print));
  })) << words->text().toStdString();

  // Another head is there at once, another text is measured anew, and no bar stays where no head is.
  const std::string before = bars()[0].text + bars()[3].text;
  point_at(3, 0);
  ASSERT_EQ(bars().size(), 4U);
  EXPECT_NE(bars()[0].text + bars()[3].text, before);
  window_->studio().inputs().set_text("Once more, and once more, and once more.");
  ASSERT_TRUE(wait([&] {
    const auto columns = window_->studio().checkpoints().shown();
    return !columns.empty() && columns.front()->trace != column.trace && bars().size() == 4;
  }));
  Q_EMIT window_->canvas()->left();
  EXPECT_TRUE(bars().empty());
  ASSERT_TRUE(settle());
}

// As in any list: a click chooses, a double click and Enter open.
TEST_F(WindowHeads, AClickInTheTableChoosesAndADoubleClickOpens) {
  session::ViewState table = window_->studio().state();
  table.view = "heads";
  table.options["heads"].set("repeats", std::int64_t{0});
  window_->studio().change(table);
  ASSERT_TRUE(settle());
  const auto state = [this] { return window_->studio().state(); };
  figure::Hit hit;
  hit.x = 1.5;
  hit.y = 5.5;
  Q_EMIT window_->canvas()->clicked(hit);
  const auto place = std::pair(state().layer, state().head);
  EXPECT_EQ(state().view, "heads");
  EXPECT_NE(place, std::pair(table.layer, table.head));
  ASSERT_TRUE(settle());
  Q_EMIT window_->canvas()->fit_requested();
  EXPECT_EQ(state().view, "attention");
  EXPECT_EQ(std::pair(state().layer, state().head), place);
  ASSERT_TRUE(settle());
  // In the grid, which is a map, a click opens.
  session::ViewState grid = state();
  grid.view = "attention-grid";
  window_->studio().change(grid);
  ASSERT_TRUE(settle());
  hit.x = 2.5;
  hit.y = 1.5;
  Q_EMIT window_->canvas()->clicked(hit);
  EXPECT_EQ(state().view, "attention");
  EXPECT_EQ(std::pair(state().layer, state().head), std::pair(std::int64_t{1}, std::int64_t{2}));
  ASSERT_TRUE(settle());
}

TEST_F(WindowHeads, AnUnmeasuredHeadSaysSoAndWhatIsWantedFirstComesFirst) {
  Worker worker([] {});
  Fingerprints prints(worker);
  const views::Column column = window_->studio().view_input().columns.front();
  EXPECT_FALSE(prints.of(column, 0, 0).has_value());
  prints.hold();
  ASSERT_TRUE(wait([&] {
    worker.drain();
    return worker.idle();
  }));
  EXPECT_FALSE(prints.of(column, 0, 0).has_value());  // it was given up, and is asked for again
  ASSERT_TRUE(wait([&] {
    worker.drain();
    return prints.of(column, 0, 0).has_value();
  }));
  EXPECT_TRUE(prints.of(column, 3, 3)->ok());
  EXPECT_FALSE(prints.of(column, 9, 0)->ok());

  // What holds no attention has none, and is not asked again.
  const views::Column fake{"fake", nullptr, std::make_shared<const test::FakeTrace>(test::FakeShape{}, "one two")};
  EXPECT_FALSE(prints.of(fake, 0, 0).has_value());
  ASSERT_TRUE(wait([&] {
    worker.drain();
    return worker.idle();
  }));
  ASSERT_TRUE(prints.of(fake, 0, 0).has_value());
  EXPECT_EQ(prints.of(fake, 0, 0)->error().code, ErrorCode::kUnsupported);
}

// An atlas has measured its heads: the matrix is coloured by what it holds.
TEST_F(WindowHeads, TheHeadsOfAnAtlasAreThoseOfItsFile) {
  Worker worker([] {});
  Fingerprints prints(worker);
  const auto path = std::filesystem::path(test::source_dir()) / "assets/atlases/text-rope-800.safetensors";
  const auto atlas = models::open_atlas_trace(path);
  ASSERT_TRUE(atlas);
  const views::Column column{"atlas", nullptr, *atlas};
  const HeadSurvey& survey = prints.survey(column);
  EXPECT_TRUE(survey.done && worker.idle());
  const auto previous = views::head_intervals(*models::atlas_of(**atlas), "previous");
  ASSERT_TRUE(previous);
  EXPECT_GT(previous->size(), 4U);
  for (std::size_t n = 0; n < previous->size(); ++n) {
    EXPECT_DOUBLE_EQ(survey.prints[n].previous, (*previous)[n].mean) << n;
    EXPECT_TRUE(std::isfinite(survey.prints[n].entropy)) << n;
  }
}

}  // namespace
}  // namespace locus::workbench
