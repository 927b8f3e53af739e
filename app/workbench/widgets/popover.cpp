#include "app/workbench/widgets/popover.h"

#include <QEvent>
#include <QKeyEvent>
#include <QScreen>
#include <algorithm>

namespace locus::workbench {

Popover::Popover(QWidget& anchor) : QFrame(&anchor, Qt::Popup), anchor_(anchor) {
  setFrameShape(QFrame::StyledPanel);
  setAttribute(Qt::WA_NoMouseReplay);  // the click on the button that closes it does not open it again
}

void Popover::open() {
  adjustSize();
  place();
  show();
  QWidget* first = nextInFocusChain();
  while (first != this && (!isAncestorOf(first) || first->focusPolicy() == Qt::NoFocus || !first->isVisible())) {
    first = first->nextInFocusChain();
  }
  first->setFocus(Qt::PopupFocusReason);
}

void Popover::place() {
  const QRect from(anchor_.mapToGlobal(QPoint(0, 0)), anchor_.size());
  const QRect screen = anchor_.screen()->availableGeometry();
  const int above = from.top() - height();
  const int left = std::clamp(from.right() - width(), screen.left(), std::max(screen.left(), screen.right() - width()));
  move(left, above >= screen.top() ? above : from.bottom());
}

void Popover::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Escape) {
    hide();
    anchor_.setFocus(Qt::PopupFocusReason);
    return;
  }
  QFrame::keyPressEvent(event);
}

bool Popover::event(QEvent* event) {
  const bool handled = QFrame::event(event);
  if (event->type() == QEvent::LayoutRequest && isVisible()) {
    adjustSize();
    place();
  }
  return handled;
}

void open_popover_of(QWidget& control) {
  for (QWidget* parent = control.parentWidget(); parent != nullptr; parent = parent->parentWidget()) {
    if (auto* popover = dynamic_cast<Popover*>(parent)) {
      popover->open();
      return;
    }
  }
}

}  // namespace locus::workbench
