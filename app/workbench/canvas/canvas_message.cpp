// What the canvas says in words: what is computed, why there is no figure, what in it is not as it seems.
#include <algorithm>

#include "app/workbench/canvas/canvas_link.h"

namespace locus::workbench {

std::string CanvasLink::work() const {
  if (const auto question = studio_.question()) {
    return question_text(*question) + ".\nRun them, or only the first of them, below.";
  }
  const Worker::State work = studio_.worker().state();
  const std::string what = work.what.empty() ? "Drawing " + studio_.view().info().title : work.what;
  if (!work.progress.what.empty() && work.progress.fraction >= 0) {
    return what + "\n" + work.progress.what;
  }
  constexpr double kWorthCountingMs = 2000;
  return what + (work.elapsed_ms > kWorthCountingMs ? "\nfor " + models::duration_text(work.elapsed_ms) : " …");
}

std::string CanvasLink::message() const {
  if (late_) {
    return work();
  }
  if (studio_.scheduler().figure()) {
    return {};
  }
  if (studio_.question()) {
    return work();
  }
  if (studio_.scheduler().error() && !studio_.checkpoints().waiting()) {
    return studio_.scheduler().error()->describe();
  }
  if (studio_.checkpoints().all().empty()) {
    return "Open a checkpoint: drop a folder here, or press Ctrl+O.";
  }
  if (studio_.checkpoints().waiting()) {
    return work();
  }
  for (const Checkpoint& each : studio_.checkpoints().all()) {
    if (each.entry.shown && each.error) {
      return each.error->code == ErrorCode::kCancelled
                 ? "The run was cancelled. Press R to start it again, or change the input."
                 : each.error->describe();
    }
  }
  if (!studio_.checkpoints().shown().empty()) {
    return work();  // the first figure of these runs
  }
  const bool any = std::any_of(studio_.checkpoints().all().begin(), studio_.checkpoints().all().end(),
                               [](const Checkpoint& each) { return each.entry.shown; });
  const auto& text = studio_.input().text;
  if (any && text && !text->empty()) {
    return work();  // it has just been typed
  }
  return any ? "Type a text below: the model runs on it as you type."
             : "Check a checkpoint on the left to see it here.";
}

// Says what in the figure is not as it seems.
std::string CanvasLink::note() const {
  if (!studio_.scheduler().figure() || late_) {
    return {};
  }
  if (studio_.scheduler().is_early()) {
    const Worker::State work = studio_.worker().state();
    return "layer " + std::to_string(studio_.scheduler().figure_state().layer) +
           " of a run that goes on: " + work.progress.what;
  }
  return studio_.checkpoints().behind() && !studio_.checkpoints().waiting()
             ? "the map of the input before: the run was cancelled, R starts it again"
             : "";
}

}  // namespace locus::workbench
