// Drag: the left mouse button on a figure, from press to release. Points are device-independent pixels of the canvas.
#pragma once

#include <QPointF>
#include <optional>
#include <vector>

#include "app/viewport/placed_figure.h"

namespace locus::viewport {

class Drag {
 public:
  enum class Kind {
    kPlain,  // moves the camera, draws a lasso, or is reported as a drag, depending on the figure
    kBox,    // with Ctrl
    kLine,   // with Alt
  };
  struct Release {
    QPointF from;
    Kind kind = Kind::kPlain;
    bool moved = false;          // false: a click
    std::vector<QPointF> lasso;  // empty: none was drawn
  };

  void press(const QPointF& at, Kind kind);
  bool pressed() const { return press_.has_value(); }
  const QPointF& from() const { return *press_; }
  Kind kind() const { return kind_; }
  // Whether the pointer has moved far enough since press() to be a drag and not a click.
  bool move(const QPointF& at);
  std::optional<Release> release();
  void cancel();

  // The latest position of the pointer; while the button is pressed, the latest one the camera has followed to.
  const QPointF& last() const { return last_; }
  void set_last(const QPointF& at) { last_ = at; }

  void extend_lasso(const QPointF& to);
  const std::vector<QPointF>& lasso() const { return lasso_; }

 private:
  std::optional<QPointF> press_;
  QPointF last_;
  Kind kind_ = Kind::kPlain;
  bool moved_ = false;
  std::vector<QPointF> lasso_;
};

// The closed loop as points of the panel where it begins, at most four pixels apart: a straight line on the screen is
// not straight on every axis. Empty: it does not begin on a panel.
std::vector<figure::Hit> lasso_hits(const std::vector<QPointF>& lasso, const PlacedFigure& figure, double dpr);

}  // namespace locus::viewport
