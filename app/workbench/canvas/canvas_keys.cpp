// What keys do to the canvas.
#include <QKeyEvent>

#include "app/workbench/canvas/canvas_link.h"

namespace locus::workbench {

// In a list of heads the keys walk through it.
bool CanvasLink::press_in_list(int key) {
  constexpr std::int64_t kPage = 10;
  constexpr std::int64_t kFar = 1 << 20;
  std::int64_t by = 0;
  switch (key) {
    case Qt::Key_Up:
      by = -1;
      break;
    case Qt::Key_Down:
      by = 1;
      break;
    case Qt::Key_PageUp:
      by = -kPage;
      break;
    case Qt::Key_PageDown:
      by = kPage;
      break;
    case Qt::Key_Home:
      by = -kFar;
      break;
    case Qt::Key_End:
      by = kFar;
      break;
    case Qt::Key_Return:
    case Qt::Key_Enter:
      break;
    default:
      return false;
  }
  const views::ViewInput input = studio_.view_input();
  auto step = input.columns.empty() ? std::nullopt : studio_.view().step(input, by);
  if (!step) {
    return false;
  }
  step->open = by == 0;
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
  switch (key) {
    case Qt::Key_Left:
      move_head(-1);
      return true;
    case Qt::Key_Right:
      move_head(1);
      return true;
    case Qt::Key_Up:
      move_layer(-1);
      return true;
    case Qt::Key_Down:
      move_layer(1);
      return true;
    case Qt::Key_F:
      fit();
      return true;
    case Qt::Key_N:
      normalise_range();
      return true;
    case Qt::Key_R:
      reset();
      return true;
    case Qt::Key_U:
      toggle_unlinked();
      return true;
    case Qt::Key_Escape:
      unpin();
      return true;
    case Qt::Key_Tab:
    case Qt::Key_Backtab:
      Q_EMIT tab_pressed(key == Qt::Key_Tab);
      return true;
    case Qt::Key_Question:
      Q_EMIT help_requested();
      return true;
    default:
      break;
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
    set_flicker(!control && !alt);  // else it belongs to a shortcut
    return;
  }
  set_flicker(false);
  if (instruments_.press(*event)) {
    return;
  }
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
