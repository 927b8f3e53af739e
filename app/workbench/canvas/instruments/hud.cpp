#include "app/workbench/canvas/instruments/hud.h"

#include <algorithm>

#include "app/workbench/canvas/instruments/free_places.h"
#include "app/workbench/canvas/instruments/instruments.h"
#include "app/workbench/canvas/instruments/paint.h"
#include "core/base/numbers.h"

namespace locus::workbench {

namespace {

constexpr double kGraphLines = 3;       // its height
constexpr float kUsualFrameMs = 16.7F;  // of 60 frames a second: the graph's height, at least
constexpr double kLetters = 10;         // its width, in heights of a letter: it does not tremble with its numbers

// "llvmpipe" of "llvmpipe (LLVM 15.0.6, 256 bits)".
std::string short_name(const std::string& gpu) {
  return gpu.substr(0, gpu.find(" ("));
}

}  // namespace

std::vector<std::string> hud_lines(const viewport::FrameCost& cost, const FrameTimes& times, const KeptMemory& kept) {
  const auto mb = [](double value) { return fixed_text(value, value < 10 ? 1 : 0) + " MB"; };
  const auto ms = [](double value) { return fixed_text(value, 1) + " ms"; };
  return {"frame " + ms(cost.cpu_ms),
          "median " + ms(times.median()),
          "longest " + ms(times.longest()),
          "overlay " + fixed_text(cost.overlay_ms, 2) + " ms",
          std::to_string(cost.draws) + (cost.draws == 1 ? " draw" : " draws"),
          "uploaded " + mb(cost.uploaded_mb),
          std::to_string(cost.waiting) + (cost.waiting == 1 ? " tile waits" : " tiles wait"),
          short_name(cost.gpu),
          "GPU " + fixed_text(cost.gpu_mb, 0) + " of " + mb(cost.gpu_total_mb),
          "cache " + std::to_string(kept.cache_mb) + " of " + std::to_string(kept.limit_mb) + " MB",
          "runs " + std::to_string(kept.runs_mb) + " MB"};
}

void Hud::add(const viewport::FrameCost& cost) {
  if (held_) {
    return;
  }
  cost_ = cost;
  times_.add(cost.cpu_ms);
}

void Hud::toggle(const InstrumentFrame& /*frame*/) {
  shown_ = !shown_;
  held_ = false;
}

bool Hud::toggle_with_shift(const InstrumentFrame& /*frame*/) {
  held_ = shown_ && !held_;
  return shown_;
}

bool Hud::offered(const InstrumentFrame& /*frame*/) const {
  return shown_;
}

std::vector<figure::Rect> Hud::areas(const InstrumentFrame& frame, const std::vector<figure::Rect>& taken) {
  const Studio& studio = frame.studio;
  lines_ =
      hud_lines(cost_, times_,
                {studio.scheduler().memory_mb(), FigureScheduler::memory_limit_mb(), studio.checkpoints().memory_mb()});
  figure::Rect box = paint::box_of(frame, lines_);
  box.width = std::max(box.width, frame.canvas.text * kLetters);
  box.height += kGraphLines * frame.line();
  return {place_or_corner({box.width, box.height}, {frame.canvas.width, frame.canvas.height}, frame.pad(), taken)};
}

void Hud::draw(const InstrumentFrame& frame, std::size_t /*n*/, const figure::Rect& area) {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  paint::box(frame, list, area, lines_);
  const std::vector<float> times = times_.list();
  const double height = kGraphLines * frame.line() - frame.pad();
  ImGui::SetCursorScreenPos(paint::at(area.x + frame.pad(), area.bottom() - height - frame.pad()));
  ImGui::PlotLines("##frames", times.data(), static_cast<int>(times.size()), 0, nullptr, 0,
                   std::max(kUsualFrameMs, static_cast<float>(times_.longest())),
                   paint::at(area.width - 2 * frame.pad(), height));
}

std::string Hud::said(const InstrumentFrame& /*frame*/) const {
  return "median " + fixed_text(times_.median(), 1) + " ms; " + cost_.gpu;
}

std::unique_ptr<Instrument> make_hud() {
  return std::make_unique<Hud>();
}

}  // namespace locus::workbench
