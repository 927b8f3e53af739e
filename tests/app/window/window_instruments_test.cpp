// Instruments on the canvas, by mouse and keys, as a hand uses them.
#include "tests/support/window.h"

#include <QClipboard>
#include <QMouseEvent>
#include <QWheelEvent>

#include "app/figures/figure_job.h"
#include "app/session/recipe.h"
#include "app/workbench/canvas/canvas_link.h"
#include "app/workbench/docks/head_dock.h"
#include "app/workbench/export/export.h"
#include "renderers/figure/panel_decor.h"
#include "tests/support/paths.h"

namespace locus::workbench {
namespace {

class WindowInstruments : public WindowTest {
 protected:
  void SetUp() override {
    // Made-up checkpoints by name, and real ones, on which curves are measured, by path.
    opener_ = [](const std::filesystem::path& path, const models::OpenOptions& options, StopToken stop,
                 const Progress& progress) {
      return path.has_parent_path() ? models::open(path, options, std::move(stop), progress)
                                    : open_fake(path, options, stop, progress);
    };
    WindowTest::SetUp();
    open("gentle");
    type("one two three");
    ASSERT_TRUE(settle());
    ASSERT_TRUE(wait([this] { return !areas("statement").empty(); }));
  }
  InstrumentSet& instruments() { return window_->findChild<CanvasLink*>()->instruments(); }
  std::vector<figure::Rect> areas(const char* name) { return instruments().areas_of(name); }
  const session::ViewState& state() { return window_->studio().state(); }

  void mouse(QEvent::Type type, const figure::Point& at, Qt::MouseButton button, Qt::MouseButtons buttons) {
    const QPointF point = QPointF(at.x, at.y) / window_->canvas()->devicePixelRatio();
    QMouseEvent event(type, point, window_->canvas()->mapToGlobal(point), button, buttons, Qt::NoModifier);
    QCoreApplication::sendEvent(window_->canvas(), &event);
    wait([] { return false; }, 60);  // frames
  }
  void wheel(const figure::Point& at, int notches) {
    const QPointF point = QPointF(at.x, at.y) / window_->canvas()->devicePixelRatio();
    QWheelEvent event(point, window_->canvas()->mapToGlobal(point), {}, QPoint(0, 120 * notches), Qt::NoButton,
                      Qt::NoModifier, Qt::NoScrollPhase, false);
    QCoreApplication::sendEvent(window_->canvas(), &event);
    wait([] { return false; }, 60);
  }
  void move_to(const figure::Point& at) { mouse(QEvent::MouseMove, at, Qt::NoButton, Qt::NoButton); }
  void click(const figure::Point& at) { drag(at, at); }
  // Bundled checkpoints instead of the one that is open.
  void open_bundled(const std::vector<std::string>& names) {
    const int first = window_->studio().checkpoints().all().front().id;
    for (const std::string& name : names) {
      open((std::filesystem::path(test::source_dir()) / "assets/checkpoints" / name).c_str());
    }
    window_->studio().column_actions().remove(first);
    ASSERT_TRUE(settle());
  }
  // The view of that name, drawn, with its instrument.
  void show(const char* view, const char* instrument) {
    session::ViewState other = state();
    session::show_view(other, view);
    window_->studio().change(other);
    ASSERT_TRUE(settle());
    ASSERT_TRUE(wait([&] { return !areas(instrument).empty() && window_->canvas()->layout_is_current(); }));
  }
  void focus_on(const char* instrument) {
    for (int n = 0; n < 8 && instruments().focused() != instrument; ++n) {
      press(window_->canvas(), Qt::Key_Tab);
    }
    ASSERT_EQ(instruments().focused(), instrument);
  }
  const figure::Panel& panel() { return window_->canvas()->figure()->panels[0]; }
  figure::Point cell(double x, double y) {
    const figure::PanelLayout panel = place();
    return {panel.x.place(x + 0.5), panel.y.place(y + 0.5)};
  }
  QString spoken() { return window_->findChild<QWidget*>(QStringLiteral("canvas-holder"))->accessibleDescription(); }
  void drag(const figure::Point& from, const figure::Point& to) {
    mouse(QEvent::MouseMove, from, Qt::NoButton, Qt::NoButton);
    mouse(QEvent::MouseButtonPress, from, Qt::LeftButton, Qt::LeftButton);
    mouse(QEvent::MouseMove, {(from.x + to.x) / 2, (from.y + to.y) / 2}, Qt::NoButton, Qt::LeftButton);
    mouse(QEvent::MouseMove, to, Qt::NoButton, Qt::LeftButton);
    mouse(QEvent::MouseButtonRelease, to, Qt::LeftButton, Qt::NoButton);
  }
};

TEST_F(WindowInstruments, EscapeClosesTheMenuOfTheColourBar) {
  const figure::Rect bar = place().color_bar;
  const figure::Point middle{bar.center_x(), bar.center_y()};
  move_to(middle);
  mouse(QEvent::MouseButtonPress, middle, Qt::RightButton, Qt::RightButton);
  mouse(QEvent::MouseButtonRelease, middle, Qt::RightButton, Qt::NoButton);
  ASSERT_TRUE(wait([this] { return instruments().has_menu(); }));
  press(window_->canvas(), Qt::Key_Escape);
  EXPECT_TRUE(wait([this] { return !instruments().has_menu(); }));
}

TEST_F(WindowInstruments, ADragOfTheColourBarsEndIsOneStepAndNothingElse) {
  ASSERT_EQ(areas("colour-bar").size(), 1U);
  const figure::Rect bar = place().color_bar;
  const std::size_t before = window_->studio().history().depth();
  drag({bar.center_x(), bar.y + 1}, {bar.center_x(), bar.center_y()});
  ASSERT_TRUE(wait([this] { return state().scale.high.has_value(); }));
  EXPECT_NEAR(*state().scale.high, 0.5F, 0.06F);
  EXPECT_EQ(window_->studio().history().depth(), before + 1);
  EXPECT_FALSE(state().query.chosen());
  EXPECT_FALSE(state().camera);
  window_->studio().undo();
  EXPECT_FALSE(state().scale.high);
  ASSERT_TRUE(settle());
}

TEST_F(WindowInstruments, KeysGoThroughTheInstrumentsAndDoWhatTheMouseDoes) {
  press(window_->canvas(), Qt::Key_Tab);
  EXPECT_EQ(instruments().focused(), "statement");
  press(window_->canvas(), Qt::Key_Return);
  EXPECT_TRUE(
      wait([] { return QGuiApplication::clipboard()->text().contains(QStringLiteral("gives its own token")); }));
  press(window_->canvas(), Qt::Key_Tab);
  EXPECT_EQ(instruments().focused(), "colour-bar");
  press(window_->canvas(), Qt::Key_Down);
  EXPECT_TRUE(wait([this] { return state().scale.high.has_value(); }));
  press(window_->canvas(), Qt::Key_Home);
  EXPECT_TRUE(wait([this] { return !state().scale.high.has_value(); }));
  press(window_->canvas(), Qt::Key_Tab);
  EXPECT_EQ(instruments().focused(), "heads");
  press(window_->canvas(), Qt::Key_Down);
  EXPECT_TRUE(wait([this] { return state().layer == 1; }));
  auto* holder = window_->findChild<QWidget*>(QStringLiteral("canvas-holder"));
  EXPECT_TRUE(wait([&] {
    return holder->accessibleDescription().startsWith(QStringLiteral("Heads: layer 1, head 0"));
  })) << holder->accessibleDescription().toStdString();
  press(window_->canvas(), Qt::Key_Escape);
  EXPECT_EQ(instruments().focused(), "");
  ASSERT_TRUE(settle());
}

// Keys that come before the figure is drawn again wait for it, in their order; those that are no instrument's are the
// canvas's then.
TEST_F(WindowInstruments, KeysBetweenTwoFramesAreNotLost) {
  viewport::Canvas* canvas = window_->canvas();
  press(canvas, Qt::Key_Tab);
  press(canvas, Qt::Key_Tab);
  ASSERT_EQ(instruments().focused(), "colour-bar");
  const float whole = figure::color_bar_scale(canvas->figure()->panels[0])->high;
  session::ViewState other = state();
  other.head = 1;
  window_->studio().change(other);
  ASSERT_FALSE(canvas->layout_is_current());
  for (int n = 0; n < 3; ++n) {
    press(canvas, Qt::Key_Down);
  }
  press(canvas, Qt::Key_Escape);
  press(canvas, Qt::Key_Right);  // the next head
  EXPECT_FALSE(state().scale.high);
  ASSERT_TRUE(wait([this] { return state().head == 2; })) << state().head;
  ASSERT_TRUE(state().scale.high);
  EXPECT_LT(*state().scale.high, 0.92F * whole);  // three steps of 0.04, not one
  EXPECT_EQ(instruments().focused(), "");
  ASSERT_TRUE(settle());
}

TEST_F(WindowInstruments, TheMatrixOfHeadsChoosesOne) {
  if (areas("heads").front().height < 3 * 13) {
    press(window_->canvas(), Qt::Key_H);
    wait([] { return false; }, 100);
  }
  const figure::Rect area = areas("heads").front();
  const figure::Point corner{area.right() - 0.6 * area.width / 6, area.bottom() - 0.8 * area.height / 6};
  drag(corner, corner);
  EXPECT_TRUE(wait([this] { return state().layer > 0 || state().head > 0; }));
  EXPECT_FALSE(state().query.chosen());  // the map below it was not clicked
  // A click opens the card of the head; a drag over heads chooses without it.
  auto* card = window_->findChild<HeadDock*>(QStringLiteral("head-dock"));
  ASSERT_TRUE(wait([&] { return card->is_seen(); }));
  press(card, Qt::Key_Escape);
  EXPECT_FALSE(card->is_seen());
  ASSERT_TRUE(settle());
  const figure::Rect again = areas("heads").front();
  drag({again.right() - 0.6 * again.width / 6, again.bottom() - 0.8 * again.height / 6},
       {again.x + 1.2 * again.width / 6, again.bottom() - 0.8 * again.height / 6});
  wait([] { return false; }, 100);
  EXPECT_FALSE(card->is_seen());
  ASSERT_TRUE(settle());
}

TEST_F(WindowInstruments, TheMinimapIsThereWhileTheMapIsZoomed) {
  EXPECT_TRUE(areas("minimap").empty());
  session::ViewState zoomed = state();
  zoomed.camera = views::Camera{{0, 4}, {4, 0}};
  window_->studio().change(zoomed);
  ASSERT_TRUE(wait([this] { return !areas("minimap").empty(); }));
  const figure::Rect area = areas("minimap").front();
  drag({area.right() - 4, area.bottom() - 4}, {area.right() - 4, area.bottom() - 4});
  EXPECT_TRUE(wait([this] { return state().camera && state().camera->x.high > 6; }));
  ASSERT_TRUE(settle());
}

TEST_F(WindowInstruments, EverythingButTheFigureIsHiddenWithTheRest) {
  press(window_->canvas(), Qt::Key_F12);
  EXPECT_TRUE(wait([this] { return !areas("hud").empty(); }));
  press(window_->canvas(), Qt::Key_B, {}, Qt::ControlModifier);
  EXPECT_TRUE(wait([this] { return areas("hud").empty() && areas("statement").empty(); }));
  press(window_->canvas(), Qt::Key_B, {}, Qt::ControlModifier);
  EXPECT_TRUE(wait([this] { return !areas("statement").empty(); }));
}

TEST_F(WindowInstruments, FramesWithAllInstrumentsTakeLittleMore) {
  for (const int key : {Qt::Key_F12, Qt::Key_P, Qt::Key_L}) {
    press(window_->canvas(), key);
  }
  wait([] { return false; }, 500);
  // 1 ms where nothing else runs; beside other work the quickest frame counts.
  const auto quick = [this] { return instruments().cost().overlay_ms > 0 && instruments().cost().overlay_ms < 5; };
  EXPECT_TRUE(wait(quick, kLimitMs)) << instruments().cost().overlay_ms << " ms";
}

TEST_F(WindowInstruments, TheLegendHidesSeriesByMouseAndKeys) {
  open_bundled({"text-rope", "text-alibi"});
  show("distance-profile", "legend");
  ASSERT_GE(areas("legend").size(), 2U);
  const figure::Rect first = areas("legend").front();
  click({first.x + 8, first.center_y()});
  ASSERT_TRUE(wait([this] { return state().plots.hidden.size() == 1; }));
  const std::string hidden = state().plots.hidden.front();
  EXPECT_TRUE(wait([this] { return std::get<figure::Curve>(panel().layers[0]).x.empty(); }));
  EXPECT_EQ(session::series_name(panel().layers[0]), hidden);  // its entry stays
  EXPECT_GE(areas("legend").size(), 2U);
  window_->studio().undo();
  EXPECT_TRUE(state().plots.hidden.empty());
  focus_on("legend");
  press(window_->canvas(), Qt::Key_Right);
  press(window_->canvas(), Qt::Key_Return);
  ASSERT_TRUE(wait([this] { return state().plots.hidden.size() == 1; }));
  EXPECT_NE(state().plots.hidden.front(), hidden);
  EXPECT_TRUE(wait([this] { return spoken().contains(QStringLiteral("hidden, 2 of")); })) << spoken().toStdString();
  press(window_->canvas(), Qt::Key_Home);
  EXPECT_TRUE(wait([this] { return state().plots.hidden.empty(); }));
  ASSERT_TRUE(settle());
}

TEST_F(WindowInstruments, AnAxisZoomsAloneAndCountsLogarithmically) {
  open_bundled({"text-rope"});
  show("distance-profile", "axes");
  ASSERT_EQ(areas("axes").size(), 2U);  // across and up
  const figure::Interval across = panel().x.view;
  const figure::Interval up = panel().y.view;
  const figure::Rect axis = areas("axes")[0];
  wheel({axis.center_x(), axis.center_y()}, 2);
  ASSERT_TRUE(wait([this] { return state().plots.axes.size() == 1; }));
  EXPECT_TRUE(wait([&] { return panel().x.view.high - panel().x.view.low < 0.8 * (across.high - across.low); }));
  EXPECT_EQ(panel().y.view, up);
  const auto shown = shown_job(window_->studio());  // what is exported is what is shown
  ASSERT_TRUE(shown.ok());
  const auto paper = figures::make_figure(*shown, "figure.svg", {});
  ASSERT_TRUE(paper.ok());
  EXPECT_EQ(paper->panels[0].x.view, panel().x.view);

  drag({axis.x + 0.25 * axis.width, axis.center_y()}, {axis.x + 0.5 * axis.width, axis.center_y()});
  EXPECT_TRUE(wait([&] { return panel().x.view.high - panel().x.view.low < 0.3 * (across.high - across.low); }));

  focus_on("axes");
  press(window_->canvas(), Qt::Key_Home);
  EXPECT_TRUE(wait([&] { return state().plots.empty() && panel().x.view == across; }));
  press(window_->canvas(), Qt::Key_Return);
  EXPECT_TRUE(wait([this] { return panel().x.logarithmic; }));
  EXPECT_TRUE(spoken().contains(QStringLiteral("logarithmic"))) << spoken().toStdString();
  press(window_->canvas(), Qt::Key_Return);
  EXPECT_TRUE(wait([this] { return state().plots.empty(); }));
  ASSERT_TRUE(settle());
}

TEST_F(WindowInstruments, TheKeyboardReadsValuesOfSeries) {
  open_bundled({"text-rope"});
  show("distance-profile", "series");
  focus_on("series");
  press(window_->canvas(), Qt::Key_Home);
  const QString first = spoken();
  EXPECT_TRUE(first.contains(QStringLiteral("text-rope "))) << first.toStdString();
  press(window_->canvas(), Qt::Key_Right);
  EXPECT_TRUE(wait([&] { return spoken() != first; }));
}

TEST_F(WindowInstruments, WhatTheMatrixOfHeadsShowsIsPartOfTheState) {
  focus_on("heads");
  press(window_->canvas(), Qt::Key_PageDown);
  ASSERT_TRUE(wait([this] { return state().navigator.statistic == "first"; }));
  const bool folded = areas("heads").front().height < 3 * 13;
  press(window_->canvas(), Qt::Key_Return);
  using Fold = session::NavigatorChoice::Fold;
  ASSERT_TRUE(wait([&] { return state().navigator.fold == (folded ? Fold::kOpen : Fold::kFolded); }));
  EXPECT_TRUE(wait([&] { return (areas("heads").front().height < 3 * 13) == !folded; }));
  EXPECT_EQ(window_->studio().sessions().session().state.navigator.statistic, "first");
  window_->studio().undo();  // one step, or two where the keys were far apart
  if (state().navigator != session::NavigatorChoice()) {
    window_->studio().undo();
  }
  EXPECT_EQ(state().navigator, session::NavigatorChoice());
  ASSERT_TRUE(settle());
}

TEST_F(WindowInstruments, ProfilesStandBesideTheMapAndStay) {
  const figure::Rect before = place().plot;
  move_to(cell(2, 8));
  press(window_->canvas(), Qt::Key_P);
  ASSERT_TRUE(wait([&] { return place().plot.height < before.height; }));
  EXPECT_GE(place().color_bar.x - place().plot.right(), 3 * 13);  // room at the right
  move_to(cell(2, 8));
  press(window_->canvas(), Qt::Key_P, {}, Qt::ShiftModifier);
  ASSERT_TRUE(wait([this] { return state().marks.profiles.size() == 1; }));
  EXPECT_EQ(state().marks.profiles.front(), (session::MarkedCell{2, 8}));
  move_to(cell(1, 4));
  EXPECT_TRUE(wait([this] { return spoken().contains(QStringLiteral("row of query 4")); })) << spoken().toStdString();
  EXPECT_TRUE(spoken().contains(QStringLiteral("1 kept")));
  press(window_->canvas(), Qt::Key_P);
  wait([] { return false; }, 200);
  EXPECT_LT(place().plot.height, before.height);  // those that are kept stay
  window_->studio().undo();
  EXPECT_TRUE(state().marks.empty());
  EXPECT_TRUE(wait([&] { return place().plot.height == before.height; }));
  ASSERT_TRUE(settle());
}

TEST_F(WindowInstruments, MeasuresStayAndArePartOfAFigureWithMarks) {
  move_to(cell(1, 5));
  press(window_->canvas(), Qt::Key_M);
  move_to(cell(4, 9));
  press(window_->canvas(), Qt::Key_M);
  ASSERT_TRUE(wait([this] { return state().marks.measures.size() == 1; }));
  EXPECT_EQ(state().marks.measures.front(), (session::Measure{0, {1, 5}, {4, 9}}));
  EXPECT_TRUE(wait([this] { return spoken().contains(QStringLiteral("Δ query 4, Δ key 3")); }))
      << spoken().toStdString();
  auto job = shown_job(window_->studio());
  ASSERT_TRUE(job.ok());
  const auto plain = figures::make_figure(*job, "figure.svg", {});
  job->recipe.paper.marks = true;
  const auto marked = figures::make_figure(*job, "figure.svg", {});
  ASSERT_TRUE(plain.ok() && marked.ok());
  EXPECT_EQ(marked->panels[0].layers.size(), plain->panels[0].layers.size() + 1);
  const auto again = session::parse_recipe(marked->recipe, "figure.svg");
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->paper.marks);
  EXPECT_EQ(again->session.state.marks, state().marks);
  window_->studio().undo();
  EXPECT_TRUE(state().marks.empty());
  ASSERT_TRUE(settle());
}

}  // namespace
}  // namespace locus::workbench
