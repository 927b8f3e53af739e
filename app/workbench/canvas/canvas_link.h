// CanvasLink: connects the Studio and the Canvas. It owns one object for each part of that: the figure as it is shown,
// the actions, the pointer, the instruments, the keys, and the presenter, which the canvas asks for its content.
#pragma once

#include <QObject>
#include <QPointer>

#include "app/viewport/canvas.h"
#include "app/workbench/canvas/canvas_actions.h"
#include "app/workbench/canvas/canvas_figure.h"
#include "app/workbench/canvas/canvas_keys.h"
#include "app/workbench/canvas/canvas_pointer.h"
#include "app/workbench/canvas/canvas_presenter.h"
#include "app/workbench/canvas/instruments/instrument_set.h"
#include "app/workbench/state/studio.h"

namespace locus::workbench {

class CanvasLink : public QObject {
  Q_OBJECT

 public:
  CanvasLink(Studio& studio, viewport::Canvas& canvas);
  ~CanvasLink() override;

  CanvasActions& actions() { return actions_; }
  CanvasPointer& pointer() { return pointer_; }
  CanvasKeys& keys() { return keys_; }
  CanvasPresenter& presenter() { return presenter_; }
  InstrumentSet& instruments() { return instruments_; }

 protected:
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  viewport::Canvas& canvas_;
  const QPointer<viewport::Canvas> there_;  // null once the canvas is destroyed
  CanvasFigure figure_;
  CanvasActions actions_;
  CanvasPointer pointer_;
  InstrumentSet instruments_;
  CanvasKeys keys_;
  CanvasPresenter presenter_;
};

}  // namespace locus::workbench
