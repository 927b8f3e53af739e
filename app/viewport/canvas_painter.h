// CanvasPainter: draws one frame's content over the figure with Dear ImGui: outlines, lasso, texts, tooltip, focus
// frame. Call its functions between ImGui's NewFrame and Render, in the order of their declaration.
#pragma once

#include <QPointF>
#include <vector>

#include "app/viewport/canvas_content.h"
#include "app/viewport/placed_figure.h"

namespace locus::viewport {

class CanvasPainter {
 public:
  // `dpr`: device pixels per device-independent pixel. References must live as long as the painter.
  CanvasPainter(const CanvasContent& content, const PlacedFigure& figure, double dpr)
      : content_(content), figure_(figure), dpr_(dpr) {}

  // Dims the figure if it is out of date, then draws the outlines and the tick on the colour bar.
  void draw_marks() const;
  void draw_lasso(const std::vector<QPointF>& lasso) const;
  // Caption, message, badge and note.
  void draw_texts() const;
  // Places the tooltip beside the pointer, within the panel under `pointer` (device-independent pixels) if possible.
  // Returns its rectangle in device pixels.
  figure::Rect draw_tooltip(const QPointF& pointer) const;
  // A frame around the canvas while it has the keyboard's focus.
  void draw_focus() const;

 private:
  void draw_outline(const Outline& outline) const;
  void draw_tick() const;
  void draw_caption() const;
  float off_labels(const figure::Rect& box) const;
  std::vector<figure::Rect> tooltip_areas(const QPointF& pointer) const;

  const CanvasContent& content_;
  const PlacedFigure& figure_;
  const double dpr_;
};

}  // namespace locus::viewport
