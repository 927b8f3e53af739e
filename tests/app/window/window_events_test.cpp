// The window under random events. LOCUS_RANDOM_SECONDS and LOCUS_RANDOM_SEED make them many, and others:
//   LOCUS_RANDOM_SECONDS=600 LOCUS_RANDOM_SEED=3 app_tests --gtest_filter='WindowEvents.*'
#include "tests/support/window.h"

#include <QAbstractButton>
#include <QAbstractItemView>
#include <QAbstractScrollArea>
#include <QAbstractSlider>
#include <QAbstractSpinBox>
#include <QAction>
#include <QComboBox>
#include <QContextMenuEvent>
#include <QDropEvent>
#include <QLineEdit>
#include <QMenu>
#include <QMenuBar>
#include <QMimeData>
#include <QMouseEvent>
#include <QPointer>
#include <QUrl>
#include <QWheelEvent>
#include <fstream>
#include <random>

#include "app/workbench/canvas/canvas_link.h"
#include "tests/support/paths.h"

namespace locus::workbench {
namespace {

int setting(const char* name, int usual) {
  return qEnvironmentVariableIsSet(name) ? qEnvironmentVariableIntValue(name) : usual;
}

// Everything that hands and keyboards do to the window: on the canvas, on every control, in menus and dialogs, with
// files dropped; and on the studio, what menus of views would.
class RandomHands {
 public:
  RandomHands(MainWindow& window, const std::filesystem::path& folder, unsigned seed)
      : window_(window), folder_(folder), random_(seed) {
    answer_later();
  }

  void act() {
    switch (below(12)) {
      case 0:
      case 1:
      case 2:
        touch_canvas();
        break;
      case 3:
        press_canvas();
        break;
      case 4:
      case 5:
      case 6:
        touch_control();
        break;
      case 7:
        window_.studio().inputs().set_text(text());
        break;
      case 8:
        change_view();
        break;
      case 9:
        trigger();
        break;
      case 10:
        change_session();
        break;
      default:
        below(8) == 0 ? drop() : rest();
    }
  }

 private:
  int below(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  template <class List>
  auto& one_of(List& list) {
    return list[static_cast<typename List::size_type>(below(static_cast<int>(list.size())))];
  }
  Qt::KeyboardModifiers modifiers() {
    static constexpr Qt::KeyboardModifier kEach[] = {Qt::NoModifier,    Qt::NoModifier,      Qt::NoModifier,
                                                     Qt::ShiftModifier, Qt::ControlModifier, Qt::AltModifier};
    return kEach[below(static_cast<int>(std::size(kEach)))];
  }
  std::string text() {
    static constexpr const char* kWords[] = {"a", "bc ", "\n", "é", "第二段", "\xE7", "\xC2\xA0", "\r\n", "\t", "😀"};
    std::string made;
    for (int n = below(24); n > 0; --n) {
      made += kWords[below(static_cast<int>(std::size(kWords)))];
    }
    return made;
  }

  void mouse(QObject* receiver, QEvent::Type type, const QPointF& at, const QPointF& global, Qt::MouseButton button,
             Qt::KeyboardModifiers keys) {
    const bool up = type == QEvent::MouseButtonRelease || type == QEvent::MouseMove;
    QMouseEvent event(type, at, global, button, up ? Qt::NoButton : button, keys);
    QCoreApplication::sendEvent(receiver, &event);
  }

  // A place of one of the instruments on the canvas, where there is one.
  QPointF on_instrument(const QPointF& other) {
    static constexpr const char* kNames[] = {"statement", "colour-bar", "legend", "axes",
                                             "heads",     "minimap",    "ranges", "hud"};
    const auto areas =
        window_.findChild<CanvasLink*>()->instruments().areas_of(kNames[below(static_cast<int>(std::size(kNames)))]);
    if (areas.empty()) {
      return other;
    }
    const figure::Rect& area = one_of(areas);
    const double dpr = window_.canvas()->devicePixelRatio();
    return QPointF(area.x + area.width * below(100) / 100, area.y + area.height * below(100) / 100) / dpr;
  }

  void touch_canvas() {
    viewport::Canvas* canvas = window_.canvas();
    const auto point = [&] { return QPointF(below(canvas->width() + 1), below(canvas->height() + 1)); };
    const auto global = [&](const QPointF& at) { return canvas->mapToGlobal(at); };
    const QPointF at = below(3) == 0 ? on_instrument(point()) : point();
    const Qt::KeyboardModifiers keys = modifiers();
    switch (below(6)) {
      case 0:
        mouse(canvas, QEvent::MouseMove, at, global(at), Qt::NoButton, keys);
        break;
      case 1: {
        QWheelEvent wheel(at, global(at), {}, QPoint(0, below(2) == 0 ? 120 : -120), Qt::NoButton, keys,
                          Qt::NoScrollPhase, false);
        QCoreApplication::sendEvent(canvas, &wheel);
        break;
      }
      case 2:
        mouse(canvas, QEvent::MouseButtonDblClick, at, global(at), Qt::LeftButton, keys);
        break;
      case 3:  // a menu, which answer() chooses from
        mouse(canvas, QEvent::MouseButtonPress, at, global(at), Qt::RightButton, keys);
        mouse(canvas, QEvent::MouseButtonRelease, at, global(at), Qt::RightButton, keys);
        break;
      default: {  // a click, or a drag of some steps
        mouse(canvas, QEvent::MouseButtonPress, at, global(at), Qt::LeftButton, keys);
        QPointF now = at;
        for (int n = below(5); n > 0; --n) {
          now = point();
          QMouseEvent move(QEvent::MouseMove, now, global(now), Qt::NoButton, Qt::LeftButton, keys);
          QCoreApplication::sendEvent(canvas, &move);
        }
        mouse(canvas, QEvent::MouseButtonRelease, now, global(now), Qt::LeftButton, keys);
      }
    }
  }

  void press_key(QObject* receiver, int key, const QString& typed, Qt::KeyboardModifiers keys) {
    const QPointer<QObject> still = receiver;  // a press may open a dialog, and what ends meanwhile takes it along
    QKeyEvent down(QEvent::KeyPress, key, keys, typed);
    QCoreApplication::sendEvent(receiver, &down);
    if (still) {
      QKeyEvent up(QEvent::KeyRelease, key, keys, typed);
      QCoreApplication::sendEvent(receiver, &up);
    }
  }

  void press_canvas() {
    static constexpr int kKeys[] = {Qt::Key_Left,   Qt::Key_Right, Qt::Key_Up,       Qt::Key_Down, Qt::Key_F,
                                    Qt::Key_N,      Qt::Key_R,     Qt::Key_1,        Qt::Key_2,    Qt::Key_9,
                                    Qt::Key_Escape, Qt::Key_Shift, Qt::Key_Question, Qt::Key_U,    Qt::Key_Menu,
                                    Qt::Key_Home,   Qt::Key_End,   Qt::Key_PageDown, Qt::Key_Tab,  Qt::Key_Return,
                                    Qt::Key_H,      Qt::Key_L,     Qt::Key_M,        Qt::Key_P,    Qt::Key_F12,
                                    Qt::Key_D,      Qt::Key_Space, Qt::Key_PageUp,   Qt::Key_Tab};
    press_key(window_.canvas(), kKeys[below(static_cast<int>(std::size(kKeys)))], {},
              below(4) == 0 ? modifiers() : Qt::NoModifier);
  }

  // A control that is seen, or its viewport: keys, clicks, turns of the wheel, its menu.
  void touch_control() {
    QList<QWidget*> list;
    for (QWidget* each : window_.findChildren<QWidget*>()) {
      if (each->isVisible() && each->isEnabled() && each->focusPolicy() != Qt::NoFocus && each->window() == &window_) {
        list << each;
      }
    }
    if (list.isEmpty()) {
      return;
    }
    QWidget* widget = one_of(list);
    auto* scrolled = qobject_cast<QAbstractScrollArea*>(widget);
    QWidget* touched = scrolled != nullptr && below(2) == 0 ? scrolled->viewport() : widget;
    const QPointF at(below(std::max(1, touched->width())), below(std::max(1, touched->height())));
    const QPointF global = touched->mapToGlobal(at);
    switch (below(5)) {
      case 0: {
        QContextMenuEvent menu(QContextMenuEvent::Mouse, at.toPoint(), global.toPoint());
        QCoreApplication::sendEvent(touched, &menu);
        break;
      }
      case 1: {
        QWheelEvent wheel(at, global, {}, QPoint(0, below(2) == 0 ? 120 : -120), Qt::NoButton, modifiers(),
                          Qt::NoScrollPhase, false);
        QCoreApplication::sendEvent(touched, &wheel);
        break;
      }
      case 2: {
        const Qt::KeyboardModifiers keys = modifiers();
        const QPointer<QWidget> still = touched;
        mouse(touched, QEvent::MouseMove, at, global, Qt::NoButton, keys);
        mouse(touched, QEvent::MouseButtonPress, at, global, Qt::LeftButton, keys);
        if (still) {
          mouse(touched, QEvent::MouseButtonRelease, at, global, Qt::LeftButton, keys);
        }
        break;
      }
      default: {
        static constexpr int kKeys[] = {Qt::Key_Space, Qt::Key_Up,     Qt::Key_Down,      Qt::Key_Left, Qt::Key_Right,
                                        Qt::Key_Home,  Qt::Key_End,    Qt::Key_Return,    Qt::Key_F2,   Qt::Key_Escape,
                                        Qt::Key_Tab,   Qt::Key_Delete, Qt::Key_Backspace, Qt::Key_Menu, Qt::Key_A};
        const int key = kKeys[below(static_cast<int>(std::size(kKeys)))];
        const QString typed = key == Qt::Key_Space ? QStringLiteral(" ")
                              : key == Qt::Key_A   ? QString(QChar('0' + below(10)))
                                                   : QString();
        press_key(touched, key, typed, below(8) == 0 ? modifiers() : Qt::NoModifier);
      }
    }
  }

  void change_view() {
    session::ViewState state = window_.studio().state();
    const auto& list = views::views();
    state.view = one_of(list)->info().name;
    state.difference = below(2) == 0;
    state.layer = below(5);
    state.head = below(6) - 1;
    switch (below(4)) {
      case 0:
        window_.studio().undo();
        break;
      case 1:
        window_.studio().redo();
        break;
      default:
        window_.studio().change(state);
    }
  }

  // An entry of the menus; not the one that quits.
  void trigger() {
    QList<QAction*> list;
    for (QAction* action : window_.findChildren<QAction*>()) {
      if (action->isEnabled() && !action->isSeparator() && action->menu() == nullptr &&
          !action->text().contains(QStringLiteral("Quit"))) {
        list << action;
      }
    }
    if (!list.isEmpty()) {
      one_of(list)->trigger();
    }
  }

  void change_session() {
    Studio& studio = window_.studio();
    const auto& open = studio.checkpoints().all();
    const auto& figures = studio.sessions().document().figures();
    switch (below(6)) {
      case 0:
        if (!open.empty()) {
          const Checkpoint& each = one_of(open);
          studio.columns().set_shown(each.id, !each.entry.shown);
        }
        break;
      case 1:
        if (!figures.empty()) {
          studio.sessions().show(session::Bookmark(one_of(figures)));
        }
        break;
      case 2:
        studio.sessions().add_bookmark("figure " + std::to_string(below(100)));
        break;
      case 3:
        studio.inputs().set_ids({below(4), below(40), below(400)});
        break;
      case 4:
        studio.pin(below(20), below(20));
        break;
      default:
        below(4) == 0 ? studio.inputs().generate(1 + below(4), 0.5) : studio.cancel();
    }
  }

  // A text, a picture, a broken session, nothing at all.
  void drop() {
    static constexpr const char* kNames[] = {"text.txt", "picture.png", "broken.locus.json", "nowhere"};
    const std::filesystem::path file = folder_ / kNames[below(static_cast<int>(std::size(kNames)))];
    if (file.extension() == ".png") {
      QImage picture(8, 8, QImage::Format_RGB32);
      picture.fill(Qt::green);
      picture.save(QString::fromStdString(file.string()));
    } else if (file.has_extension()) {
      std::ofstream(file) << text() << "{";
    }
    QMimeData mime;
    mime.setUrls({QUrl::fromLocalFile(QString::fromStdString(file.string()))});
    QDropEvent event(QPointF(50, 50), Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(window_.canvas(), &event);
  }

  void rest() {
    window_.resize(900 + below(500), 600 + below(300));
    QCoreApplication::processEvents(QEventLoop::AllEvents, 20);
  }

  // Dialogs and menus that wait for an answer get one: also those that an answer opens, whose loop runs inside of it,
  // where a timer that repeats would not be heard again.
  void answer_later() {
    QTimer::singleShot(20, &answers_, [this] {
      answer_later();
      answer();
    });
  }

  void answer() {
    if (QWidget* popup = QApplication::activePopupWidget()) {
      auto* menu = qobject_cast<QMenu*>(popup);
      if (menu != nullptr && below(2) == 0) {
        press_key(menu, below(2) == 0 ? Qt::Key_Down : Qt::Key_Return, {}, Qt::NoModifier);
      } else {
        popup->close();
      }
    } else if (QWidget* dialog = QApplication::activeModalWidget()) {
      if (below(3) == 0) {
        press_key(dialog->focusWidget() != nullptr ? dialog->focusWidget() : dialog, Qt::Key_Down, {}, Qt::NoModifier);
      } else {
        dialog->close();
      }
    } else if (below(10) == 0) {
      for (QWidget* each : QApplication::topLevelWidgets()) {
        if (each != &window_ && each->isVisible() && each->isWindow()) {
          each->close();  // the manual, a what-if, the palette
        }
      }
    }
  }

  MainWindow& window_;
  const std::filesystem::path folder_;
  std::mt19937 random_;
  QObject answers_;  // end with it
};

class WindowEvents : public WindowTest {
 protected:
  void run() {
    const auto seed = static_cast<unsigned>(setting("LOCUS_RANDOM_SEED", 7));
    const int seconds = setting("LOCUS_RANDOM_SECONDS", 2);
    SCOPED_TRACE("LOCUS_RANDOM_SEED=" + std::to_string(seed));
    int events = 0;
    {
      RandomHands hands(*window_, config_.path().toStdString(), seed);
      QElapsedTimer timer;
      timer.start();
      while (timer.elapsed() < qint64{1000} * seconds) {
        hands.act();
        ++events;
        // At times the next event comes before the frame that what has finished would be shown in.
        QCoreApplication::processEvents(QEventLoop::AllEvents, events % 3 == 0 ? 0 : 5);
      }
      window_->studio().cancel();
      ASSERT_TRUE(settle());
    }
    for (QWidget* each : QApplication::topLevelWidgets()) {
      if (each != window_.get() && each->isVisible()) {
        each->close();
      }
    }
    // It still does what it is for.
    window_->studio().sessions().restore({});
    open("gentle");
    window_->studio().inputs().set_text("still here");
    ASSERT_TRUE(settle());
    ASSERT_EQ(window_->studio().checkpoints().shown().size(), 1U);
    EXPECT_NE(window_->studio().scheduler().figure(), nullptr) << window_->canvas()->content().message;
    std::printf("%d events in %d s\n", events, seconds);
    EXPECT_GT(events, seconds);
  }
};

TEST_F(WindowEvents, LivesThroughRandomEvents) {
  open("gentle");
  open("steep");
  type("one two three");
  ASSERT_TRUE(settle());
  run();
}

// The checkpoints and figures that everybody has; what is measured on them is measured by the real analyses.
TEST_F(WindowEvents, LivesThroughRandomEventsOnTheBundledSession) {
  opener_ = [](const std::filesystem::path& path, const models::OpenOptions& options, StopToken stop,
               const Progress& progress) {
    return path.has_parent_path() ? models::open(path, options, std::move(stop), progress)
                                  : open_fake(path, options, stop, progress);
  };
  make_window();
  window_->open_session(std::filesystem::path(test::source_dir()) / "assets/sessions/first-light.locus.json");
  ASSERT_TRUE(settle());
  run();
}

}  // namespace
}  // namespace locus::workbench
