// Instruments on the canvas, by mouse and keys, as a hand uses them.
#include "tests/support/window.h"

#include <QAction>
#include <QClipboard>
#include <QMouseEvent>

#include "app/workbench/canvas/canvas_link.h"

namespace locus::workbench {
namespace {

class WindowInstruments : public WindowTest {
 protected:
  void SetUp() override {
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
  void drag(const figure::Point& from, const figure::Point& to) {
    mouse(QEvent::MouseMove, from, Qt::NoButton, Qt::NoButton);
    mouse(QEvent::MouseButtonPress, from, Qt::LeftButton, Qt::LeftButton);
    mouse(QEvent::MouseMove, {(from.x + to.x) / 2, (from.y + to.y) / 2}, Qt::NoButton, Qt::LeftButton);
    mouse(QEvent::MouseMove, to, Qt::NoButton, Qt::LeftButton);
    mouse(QEvent::MouseButtonRelease, to, Qt::LeftButton, Qt::NoButton);
  }
};

TEST_F(WindowInstruments, ADragOfTheColourBarsEndIsOneStepAndNothingElse) {
  ASSERT_EQ(areas("colour-bar").size(), 1U);
  const figure::Rect bar = window_->canvas()->layout()->panels[0].color_bar;
  const std::size_t before = window_->studio().history().depth();
  drag({bar.center_x(), bar.y + 1}, {bar.center_x(), bar.center_y()});
  ASSERT_TRUE(wait([this] { return state().scale.high.has_value(); }, 5000));
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
      wait([] { return QGuiApplication::clipboard()->text().contains(QStringLiteral("gives its own token")); }, 5000));
  press(window_->canvas(), Qt::Key_Tab);
  EXPECT_EQ(instruments().focused(), "colour-bar");
  press(window_->canvas(), Qt::Key_Down);
  EXPECT_TRUE(wait([this] { return state().scale.high.has_value(); }, 5000));
  ASSERT_TRUE(wait([this] { return window_->canvas()->layout_is_current(); }, 5000));
  press(window_->canvas(), Qt::Key_Home);
  EXPECT_TRUE(wait([this] { return !state().scale.high.has_value(); }, 5000));
  press(window_->canvas(), Qt::Key_Tab);
  EXPECT_EQ(instruments().focused(), "heads");
  press(window_->canvas(), Qt::Key_Down);
  EXPECT_TRUE(wait([this] { return state().layer == 1; }, 5000));
  auto* holder = window_->findChild<QWidget*>(QStringLiteral("canvas-holder"));
  EXPECT_TRUE(
      wait([&] { return holder->accessibleDescription().startsWith(QStringLiteral("Heads: layer 1, head 0")); }, 5000))
      << holder->accessibleDescription().toStdString();
  press(window_->canvas(), Qt::Key_Escape);
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
  EXPECT_TRUE(wait([this] { return state().layer > 0 || state().head > 0; }, 5000));
  EXPECT_FALSE(state().query.chosen());  // the map below it was not clicked
  ASSERT_TRUE(settle());
}

TEST_F(WindowInstruments, TheMinimapIsThereWhileTheMapIsZoomed) {
  EXPECT_TRUE(areas("minimap").empty());
  session::ViewState zoomed = state();
  zoomed.camera = views::Camera{{0, 4}, {4, 0}};
  window_->studio().change(zoomed);
  ASSERT_TRUE(wait([this] { return !areas("minimap").empty(); }, 5000));
  const figure::Rect area = areas("minimap").front();
  drag({area.right() - 4, area.bottom() - 4}, {area.right() - 4, area.bottom() - 4});
  EXPECT_TRUE(wait([this] { return state().camera && state().camera->x.high > 6; }, 5000));
  ASSERT_TRUE(settle());
}

TEST_F(WindowInstruments, EverythingButTheFigureIsHiddenWithTheRest) {
  press(window_->canvas(), Qt::Key_F12);
  EXPECT_TRUE(wait([this] { return !areas("hud").empty(); }, 5000));
  press(window_->canvas(), Qt::Key_B, {}, Qt::ControlModifier);
  EXPECT_TRUE(wait([this] { return areas("hud").empty() && areas("statement").empty(); }, 5000));
  press(window_->canvas(), Qt::Key_B, {}, Qt::ControlModifier);
  EXPECT_TRUE(wait([this] { return !areas("statement").empty(); }, 5000));
}

TEST_F(WindowInstruments, FramesWithAllInstrumentsTakeLittleMore) {
  for (const int key : {Qt::Key_F12, Qt::Key_P, Qt::Key_L}) {
    press(window_->canvas(), key);
  }
  wait([] { return false; }, 500);
  EXPECT_GT(instruments().cost().overlay_ms, 0);
  EXPECT_LT(instruments().cost().overlay_ms, 5);  // 1 ms where nothing else runs
}

// At 1280 × 800 with the usual panels.
TEST_F(WindowInstruments, FiguresHaveTheirRoom) {
  window_->findChild<QAction*>(QStringLiteral("reset-layout"))->trigger();
  window_->resize(1280, 800);
  const auto least = [this](std::size_t panels) {
    const figure::Layout* layout = window_->canvas()->layout();
    double side = layout != nullptr && layout->panels.size() == panels ? 1e9 : 0;
    for (const figure::PanelLayout& panel : layout->panels) {
      side = std::min({side, panel.plot.width, panel.plot.height});
    }
    return side;
  };
  EXPECT_TRUE(wait([&] { return least(1) >= 480; }, 10'000)) << least(1);
  open("steep");
  open("third");
  ASSERT_TRUE(settle());
  EXPECT_TRUE(wait([&] { return least(3) >= 200; }, 10'000)) << least(3);
  session::ViewState bias = state();
  bias.view = "distance-bias";
  window_->studio().change(bias);
  EXPECT_TRUE(wait([this] { return window_->canvas()->height() >= 420; }, 10'000)) << window_->canvas()->height();
  window_->studio().cancel();
  ASSERT_TRUE(settle());
}

}  // namespace
}  // namespace locus::workbench
