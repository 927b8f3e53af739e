// History: what the canvas shows now, and the way back to what it showed before.
//
// A *step* is what a change replaced: the view's state always, and the input, the columns or the figures of the session
// where the change replaced them too. Going back exchanges a step with what is there, so that redo() comes back.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "app/session/session.h"

namespace locus::workbench {

struct Step {
  session::ViewState state;
  std::optional<models::Input> input;
  std::optional<std::vector<session::CheckpointEntry>> columns;
  std::optional<std::vector<session::Bookmark>> figures;
};

class History {
 public:
  const session::ViewState& state() const { return state_; }
  // Replaces the state without a step.
  void set(session::ViewState state) { state_ = std::move(state); }
  // Replaces it with a step back to what was there.
  void change(session::ViewState state);
  // A step that more than the state belongs to: call it before that is replaced.
  void push(Step step);

  // The step that undo() or redo() would take; null: none.
  const Step* previous() const { return past_.empty() ? nullptr : &past_.back(); }
  const Step* next() const { return future_.empty() ? nullptr : &future_.back(); }
  std::size_t depth() const { return past_.size(); }  // the steps that can be undone
  // Takes that step; `now` is what it replaces, with the same parts. Call only when there is one.
  Step undo(Step now) { return exchange(past_, future_, std::move(now)); }
  Step redo(Step now) { return exchange(future_, past_, std::move(now)); }

  // The present state, and those of the steps before and behind it up to the first that is not the `same`: that is
  // about another input, or about other columns.
  void each_of(bool (*same)(const Step&), const std::function<void(session::ViewState&)>& use);

  // Forgets every step: another session.
  void clear();

 private:
  Step exchange(std::vector<Step>& from, std::vector<Step>& to, Step now);

  session::ViewState state_;
  std::vector<Step> past_;
  std::vector<Step> future_;
};

}  // namespace locus::workbench
