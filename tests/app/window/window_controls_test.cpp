// What keys, wheel and bar do to the view.
#include "tests/support/window.h"

#include <QCheckBox>
#include <QDockWidget>
#include <QMenu>
#include <QMenuBar>
#include <QMouseEvent>
#include <QWheelEvent>
#include <algorithm>

#include "app/workbench/window/palette_sources.h"

namespace locus::workbench {
namespace {

class WindowControls : public WindowTest {};

TEST_F(WindowControls, UndoWorksAfterItsMenuWasSeen) {
  open("gentle");
  type("one two three");
  ASSERT_TRUE(settle());
  for (QMenu* menu : window_->menuBar()->findChildren<QMenu*>()) {
    Q_EMIT menu->aboutToShow();  // with nothing to undo
  }
  press(window_->canvas(), Qt::Key_Down);
  ASSERT_EQ(window_->studio().state().layer, 1);
  press(window_->canvas(), Qt::Key_Z, {}, Qt::ControlModifier);
  EXPECT_EQ(window_->studio().state().layer, 0);
  press(window_->canvas(), Qt::Key_Z, {}, Qt::ControlModifier | Qt::ShiftModifier);
  EXPECT_EQ(window_->studio().state().layer, 1);
}

// Keys that change nothing leave nothing to undo: one press of Ctrl+Z brings back what was there.
TEST_F(WindowControls, UndoFromTheCanvasUndoesOneStepThatWasSeen) {
  open("gentle");
  type("one two three");
  ASSERT_TRUE(settle());
  press(window_->canvas(), Qt::Key_Down);
  press(window_->canvas(), Qt::Key_Down);
  for (const Qt::Key key : {Qt::Key_Down, Qt::Key_Down, Qt::Key_F, Qt::Key_Escape, Qt::Key_N}) {
    press(window_->canvas(), key);  // the last layer, no camera, no pin, no range
  }
  ASSERT_TRUE(settle());
  ASSERT_EQ(window_->studio().state().layer, 2);
  press(window_->canvas(), Qt::Key_Z, {}, Qt::ControlModifier);
  EXPECT_EQ(window_->studio().state().layer, 1);
  press(window_->canvas(), Qt::Key_Z, {}, Qt::ControlModifier);
  EXPECT_EQ(window_->studio().state().layer, 0);
  ASSERT_TRUE(settle());
}

TEST_F(WindowControls, TurnsOfTheWheelAreOneStepForUndo) {
  open("gentle");
  type("one two three");
  ASSERT_TRUE(settle());
  figure::Hit hit;
  hit.x = 4.5;
  hit.y = 6.5;
  Q_EMIT window_->canvas()->clicked(hit);
  ASSERT_TRUE(settle());
  ASSERT_EQ(window_->studio().state().query, 6);
  ASSERT_TRUE(wait([this] { return window_->canvas()->content().home.has_value(); }));
  const figure::Rect plot = place().plot;
  const QPointF at = QPointF(plot.center_x(), plot.center_y()) / window_->canvas()->devicePixelRatio();
  for (int turn = 0; turn < 3; ++turn) {
    QWheelEvent wheel(at, window_->canvas()->mapToGlobal(at), {}, QPoint(0, 120), Qt::NoButton, Qt::NoModifier,
                      Qt::NoScrollPhase, false);
    QCoreApplication::sendEvent(window_->canvas(), &wheel);
  }
  ASSERT_TRUE(window_->studio().state().camera.has_value());
  window_->studio().undo();
  EXPECT_FALSE(window_->studio().state().camera.has_value());
  EXPECT_EQ(window_->studio().state().query, 6);  // the step before
  ASSERT_TRUE(settle());
}

// The figure moves under a pointer that rests: zoomed out at a corner of what is seen, another cell is there.
TEST_F(WindowControls, TheWheelReportsWhatHasComeUnderThePointer) {
  open("gentle");
  type("one two three");
  session::ViewState state = window_->studio().state();
  state.camera = views::Camera{{6, 8}, {8, 6}};
  window_->studio().change(state);
  ASSERT_TRUE(settle());
  ASSERT_TRUE(wait([this] { return window_->canvas()->content().camera == views::Camera{{6, 8}, {8, 6}}; }));
  const figure::Rect plot = place().plot;
  constexpr double kInside = 16;  // pixels: wider labels of other cells move the plot's edge by a few
  const QPointF at = QPointF(plot.x + kInside, plot.y + kInside) / window_->canvas()->devicePixelRatio();
  const auto send = [&](QEvent* event) { QCoreApplication::sendEvent(window_->canvas(), event); };
  QMouseEvent move(QEvent::MouseMove, at, window_->canvas()->mapToGlobal(at), Qt::NoButton, Qt::NoButton, {});
  send(&move);
  ASSERT_EQ(window_->studio().pointed().key.index, 6);
  for (int turn = 0; turn < 40; ++turn) {
    QWheelEvent wheel(at, window_->canvas()->mapToGlobal(at), {}, QPoint(0, -120), Qt::NoButton, Qt::NoModifier,
                      Qt::NoScrollPhase, false);
    send(&wheel);
  }
  EXPECT_TRUE(wait([this] { return window_->studio().pointed().key.index == 0; }));
  ASSERT_TRUE(settle());
}

TEST_F(WindowControls, TheReferenceIsShownOnlyWhileShiftIsHeldOnTheCanvas) {
  open("gentle");
  open("steep");
  type("one two three");
  ASSERT_TRUE(settle());
  const auto badge = [this] { return window_->canvas()->content().badge; };
  const auto shift = [this](Qt::KeyboardModifiers modifiers) {
    QKeyEvent down(QEvent::KeyPress, Qt::Key_Shift, modifiers | Qt::ShiftModifier);
    QCoreApplication::sendEvent(window_->canvas(), &down);
  };
  shift(Qt::NoModifier);
  EXPECT_EQ(badge(), "reference: steep");  // the last, as of differences
  QFocusEvent away(QEvent::FocusOut);
  QCoreApplication::sendEvent(window_->canvas(), &away);
  EXPECT_EQ(badge(), "");  // Shift is released in another window
  shift(Qt::ControlModifier);
  EXPECT_EQ(badge(), "");  // of a shortcut
}

TEST_F(WindowControls, KeysOfTheTokenStripChooseTheQuery) {
  open("gentle");
  type("one two three");
  ASSERT_TRUE(settle());
  auto* strip = window_->findChild<QWidget*>(QStringLiteral("token-strip"));
  EXPECT_NE(strip->focusPolicy() & Qt::TabFocus, 0);
  const auto query = [this] { return window_->studio().state().query; };
  press(strip, Qt::Key_Right);
  EXPECT_EQ(query(), 0);
  press(strip, Qt::Key_Right);
  EXPECT_EQ(query(), 1);
  press(strip, Qt::Key_End);
  EXPECT_EQ(query(), 12);
  press(strip, Qt::Key_Right);
  EXPECT_EQ(query(), 12);
  press(strip, Qt::Key_Escape);
  EXPECT_EQ(query(), views::kNone);
}

TEST_F(WindowControls, AKeyGoesToTheTextFromWhereverOneIs) {
  auto* dock = window_->findChild<QDockWidget*>(QStringLiteral("input-dock"));
  dock->hide();
  press(window_->canvas(), Qt::Key_L, {}, Qt::ControlModifier);
  EXPECT_TRUE(dock->isVisible());
  EXPECT_EQ(window_->focusWidget()->objectName(), QStringLiteral("editor"));
  window_->studio().inputs().set_ids({1, 2, 3});
  press(window_->canvas(), Qt::Key_L, {}, Qt::ControlModifier);
  EXPECT_EQ(window_->focusWidget()->objectName(), QStringLiteral("ids-editor"));
  ASSERT_TRUE(settle());
}

TEST_F(WindowControls, SamplesSayWhichArePictures) {
  const auto* samples = window_->findChild<QMenu*>(QStringLiteral("samples"));
  if (samples == nullptr) {
    GTEST_SKIP() << "the assets are not beside this program";
  }
  QStringList headings;
  bool pictures = false;
  for (const QAction* action : samples->actions()) {
    if (action->isSeparator()) {
      headings << action->text();
      pictures = action->text() == QStringLiteral("Pictures");
      continue;
    }
    EXPECT_EQ(action->text().endsWith(QStringLiteral("(picture)")), pictures) << action->text().toStdString();
    EXPECT_EQ(!action->icon().isNull(), pictures) << action->text().toStdString();
  }
  EXPECT_EQ(headings, (QStringList{QStringLiteral("Texts"), QStringLiteral("Pictures")}));
}

TEST_F(WindowControls, WhatIsAskedForIsWhatTheModelReads) {
  auto* editor = window_->findChild<QPlainTextEdit*>(QStringLiteral("editor"));
  auto* generate = window_->findChild<QWidget*>(QStringLiteral("generate"));
  EXPECT_FALSE(generate->isEnabled());  // there is no model
  window_->studio().inputs().set_text("");
  open("eyes");
  EXPECT_TRUE(wait([this] { return window_->canvas()->content().message.rfind("Open a picture", 0) == 0; }))
      << window_->canvas()->content().message;
  EXPECT_TRUE(editor->placeholderText().contains(QStringLiteral("pictures")));
  window_->studio().column_actions().remove(window_->studio().checkpoints().all().front().id);
  open("gentle");
  EXPECT_TRUE(wait([this] { return window_->canvas()->content().message.rfind("Type a text", 0) == 0; }))
      << window_->canvas()->content().message;
  EXPECT_TRUE(editor->placeholderText().startsWith(QStringLiteral("Type a text")));
  type("one");
  ASSERT_TRUE(settle());
  EXPECT_TRUE(generate->isEnabled());
  EXPECT_EQ(generate->toolTip(), QStringLiteral("gentle continues the text"));
  // A logit is not divided by a weight.
  session::ViewState state = window_->studio().state();
  session::show_view(state, "distance-profile");
  window_->studio().change(state);
  auto* baseline = window_->findChild<QWidget*>(QStringLiteral("option-baseline"));
  ASSERT_NE(baseline, nullptr);
  EXPECT_TRUE(baseline->isEnabled());
  state.quantity = models::Quantity::kLogit;
  window_->studio().change(state);
  EXPECT_FALSE(baseline->isEnabled());
  const QString why = QStringLiteral("Only weights can be divided: Quantity is logit");
  EXPECT_EQ(baseline->toolTip(), why);
  // Ctrl+K says the same, and why there is nothing to continue.
  const auto found = [](const std::vector<Command>& list, const char* name) {
    const auto at = std::ranges::find(list, QLatin1String(name), &Command::name);
    return at == list.end() ? Command() : *at;
  };
  const Command option = found(option_commands(window_->studio(), *window_), "Option: Relative to uniform");
  EXPECT_FALSE(option.available);
  EXPECT_EQ(option.hint, why);
  auto* input = window_->findChild<QWidget*>(QStringLiteral("input-dock"));
  EXPECT_TRUE(found(button_commands(QStringLiteral("Input: "), *input), "Input: Generate").available);
  window_->studio().inputs().set_ids({1, 2});
  const Command generate_ids = found(button_commands(QStringLiteral("Input: "), *input), "Input: Generate");
  EXPECT_FALSE(generate_ids.available);
  EXPECT_EQ(generate_ids.hint, QStringLiteral("Ids are not continued, texts are"));
  window_->studio().cancel();
  ASSERT_TRUE(settle());
}

TEST_F(WindowControls, OfTwoOptionsThatExcludeEachOtherOneIsOn) {
  open("eyes");
  const QString file = config_.path() + QStringLiteral("/picture.png");
  QImage picture(20, 12, QImage::Format_RGB32);
  picture.fill(Qt::green);
  ASSERT_TRUE(picture.save(file));
  window_->open_path(file.toStdString());
  session::ViewState state = window_->studio().state();
  state.view = "attention-image";
  window_->studio().change(state);
  ASSERT_TRUE(settle());
  const auto box = [this](const char* name) { return window_->findChild<QCheckBox*>(QLatin1String(name)); };
  box("option-all-heads")->click();
  EXPECT_TRUE(box("option-all-heads")->isChecked());
  box("option-rollout")->click();
  EXPECT_TRUE(box("option-rollout")->isChecked());
  EXPECT_FALSE(box("option-all-heads")->isChecked());
  box("option-all-heads")->click();
  EXPECT_FALSE(box("option-rollout")->isChecked());
  window_->studio().undo();  // both in one step
  EXPECT_TRUE(box("option-rollout")->isChecked());
  EXPECT_FALSE(box("option-all-heads")->isChecked());
  window_->studio().cancel();
  ASSERT_TRUE(settle());
}

TEST_F(WindowControls, TheBarShowsWhatTheViewUses) {
  open("gentle");
  open("steep");
  type("one two three");
  ASSERT_TRUE(settle());
  const auto seen = [this](const char* name) { return window_->findChild<QWidget*>(QLatin1String(name))->isVisible(); };
  EXPECT_TRUE(seen("quantity"));
  EXPECT_TRUE(seen("difference"));
  session::ViewState state = window_->studio().state();
  state.view = "heads";
  window_->studio().change(state);
  ASSERT_TRUE(settle());
  EXPECT_FALSE(seen("quantity"));
  EXPECT_FALSE(seen("difference"));
}

}  // namespace
}  // namespace locus::workbench
