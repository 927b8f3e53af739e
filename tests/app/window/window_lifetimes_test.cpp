// What outlives what: a layout its figure, for one frame; dialogs and fields the window's studio, for none.
#include "tests/support/window.h"

#include <QAction>
#include <QDialog>
#include <QMouseEvent>
#include <QPointer>
#include <QTemporaryDir>
#include <QWheelEvent>
#include <memory>

namespace locus::workbench {
namespace {

class WindowLifetimes : public WindowTest {
 protected:
  // Three maps have been drawn, and then one takes their place that no frame has shown yet: the middle of the third.
  QPointF where_a_map_was() {
    viewport::Canvas* canvas = window_->canvas();
    const figure::Rect old = canvas->layout()->panels[2].plot;
    viewport::CanvasContent next = canvas->content();
    auto one = std::make_shared<figure::Figure>(*next.figure);
    one->panels.resize(1);
    next.figure = one;
    canvas->set_content(next);
    EXPECT_EQ(canvas->layout()->panels.size(), 3U) << "a frame came in between";
    return QPointF(old.center_x(), old.center_y()) / canvas->devicePixelRatio();
  }
  // How often the user has moved the camera since.
  std::shared_ptr<int> count_moves() {
    auto count = std::make_shared<int>(0);
    QObject::connect(window_->canvas(), &viewport::Canvas::camera_moved, window_->canvas(), [count] { ++*count; });
    return count;
  }
  void open_three() {
    open("gentle");
    open("steep");
    open("third");
    type("one two three");
    ASSERT_TRUE(settle());
    place(2);
    ASSERT_EQ(window_->canvas()->layout()->panels.size(), 3U);
  }
};

TEST_F(WindowLifetimes, TheWheelOverAPanelThatIsGoneDoesNothing) {
  ASSERT_NO_FATAL_FAILURE(open_three());
  const QPointF at = where_a_map_was();
  viewport::Canvas* canvas = window_->canvas();
  const auto moves = count_moves();
  QWheelEvent wheel(at, canvas->mapToGlobal(at), {}, QPoint(0, 120), Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase,
                    false);
  QCoreApplication::sendEvent(canvas, &wheel);
  EXPECT_EQ(*moves, 0);
}

TEST_F(WindowLifetimes, ADragFromAPanelThatIsGoneDoesNothing) {
  ASSERT_NO_FATAL_FAILURE(open_three());
  viewport::Canvas* canvas = window_->canvas();
  const figure::Rect third = place(2).plot;
  const QPointF from = QPointF(third.center_x(), third.center_y()) / canvas->devicePixelRatio();
  const auto send = [&](QEvent::Type type, const QPointF& at, Qt::MouseButton button) {
    QMouseEvent event(type, at, canvas->mapToGlobal(at), button, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(canvas, &event);
  };
  send(QEvent::MouseButtonPress, from, Qt::LeftButton);
  where_a_map_was();
  const auto moves = count_moves();
  send(QEvent::MouseMove, from + QPointF(40, 0), Qt::NoButton);
  send(QEvent::MouseMove, from + QPointF(80, 0), Qt::NoButton);
  EXPECT_EQ(*moves, 0);
  send(QEvent::MouseButtonRelease, from + QPointF(80, 0), Qt::LeftButton);
}

TEST_F(WindowLifetimes, AWindowEndsWithTheModelsOfTheHubOpen) {
  const QTemporaryDir cache;
  qputenv("HF_HUB_CACHE", cache.path().toLocal8Bit());
  window_->findChild<QAction*>(QStringLiteral("open-hub"))->trigger();
  qunsetenv("HF_HUB_CACHE");
  const QPointer<QDialog> dialog = window_->findChild<QDialog*>(QStringLiteral("hub"));
  ASSERT_FALSE(dialog.isNull());
  window_.reset();
  EXPECT_TRUE(dialog.isNull());
}

}  // namespace
}  // namespace locus::workbench
