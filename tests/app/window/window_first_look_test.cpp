// A first look at a head of a new checkpoint: how many actions it takes.
#include "tests/support/window.h"

#include <QAction>
#include <QDialog>
#include <QMouseEvent>
#include <QTimer>

#include "app/workbench/canvas/canvas_link.h"
#include "tests/support/paths.h"

namespace locus::workbench {
namespace {

class WindowFirstLook : public WindowTest {
 protected:
  void SetUp() override {
    opener_ = models::open;
    WindowTest::SetUp();
  }
  InstrumentSet& instruments() { return window_->findChild<CanvasLink*>()->instruments(); }
  const session::ViewState& state() { return window_->studio().state(); }
  void key(int pressed, Qt::KeyboardModifiers modifiers = {}) {
    ++actions_;
    press(window_->canvas(), pressed, {}, modifiers);
    wait([] { return false; }, 100);
  }
  void mouse(QEvent::Type type, const figure::Point& at, Qt::MouseButton button, Qt::MouseButtons buttons) {
    const QPointF point = QPointF(at.x, at.y) / window_->canvas()->devicePixelRatio();
    QMouseEvent event(type, point, window_->canvas()->mapToGlobal(point), button, buttons, Qt::NoModifier);
    QCoreApplication::sendEvent(window_->canvas(), &event);
    wait([] { return false; }, 60);
  }

  int actions_ = 0;
};

// Open, find the previous-token head, set its range, read a value, export.
TEST_F(WindowFirstLook, TakesTenActionsOrFewer) {
  ++actions_;
  window_->open_path(std::filesystem::path(test::source_dir()) / "assets/checkpoints/text-rope");
  ASSERT_TRUE(settle());
  ++actions_;
  window_->studio().inputs().set_text("ROMEO:\nMy name is Romeo; my name, my name is hateful to myself.\n");
  ASSERT_TRUE(settle());
  ASSERT_TRUE(wait([this] { return !instruments().areas_of("heads").empty(); }));

  int stops = 0;
  while (instruments().focused() != "heads" && ++stops < 6) {
    key(Qt::Key_Tab);
  }
  ASSERT_EQ(instruments().focused(), "heads");
  const views::Column column = window_->studio().view_input().columns.front();
  ASSERT_TRUE(wait([&] { return window_->studio().fingerprints().survey(column).done; }));
  key(Qt::Key_Home);
  const HeadSurvey& survey = window_->studio().fingerprints().survey(column);
  double most = 0;
  for (const views::Fingerprint& each : survey.prints) {
    most = std::max(most, each.previous);
  }
  EXPECT_TRUE(wait([&] { return survey.at(state().layer, state().head).previous == most; }));
  ASSERT_TRUE(settle());
  wait([] { return false; }, 300);

  ++actions_;  // a drag
  const figure::Rect bar = place().color_bar;
  const figure::Point end{bar.center_x(), bar.y + 1};
  mouse(QEvent::MouseButtonPress, end, Qt::LeftButton, Qt::LeftButton);
  mouse(QEvent::MouseMove, {end.x, bar.center_y()}, Qt::NoButton, Qt::LeftButton);
  mouse(QEvent::MouseButtonRelease, {end.x, bar.center_y()}, Qt::LeftButton, Qt::NoButton);
  EXPECT_TRUE(wait([this] { return state().scale.high.has_value(); }));
  ASSERT_TRUE(settle());

  ++actions_;  // a look at a cell below the diagonal
  const figure::Rect plot = place().plot;
  mouse(QEvent::MouseMove, {plot.x + 0.25 * plot.width, plot.y + 0.75 * plot.height}, Qt::NoButton, Qt::NoButton);
  EXPECT_TRUE(wait([this] { return !window_->canvas()->content().tooltip.empty(); }));

  bool asked = false;
  QTimer look;
  QObject::connect(&look, &QTimer::timeout, &look, [&] {
    for (QWidget* each : QApplication::topLevelWidgets()) {
      auto* dialog = qobject_cast<QDialog*>(each);
      if (dialog != nullptr && dialog->isVisible() && dialog->objectName() == QStringLiteral("export-figure-dialog")) {
        asked = true;
        ++actions_;  // Enter
        dialog->reject();
      }
    }
  });
  look.start(30);
  ++actions_;
  window_->findChild<QAction*>(QStringLiteral("export-figure"))->trigger();
  EXPECT_TRUE(wait([&] { return asked; }));
  EXPECT_LE(actions_, 10);
}

}  // namespace
}  // namespace locus::workbench
