#include "app/workbench/canvas/canvas_link.h"

#include <QWheelEvent>

namespace locus::workbench {

CanvasLink::CanvasLink(Studio& studio, viewport::Canvas& canvas)
    : canvas_(canvas),
      there_(&canvas),
      figure_(studio),
      actions_(studio, figure_),
      pointer_(studio, canvas, figure_, actions_),
      instruments_(studio, canvas),
      keys_(studio, canvas, pointer_, actions_, instruments_),
      presenter_(studio, canvas, figure_, pointer_, actions_, instruments_) {
  connect(&canvas_, &viewport::Canvas::dragged, &actions_, &CanvasActions::drag);
  connect(&canvas_, &viewport::Canvas::lassoed, &actions_, &CanvasActions::lasso);
  connect(&canvas_, &viewport::Canvas::lined, &instruments_, &InstrumentSet::pull_measure);
  connect(&canvas_, &viewport::Canvas::camera_moved, &actions_, &CanvasActions::set_camera);
  connect(&canvas_, &viewport::Canvas::fit_requested, this, [this] {
    if (!keys_.press_in_list(Qt::Key_Return)) {  // a double click on a row of a list opens it
      actions_.fit();
    }
  });
  connect(&canvas_, &viewport::Canvas::resized, &studio.scheduler(), &FigureScheduler::set_canvas_size);
  connect(&canvas_, &viewport::Canvas::content_changed, this, [this] { instruments_.show(presenter_.snapshot()); });
  canvas_.installEventFilter(this);
  canvas_.set_source(&presenter_);
}

CanvasLink::~CanvasLink() {
  if (there_) {
    there_->set_source(nullptr);
  }
}

// The wheel scrolls lists of heads; elsewhere the canvas zooms.
bool CanvasLink::eventFilter(QObject* object, QEvent* event) {
  if (object == &canvas_ && event->type() == QEvent::FocusOut) {
    pointer_.show_reference(false);  // Shift may be released elsewhere, for example in a dialog
    instruments_.leave();
  }
  if (object == &canvas_ && event->type() == QEvent::Wheel) {
    auto* wheel = static_cast<QWheelEvent*>(event);
    const int delta = canvas_.covered(wheel->position()) ? 0 : wheel->angleDelta().y();
    if (delta != 0 && keys_.press_in_list(delta > 0 ? Qt::Key_Up : Qt::Key_Down)) {
      return true;
    }
  }
  return QObject::eventFilter(object, event);
}

}  // namespace locus::workbench
