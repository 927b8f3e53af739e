// The keyboard alone: Tab comes to every control and is seen there, keys operate each, and each has a name that a
// screen reader can say.
#include "tests/support/window.h"

#include <QAbstractButton>
#include <QAbstractItemView>
#include <QAbstractSlider>
#include <QAbstractSpinBox>
#include <QAccessible>
#include <QAction>
#include <QComboBox>
#include <QDialog>
#include <QGroupBox>
#include <QLineEdit>
#include <QPointer>
#include <QScrollArea>
#include <QSet>

#include "app/workbench/input/token_strip.h"
#include "app/workbench/window/command_palette.h"

namespace locus::workbench {
namespace {

QString description(const QWidget* widget) {
  return QString::fromLatin1(widget->metaObject()->className()) + QLatin1Char(' ') + widget->objectName();
}

// What Tab should come to.
QList<QWidget*> controls(QWidget* window) {
  QList<QWidget*> list;
  for (QWidget* each : window->findChildren<QWidget*>()) {
    if (each->isVisible() && each->isEnabled() && each->window() == window && each->focusProxy() == nullptr &&
        (each->focusPolicy() & Qt::TabFocus) == Qt::TabFocus) {
      list << each;
    }
  }
  return list;
}

QString spoken(QWidget* widget) {
  QAccessibleInterface* interface = QAccessible::queryAccessibleInterface(widget);
  return interface == nullptr ? QString() : interface->text(QAccessible::Name);
}

QStringList unnamed(QWidget* window) {
  QStringList list;
  for (QWidget* each : controls(window)) {
    if (spoken(each).trimmed().isEmpty()) {
      list << description(each);
    }
  }
  return list;
}

class WindowKeyboard : public WindowTest {
 protected:
  void SetUp() override {
    WindowTest::SetUp();
    window_->resize(1280, 900);
    open("gentle");
    open("steep");
    type("one two three");
    window_->studio().sessions().add_bookmark("first");
    window_->studio().sessions().add_bookmark("second");
    ASSERT_TRUE(settle());
    window_->findChild<QGroupBox*>(QStringLiteral("colours"))->setChecked(true);  // unfolded
    window_->activateWindow();
    wait([this] { return window_->isActiveWindow(); }, 5000);
  }
  QWidget* named(const char* name) { return window_->findChild<QWidget*>(QLatin1String(name)); }
  QImage picture(QWidget* widget) {
    const QRect place(widget->mapTo(window_.get(), QPoint(-3, -3)), widget->size() + QSize(6, 6));
    return window_->grab(place).toImage();
  }

  // What is written down of the window and of a control.
  QString signature(const QWidget* widget) {
    QString all = QString::fromStdString(to_json(window_->studio().sessions().session(), {}));
    if (const auto* view = qobject_cast<const QAbstractItemView*>(widget)) {
      all += QString::number(view->currentIndex().row()) + QLatin1Char(' ') +
             QString::number(view->currentIndex().column());
    } else if (const auto* combo = qobject_cast<const QComboBox*>(widget)) {
      all += combo->currentText();
    } else if (const auto* spin = qobject_cast<const QAbstractSpinBox*>(widget)) {
      all += spin->text();
    } else if (const auto* button = qobject_cast<const QAbstractButton*>(widget)) {
      all += button->isChecked() ? QStringLiteral("on") : QStringLiteral("off");
    } else if (const auto* line = qobject_cast<const QLineEdit*>(widget)) {
      all += line->text();
    } else if (const auto* box = qobject_cast<const QGroupBox*>(widget)) {
      all += box->isChecked() ? QStringLiteral("open") : QStringLiteral("folded");
    }
    return all;
  }
  static QList<int> keys_of(const QWidget* widget) {
    if (qobject_cast<const QAbstractButton*>(widget) != nullptr) {
      return {Qt::Key_Space};
    }
    if (qobject_cast<const QLineEdit*>(widget) != nullptr || qobject_cast<const QPlainTextEdit*>(widget) != nullptr) {
      return {Qt::Key_1};
    }
    if (qobject_cast<const QAbstractSlider*>(widget) != nullptr || qobject_cast<const TokenStrip*>(widget) != nullptr) {
      return {Qt::Key_Right, Qt::Key_Left};
    }
    return {Qt::Key_Down, Qt::Key_Up, Qt::Key_Space};
  }
};

TEST_F(WindowKeyboard, TabComesToEveryControlAndShowsWhereItIs) {
  const QList<QWidget*> wanted = controls(window_.get());
  ASSERT_GT(wanted.size(), 25);
  // Tab's own order.
  QSet<QWidget*> chain;
  for (QWidget* at = named("view"); at != nullptr && !chain.contains(at); at = at->nextInFocusChain()) {
    chain.insert(at);
  }
  for (QWidget* each : wanted) {
    EXPECT_TRUE(chain.contains(each)) << "Tab does not come to " << description(each).toStdString();
    if (each == named("canvas-holder")) {
      continue;
    }
    for (QWidget* around = each->parentWidget(); around != nullptr; around = around->parentWidget()) {
      if (auto* scroll = qobject_cast<QScrollArea*>(around)) {
        scroll->ensureWidgetVisible(each);  // as Tab itself does
      }
    }
    each->setFocus(Qt::TabFocusReason);
    EXPECT_TRUE(wait([&] { return each->hasFocus(); })) << "the window has lost the keyboard";
    const QImage with = picture(each);
    (each == named("layer") ? named("head") : named("layer"))->setFocus(Qt::TabFocusReason);
    wait([] { return false; }, 20);
    EXPECT_TRUE(with != picture(each)) << "the focus is not seen at " << description(each).toStdString();
  }
  // The canvas is a window of its own, which is told.
  QFocusEvent in(QEvent::FocusIn, Qt::TabFocusReason);
  QCoreApplication::sendEvent(named("canvas-holder"), &in);
  EXPECT_TRUE(window_->canvas()->focus_shown());
  // Through the instruments on it, each of which says what it is, and on to the next control.
  auto* holder = named("canvas-holder");
  int instruments = 0;
  for (press(window_->canvas(), Qt::Key_Tab); !holder->accessibleDescription().isEmpty() && instruments < 10;
       press(window_->canvas(), Qt::Key_Tab)) {
    ++instruments;
  }
  EXPECT_GE(instruments, 2);  // the colour bar and the heads
  EXPECT_LT(instruments, 10);
  EXPECT_NE(QApplication::focusWidget(), holder);
  QFocusEvent out(QEvent::FocusOut, Qt::TabFocusReason);
  QCoreApplication::sendEvent(window_->canvas(), &out);
  EXPECT_FALSE(window_->canvas()->focus_shown());
}

// Options of the views have their own test, the canvas its keys below.
TEST_F(WindowKeyboard, EveryControlIsOperatedByKeys) {
  bool opened = false;
  QTimer answer;  // dialogs and menus that open
  QObject::connect(&answer, &QTimer::timeout, &answer, [&] {
    QWidget* shown = QApplication::activePopupWidget();
    shown = shown == nullptr ? QApplication::activeModalWidget() : shown;
    for (QWidget* each : QApplication::topLevelWidgets()) {
      const bool dialog = qobject_cast<QDialog*>(each) != nullptr && each->isVisible();
      shown = shown == nullptr && dialog ? each : shown;
    }
    if (shown != nullptr) {
      opened = true;
      shown->close();
    }
  });
  answer.start(10);
  QList<QPointer<QWidget>> list;
  for (QWidget* each : controls(window_.get())) {
    if (!named("options")->isAncestorOf(each) && each != named("canvas-holder")) {
      list << each;
    }
  }
  const session::Session before = window_->studio().sessions().session();
  int operated = 0;
  for (const QPointer<QWidget>& each : list) {
    if (!each || !each->isVisible() || !each->isEnabled()) {
      continue;  // of what another has changed
    }
    const std::string name = description(each).toStdString();
    each->setFocus(Qt::TabFocusReason);
    bool changed = false;
    for (const int key : keys_of(each)) {
      if (!each || changed) {
        break;
      }
      opened = false;
      const QString was = signature(each);
      press(each, key, key == Qt::Key_1 ? QStringLiteral("1") : key == Qt::Key_Space ? QStringLiteral(" ") : QString());
      if (each && key == Qt::Key_1) {
        press(each, Qt::Key_Return, QStringLiteral("\r"));
      }
      changed = wait([&] { return opened || !each || signature(each) != was; }, 3000);
    }
    // Those that do what is already so, or show no more than is there.
    const bool still = name.find("token-strip") == std::string::npos &&
                       (name.find("QTableWidget") != std::string::npos || name.find("copy") != std::string::npos);
    EXPECT_TRUE(changed || still) << name;
    operated += changed ? 1 : 0;
    if (auto* box = qobject_cast<QGroupBox*>(each.data())) {
      box->setChecked(true);  // for the controls within it
    }
    window_->studio().cancel();
    window_->studio().sessions().restore(before);
    ASSERT_TRUE(settle()) << name;
  }
  EXPECT_GT(operated, 20);
}

TEST_F(WindowKeyboard, TheCanvasIsOperatedByKeys) {
  const auto state = [this] { return window_->studio().state(); };
  press(window_->canvas(), Qt::Key_Down);
  EXPECT_EQ(state().layer, 1);
  press(window_->canvas(), Qt::Key_Right);
  EXPECT_EQ(state().head, 1);
  press(window_->canvas(), Qt::Key_U);
  EXPECT_TRUE(window_->studio().checkpoints().shown()[0]->entry.own);
  press(window_->canvas(), Qt::Key_U);
  press(window_->canvas(), Qt::Key_0, {}, Qt::ControlModifier);
  EXPECT_TRUE(state().camera.has_value());
  press(window_->canvas(), Qt::Key_F);
  EXPECT_FALSE(state().camera.has_value());
  window_->studio().pin(6, 4);
  press(window_->canvas(), Qt::Key_Escape);
  EXPECT_EQ(state().query, views::kNone);
  ASSERT_TRUE(settle());
}

TEST_F(WindowKeyboard, EveryControlHasANameToBeSaid) {
  EXPECT_EQ(unnamed(window_.get()).join(QStringLiteral(", ")).toStdString(), "");
  for (const views::View* view : views::views()) {  // their options
    session::ViewState state = window_->studio().state();
    state.view = view->info().name;
    window_->studio().change(state);
    EXPECT_EQ(unnamed(window_.get()).join(QStringLiteral(", ")).toStdString(), "") << view->info().name;
  }
  window_->studio().cancel();
  window_->studio().inputs().set_ids({1, 2, 3});
  ASSERT_TRUE(settle());
  EXPECT_EQ(unnamed(window_.get()).join(QStringLiteral(", ")).toStdString(), "");  // the editor of ids
}

// Those that wait for an answer are looked at from a timer, as they open.
TEST_F(WindowKeyboard, ControlsOfDialogsHaveNamesToo) {
  QSet<QString> looked;
  QStringList nameless;
  QTimer look;
  QObject::connect(&look, &QTimer::timeout, &look, [&] {
    for (QWidget* each : QApplication::topLevelWidgets()) {
      if (qobject_cast<QDialog*>(each) == nullptr || !each->isVisible()) {
        continue;
      }
      looked.insert(each->objectName());
      for (const QString& name : unnamed(each)) {
        nameless << each->objectName() + QStringLiteral(": ") + name;
      }
      each->close();
    }
  });
  look.start(30);
  const auto trigger = [this](const QString& text) {
    for (QAction* action : window_->findChildren<QAction*>()) {
      if (action->text().remove(QLatin1Char('&')).startsWith(text)) {
        action->trigger();
        wait([] { return false; }, 200);
        return true;
      }
    }
    return false;
  };
  for (const char* text : {"Export figure", "Export data", "Preferences", "Open from the hub", "Any command",
                           "Getting started", "About Locus", "Messages"}) {
    EXPECT_TRUE(trigger(QLatin1String(text))) << text;
  }
  for (const char* button : {"run-what-if", "edit-runs"}) {
    window_->findChild<QAbstractButton*>(QLatin1String(button))->click();
    wait([] { return false; }, 200);
  }
  EXPECT_GE(looked.size(), 5) << QStringList(looked.begin(), looked.end()).join(QStringLiteral(" ")).toStdString();
  EXPECT_EQ(nameless.join(QStringLiteral(", ")).toStdString(), "");
  window_->studio().cancel();
  ASSERT_TRUE(settle());
}

}  // namespace
}  // namespace locus::workbench
