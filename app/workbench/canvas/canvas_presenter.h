// CanvasPresenter: builds what the canvas shows from the Studio, whenever the canvas asks for it.
#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>
#include <vector>

#include "app/viewport/canvas.h"
#include "app/workbench/canvas/canvas_actions.h"
#include "app/workbench/canvas/canvas_figure.h"
#include "app/workbench/canvas/canvas_pointer.h"
#include "app/workbench/canvas/canvas_tooltip.h"
#include "app/workbench/canvas/instruments/instrument_set.h"
#include "app/workbench/state/studio.h"

namespace locus::workbench {

class CanvasPresenter : public QObject, public viewport::ContentSource {
  Q_OBJECT

 public:
  CanvasPresenter(Studio& studio, viewport::Canvas& canvas, CanvasFigure& figure, const CanvasPointer& pointer,
                  const CanvasActions& actions, const InstrumentSet& instruments);

  void set_dark(bool dark);
  void set_scale(double scale);  // of text
  void set_captions(bool shown);

  viewport::CanvasContent content() override;
  int wait_ms() override;
  // The part of the latest content() that the instruments need.
  const CanvasSnapshot& snapshot() const { return snapshot_; }

 private:
  void watch_staleness();
  void follow_work();
  std::vector<viewport::Outline> outlines(const views::ViewInput& input) const;

  Studio& studio_;
  viewport::Canvas& canvas_;
  CanvasFigure& figure_;
  const CanvasPointer& pointer_;
  const CanvasActions& actions_;
  const InstrumentSet& instruments_;
  CanvasTooltip tooltip_;
  CanvasSnapshot snapshot_;
  QElapsedTimer stale_;  // runs while the figure is out of date, over any number of runs
  QTimer patience_;
  QElapsedTimer put_off_;  // runs since the first frame that was put off for the figure that is due
  bool late_ = false;      // out of date for so long that the figure is dimmed
  bool dark_ = false;
  double scale_ = 1;
  bool captions_ = true;
};

}  // namespace locus::workbench
