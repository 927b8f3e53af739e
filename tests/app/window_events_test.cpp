// The window under random events.
#include "tests/support/window.h"

#include <QMouseEvent>
#include <QWheelEvent>
#include <random>

namespace locus::workbench {
namespace {

class WindowEvents : public WindowTest {};

// Two seconds of seeded clicks, wheels, drags, keys, typing and changes of view; LOCUS_RANDOM_SECONDS makes it longer.
TEST_F(WindowEvents, LivesThroughRandomEvents) {
  open("gentle");
  open("steep");
  type("one two three");
  ASSERT_TRUE(settle());
  std::mt19937 random(7);
  const auto below = [&](int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); };
  static constexpr int kKeys[] = {Qt::Key_Left, Qt::Key_Right, Qt::Key_Up, Qt::Key_Down,   Qt::Key_F,
                                  Qt::Key_N,    Qt::Key_R,     Qt::Key_1,  Qt::Key_Escape, Qt::Key_Shift};
  const int seconds =
      qEnvironmentVariableIsSet("LOCUS_RANDOM_SECONDS") ? qEnvironmentVariableIntValue("LOCUS_RANDOM_SECONDS") : 2;
  QElapsedTimer timer;
  timer.start();
  int events = 0;
  QWindow* canvas = window_->canvas();
  while (timer.elapsed() < 1000 * seconds) {
    const QPointF at(below(canvas->width()), below(canvas->height()));
    const auto mouse = [&](QEvent::Type type, Qt::MouseButton button, Qt::MouseButtons buttons) {
      QMouseEvent event(type, at, canvas->mapToGlobal(at), button, buttons, Qt::NoModifier);
      QCoreApplication::sendEvent(canvas, &event);
    };
    switch (below(8)) {
      case 0:
        mouse(QEvent::MouseButtonPress, Qt::LeftButton, Qt::LeftButton);
        mouse(QEvent::MouseButtonRelease, Qt::LeftButton, Qt::NoButton);
        break;
      case 1:
      case 2:
        mouse(QEvent::MouseMove, Qt::NoButton, below(2) == 0 ? Qt::NoButton : Qt::LeftButton);
        break;
      case 3: {
        QWheelEvent wheel(at, canvas->mapToGlobal(at), {}, QPoint(0, below(2) == 0 ? 120 : -120), Qt::NoButton,
                          Qt::NoModifier, Qt::NoScrollPhase, false);
        QCoreApplication::sendEvent(canvas, &wheel);
        break;
      }
      case 4:
      case 5:
        press(canvas, kKeys[below(static_cast<int>(std::size(kKeys)))]);
        break;
      case 6:
        window_->studio().set_text(
            std::string(static_cast<std::size_t>(below(40)), static_cast<char>('a' + below(26))));
        break;
      default: {
        session::ViewState state = window_->studio().state();
        const auto& list = views::views();
        state.view = list[static_cast<std::size_t>(below(static_cast<int>(list.size())))]->info().name;
        state.difference = below(2) == 0;
        below(4) == 0 ? window_->studio().undo() : window_->studio().change(state);
      }
    }
    ++events;
    QCoreApplication::processEvents(QEventLoop::AllEvents, 5);
  }
  EXPECT_GT(events, 20 * seconds);
  ASSERT_TRUE(settle());
  window_->studio().set_text("still here");
  session::ViewState state;
  window_->studio().change(state);
  ASSERT_TRUE(settle());
  EXPECT_NE(window_->studio().figure(), nullptr);
}

}  // namespace
}  // namespace locus::workbench
