#include "app/workbench/canvas/canvas_keys.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QKeyEvent>
#include <algorithm>
#include <array>
#include <utility>

namespace locus::workbench {

CanvasKeys::CanvasKeys(Studio& studio, viewport::Canvas& canvas, CanvasPointer& pointer, CanvasActions& actions,
                       InstrumentSet& instruments)
    : studio_(studio), canvas_(canvas), pointer_(pointer), actions_(actions), instruments_(instruments) {
  connect(&canvas_, &viewport::Canvas::key_pressed, this, &CanvasKeys::press);
  connect(&canvas_, &viewport::Canvas::key_released, this, &CanvasKeys::release);
  connect(&instruments_, &InstrumentSet::unused, this, &CanvasKeys::press_unused);
}

bool CanvasKeys::press_in_list(int key) {
  constexpr std::int64_t kPage = 10;
  constexpr std::int64_t kFar = 1 << 20;
  constexpr std::array<std::pair<int, std::int64_t>, 8> kSteps = {{{Qt::Key_Up, -1},
                                                                   {Qt::Key_Down, 1},
                                                                   {Qt::Key_PageUp, -kPage},
                                                                   {Qt::Key_PageDown, kPage},
                                                                   {Qt::Key_Home, -kFar},
                                                                   {Qt::Key_End, kFar},
                                                                   {Qt::Key_Return, 0},
                                                                   {Qt::Key_Enter, 0}}};
  const auto found = std::ranges::find(kSteps, key, &std::pair<int, std::int64_t>::first);
  const views::ViewInput input = studio_.view_input();
  if (found == kSteps.end() || input.columns.empty()) {
    return false;
  }
  auto step = studio_.view().step(input, found->second);
  if (!step) {
    return false;
  }
  step->open = found->second == 0;
  actions_.choose(*step);
  return true;
}

bool CanvasKeys::press_edit(int key) {
  const views::ViewInput input = studio_.view_input();
  if ((key != Qt::Key_Return && key != Qt::Key_Enter) || input.columns.empty()) {
    return false;
  }
  const views::Selection& pointed = pointer_.selection();
  const auto column = static_cast<std::size_t>(pointed.column.value_or(static_cast<std::int64_t>(actions_.column())));
  const views::HeadRef shown = views::head_of_column(input, column);
  const auto edit =
      studio_.view().edit_of_cell(input, pointed.layer.value_or(shown.layer), pointed.head.value_or(shown.head));
  if (edit) {
    Q_EMIT edit_chosen(column, *edit);
  }
  return edit.has_value();
}

bool CanvasKeys::press_plain(int key) {
  if (press_in_list(key) || press_edit(key)) {
    return true;
  }
  using Run = void (*)(CanvasKeys&);
  static constexpr std::array<std::pair<int, Run>, 12> kRuns = {
      {{Qt::Key_Left, [](CanvasKeys& keys) { keys.actions_.move_head(-1); }},
       {Qt::Key_Right, [](CanvasKeys& keys) { keys.actions_.move_head(1); }},
       {Qt::Key_Up, [](CanvasKeys& keys) { keys.actions_.move_layer(-1); }},
       {Qt::Key_Down, [](CanvasKeys& keys) { keys.actions_.move_layer(1); }},
       {Qt::Key_F, [](CanvasKeys& keys) { keys.actions_.fit(); }},
       {Qt::Key_N, [](CanvasKeys& keys) { keys.actions_.normalise_range(); }},
       {Qt::Key_R, [](CanvasKeys& keys) { keys.actions_.reset(); }},
       {Qt::Key_U, [](CanvasKeys& keys) { keys.actions_.toggle_unlinked(); }},
       {Qt::Key_Escape, [](CanvasKeys& keys) { keys.leave(); }},
       {Qt::Key_Tab, [](CanvasKeys& keys) { keys.tab_pressed(true); }},
       {Qt::Key_Backtab, [](CanvasKeys& keys) { keys.tab_pressed(false); }},
       {Qt::Key_Question, [](CanvasKeys& keys) { keys.help_requested(); }}}};
  if (const auto found = std::ranges::find(kRuns, key, &std::pair<int, Run>::first); found != kRuns.end()) {
    found->second(*this);
    return true;
  }
  if (key >= Qt::Key_1 && key <= Qt::Key_9) {
    actions_.set_column(static_cast<std::size_t>(key - Qt::Key_1));
    return true;
  }
  return false;
}

// Esc removes the pinned cell first.
void CanvasKeys::leave() {
  const bool pinned = studio_.state().query.chosen();
  actions_.unpin();
  if (!pinned) {
    Q_EMIT left();
  }
}

void CanvasKeys::press(QKeyEvent* event) {
  const bool control = event->modifiers().testFlag(Qt::ControlModifier);
  const bool alt = event->modifiers().testFlag(Qt::AltModifier);
  if (event->key() == Qt::Key_Shift) {
    pointer_.show_reference(!control && !alt &&
                            !studio_.view().info().uses_lasso);  // else it is part of a shortcut or a lasso
    return;
  }
  pointer_.show_reference(false);
  if (!instruments_.press(*event)) {
    press_unused(event);
  }
}

// Handles a key that no instrument has used.
void CanvasKeys::press_unused(QKeyEvent* event) {
  const bool control = event->modifiers().testFlag(Qt::ControlModifier);
  const bool alt = event->modifiers().testFlag(Qt::AltModifier);
  const bool menu_key =
      event->key() == Qt::Key_Menu || (event->key() == Qt::Key_F10 && event->modifiers().testFlag(Qt::ShiftModifier));
  if (menu_key) {
    pointer_.request_menu(std::nullopt, canvas_.mapToGlobal(QPoint(canvas_.width() / 2, canvas_.height() / 2)));
  } else if (event->key() == Qt::Key_U && event->modifiers() == Qt::ShiftModifier) {
    actions_.toggle_by_depth();
  } else if (control && event->key() == Qt::Key_0) {
    canvas_.zoom_to_cells();
  } else if (event->key() == Qt::Key_C && event->modifiers() == Qt::ControlModifier &&
             !canvas_.content().tooltip.empty()) {
    QGuiApplication::clipboard()->setText(QString::fromStdString(canvas_.content().tooltip.text()));
  } else if (control || alt || !press_plain(event->key())) {
    Q_EMIT key_unused(event);
  }
}

void CanvasKeys::release(QKeyEvent* event) {
  if (event->key() == Qt::Key_Shift) {
    pointer_.show_reference(false);
  }
}

}  // namespace locus::workbench
