#include "app/workbench/canvas/canvas_messages.h"

#include <algorithm>

#include "app/workbench/state/edit_actions.h"

namespace locus::workbench {

namespace {

// Describes the running work and how long it has taken.
std::string work(Studio& studio) {
  if (const auto question = studio.checkpoints().question()) {
    return question_text(*question) + ".\nRun them, or only the first of them, below.";
  }
  const Worker::State state = studio.worker().state();
  const std::string what = state.what.empty() ? "Drawing " + studio.view().info().title : state.what;
  if (!state.progress.what.empty() && state.progress.fraction >= 0) {
    return what + "\n" + state.progress.what;
  }
  constexpr double kWorthCountingMs = 2000;
  return what + (state.elapsed_ms > kWorthCountingMs ? "\nfor " + models::duration_text(state.elapsed_ms) : " …");
}

std::string what_to_give(const Studio& studio) {
  switch (studio.checkpoints().reads()) {
    case CheckpointList::Reads::kPicture:
      return "Open a picture: drop one here, or choose one of Samples.";
    case CheckpointList::Reads::kIds:
      return "This model has no tokenizer. Give it ids: Ids…, beside Samples.";
    case CheckpointList::Reads::kText:
      break;
  }
  return "Type a text: the model runs on it as you type (Ctrl+L).";
}

// What a view of edits says where no column has one.
std::string without_edit(Studio& studio) {
  const std::string what = studio.view().info().title + " shows what edits change, and no column has one.\n";
  const EditActions actions(studio);
  for (std::size_t n = 0; n < studio.checkpoints().shown().size(); ++n) {
    if (actions.can_edit(n)) {
      return what + "Make one below, or by Edits… in the menu Edit.";
    }
  }
  return what + "Runs of encoder-decoders cannot be edited.";
}

}  // namespace

std::string canvas_message(Studio& studio, bool late) {
  if (late) {
    return work(studio);
  }
  if (studio.scheduler().figure()) {
    return {};
  }
  if (studio.checkpoints().question()) {
    return work(studio);
  }
  if (lacks_edit(studio) && !studio.checkpoints().waiting()) {
    return without_edit(studio);
  }
  if (studio.scheduler().error() && !studio.checkpoints().waiting()) {
    return studio.scheduler().error()->describe();
  }
  if (studio.checkpoints().all().empty()) {
    return "Open a checkpoint: drop a folder here, or press Ctrl+O.";
  }
  if (studio.checkpoints().waiting()) {
    return work(studio);
  }
  for (const Checkpoint& each : studio.checkpoints().all()) {
    if (each.entry.shown && each.error) {
      return each.error->code == ErrorCode::kCancelled
                 ? "The run was cancelled. Press R to start it again, or change the input."
                 : each.error->describe();
    }
  }
  if (!studio.checkpoints().shown().empty()) {
    return work(studio);  // the first figure of these runs
  }
  const bool any = std::any_of(studio.checkpoints().all().begin(), studio.checkpoints().all().end(),
                               [](const Checkpoint& each) { return each.entry.shown; });
  const auto& text = studio.input().text;
  if (any && text && !text->empty()) {
    return work(studio);  // it has just been typed
  }
  return any ? what_to_give(studio) : "Check a checkpoint on the left to see it here.";
}

std::string canvas_note(Studio& studio, bool late) {
  if (!studio.scheduler().figure() || late) {
    return {};
  }
  if (studio.scheduler().is_early()) {
    const Worker::State work = studio.worker().state();
    return "layer " + std::to_string(studio.scheduler().figure_state().layer) +
           " of an unfinished run: " + work.progress.what;
  }
  return studio.checkpoints().behind() && !studio.checkpoints().waiting()
             ? "the map of the previous input: its run was cancelled, R starts it again"
             : "";
}

}  // namespace locus::workbench
