// WipeLine (W): a vertical line over the maps that can be dragged; left of it each shows its own column, right of it the
// reference on the same axes. For more than a moment, what Shift does while it is held.
#pragma once

#include <functional>
#include <optional>

#include "app/workbench/canvas/instruments/instrument.h"
#include "renderers/figure/figure.h"

namespace locus::workbench {

// The panel with the reference's map from `x` on (data units): whole cells change over. Empty: one of them has no map,
// or they are maps of different cells.
std::optional<figure::Panel> wiped(const figure::Panel& own, const figure::Panel& reference, double x);
// The edge of a cell that is nearest to `x`, where wiped() changes over.
double wipe_edge(const Field& field, double x);

class WipeLine final : public Instrument {
 public:
  // Called after the line has moved, was shown or hidden, outside of frames.
  void set_moved(std::function<void()> moved) { moved_ = std::move(moved); }
  // Where it is, as the camera counts; empty: it is off.
  std::optional<double> at() const { return at_; }

  std::string name() const override { return "wipe"; }
  std::string title() const override { return "Wipe"; }
  int toggle_key() const override { return Qt::Key_W; }
  void toggle(const InstrumentFrame& frame) override;
  bool offered(const InstrumentFrame& frame) const override;
  std::vector<figure::Rect> areas(const InstrumentFrame& frame, const std::vector<figure::Rect>& taken) override;
  void draw(const InstrumentFrame& frame, std::size_t n, const figure::Rect& area) override;
  std::string said(const InstrumentFrame& frame) const override;
  bool press(const InstrumentFrame& frame, const InstrumentKey& key) override;

 private:
  void move(const InstrumentFrame& frame, double x);

  std::optional<double> at_;
  std::vector<std::size_t> panels_;  // of the areas in this frame
  std::function<void()> moved_;
};

}  // namespace locus::workbench
