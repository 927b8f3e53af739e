// What keys do to the canvas.
#include <QKeyEvent>
#include <algorithm>
#include <array>
#include <utility>

#include "app/workbench/canvas/canvas_link.h"

namespace locus::workbench {

// In a list of heads the keys walk through it.
bool CanvasLink::press_in_list(int key) {
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
  choose(*step);
  return true;
}

bool CanvasLink::press_edit(int key) {
  const views::ViewInput input = studio_.view_input();
  if ((key != Qt::Key_Return && key != Qt::Key_Enter) || input.columns.empty()) {
    return false;
  }
  const auto edit =
      studio_.view().edit_of_cell(input, hover_.layer.value_or(input.layer), hover_.head.value_or(input.head));
  if (edit) {
    Q_EMIT edit_chosen(static_cast<std::size_t>(hover_.column.value_or(static_cast<std::int64_t>(column_))), *edit);
  }
  return edit.has_value();
}

bool CanvasLink::press_plain(int key) {
  if (press_in_list(key) || press_edit(key)) {
    return true;
  }
  using Run = void (*)(CanvasLink&);
  static constexpr std::array<std::pair<int, Run>, 12> kRuns = {
      {{Qt::Key_Left, [](CanvasLink& link) { link.move_head(-1); }},
       {Qt::Key_Right, [](CanvasLink& link) { link.move_head(1); }},
       {Qt::Key_Up, [](CanvasLink& link) { link.move_layer(-1); }},
       {Qt::Key_Down, [](CanvasLink& link) { link.move_layer(1); }},
       {Qt::Key_F, [](CanvasLink& link) { link.fit(); }},
       {Qt::Key_N, [](CanvasLink& link) { link.normalise_range(); }},
       {Qt::Key_R, [](CanvasLink& link) { link.reset(); }},
       {Qt::Key_U, [](CanvasLink& link) { link.toggle_unlinked(); }},
       {Qt::Key_Escape, [](CanvasLink& link) { link.unpin(); }},
       {Qt::Key_Tab, [](CanvasLink& link) { link.tab_pressed(true); }},
       {Qt::Key_Backtab, [](CanvasLink& link) { link.tab_pressed(false); }},
       {Qt::Key_Question, [](CanvasLink& link) { link.help_requested(); }}}};
  if (const auto found = std::ranges::find(kRuns, key, &std::pair<int, Run>::first); found != kRuns.end()) {
    found->second(*this);
    return true;
  }
  if (key >= Qt::Key_1 && key <= Qt::Key_9) {
    set_column(static_cast<std::size_t>(key - Qt::Key_1));
    return true;
  }
  return false;
}

void CanvasLink::press(QKeyEvent* event) {
  const bool control = event->modifiers().testFlag(Qt::ControlModifier);
  const bool alt = event->modifiers().testFlag(Qt::AltModifier);
  if (event->key() == Qt::Key_Shift) {
    set_flicker(!control && !alt && !studio_.view().info().uses_lasso);  // else it belongs to a shortcut, or to a lasso
    return;
  }
  set_flicker(false);
  if (!instruments_.press(*event)) {
    press_unused(event);
  }
}

// What is no instrument's.
void CanvasLink::press_unused(QKeyEvent* event) {
  const bool control = event->modifiers().testFlag(Qt::ControlModifier);
  const bool alt = event->modifiers().testFlag(Qt::AltModifier);
  const bool menu_key =
      event->key() == Qt::Key_Menu || (event->key() == Qt::Key_F10 && event->modifiers().testFlag(Qt::ShiftModifier));
  if (menu_key) {
    ask_menu(std::nullopt, canvas_.mapToGlobal(QPoint(canvas_.width() / 2, canvas_.height() / 2)));
  } else if (control && event->key() == Qt::Key_0) {
    canvas_.zoom_to_cells();
  } else if (control || alt || !press_plain(event->key())) {
    Q_EMIT key_unused(event);
  }
}

void CanvasLink::release(QKeyEvent* event) {
  if (event->key() == Qt::Key_Shift) {
    set_flicker(false);
  }
}

}  // namespace locus::workbench
