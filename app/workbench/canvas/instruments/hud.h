// Hud: the cost of frames (F12): a graph of their times, uploads, GPU and its memory, caches.
#pragma once

#include "app/workbench/canvas/instruments/frame_times.h"
#include "app/workbench/canvas/instruments/instrument.h"

namespace locus::workbench {

// Memory kept by the program.
struct KeptMemory {
  std::int64_t cache_mb = 0;  // cached fields and measurements
  std::int64_t limit_mb = 0;  // of the cache
  std::int64_t runs_mb = 0;
};
std::vector<std::string> hud_lines(const viewport::FrameCost& cost, const FrameTimes& times, const KeptMemory& kept);

class Hud final : public Instrument {
 public:
  void add(const viewport::FrameCost& cost);

  std::string name() const override { return "hud"; }
  std::string title() const override { return "Frame times"; }
  bool offered(const InstrumentFrame& frame) const override;
  std::vector<figure::Rect> areas(const InstrumentFrame& frame, const std::vector<figure::Rect>& taken) override;
  void draw(const InstrumentFrame& frame, std::size_t n, const figure::Rect& area) override;
  std::string said(const InstrumentFrame& frame) const override;
  bool takes_keys() const override { return false; }
  int toggle_key() const override { return Qt::Key_F12; }
  void toggle(const InstrumentFrame& frame) override;
  // Freezes the numbers, or lets them continue.
  bool toggle_with_shift(const InstrumentFrame& frame) override;

 private:
  bool shown_ = false;
  bool held_ = false;
  FrameTimes times_;
  viewport::FrameCost cost_;
  std::vector<std::string> lines_;
};

}  // namespace locus::workbench
