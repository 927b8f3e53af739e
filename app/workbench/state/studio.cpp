#include "app/workbench/state/studio.h"

#include <utility>

#include "app/workbench/widgets/qt_text.h"

namespace locus::workbench {

Studio::Studio(const StudioOptions& options)
    : inputs_(*this, options.debounce_ms),
      worker_([this] { wake(); }),
      columns_(worker_, inputs_.live(), options.device, options.opener, options.limits),
      scheduler_(worker_, columns_.list(), history_, options.step_ms),
      fingerprints_(worker_),
      follower_(history_, columns_.list(), inputs_.live()),
      column_actions_(*this),
      sessions_(*this, history_, follower_) {
  columns_.opener().set_memory_limit_mb(options.memory_limit_mb);
  connect_parts();
  sessions_.set_saved({});
}

void Studio::connect_parts() {
  connect(&inputs_.live(), &LiveInput::changed, this, &Studio::input_changed);
  connect(&inputs_.live(), &LiveInput::due, &columns_.runs(), &CheckpointRuns::run_all);
  connect(&columns_, &Columns::changed, this, &Studio::checkpoints_changed);
  connect(&columns_, &Columns::runs_changed, this, [this] { column_actions_.choose_side(); });
  connect(&columns_, &Columns::runs_changed, this, &Studio::runs_changed);
  connect(&columns_, &Columns::extent_changed, this, &Studio::follow_columns);
  connect(&columns_.opener(), &CheckpointOpener::failed, this, &Studio::report);
  connect(&columns_.runs(), &CheckpointRuns::failed, this, &Studio::report);
  connect(&columns_.runs(), &CheckpointRuns::started, &scheduler_, &FigureScheduler::hold);
  connect(&columns_.runs(), &CheckpointRuns::started, &fingerprints_, &Fingerprints::hold);
  connect(&columns_.runs(), &CheckpointRuns::started, &fingerprints_, &Fingerprints::resume);
  connect(&columns_.runs(), &CheckpointRuns::early_changed, &scheduler_, &FigureScheduler::update_early);
  connect(&columns_.runs(), &CheckpointRuns::too_large, this,
          [this](const Error& error) { Q_EMIT too_large(qt(error.describe())); });
  connect(&fingerprints_, &Fingerprints::changed, this, &Studio::fingerprints_changed);
  connect(&scheduler_, &FigureScheduler::drawn, this, [this] { inputs_.note_figure(); });
  connect(&scheduler_, &FigureScheduler::changed, this, &Studio::figure_changed);
  connect(&scheduler_, &FigureScheduler::cells_changed, this, &Studio::cells_changed);
}

// ---- work

// Called from any thread: at most one drain() is queued.
void Studio::wake() {
  if (!woken_.exchange(true)) {
    QMetaObject::invokeMethod(
        this, [this] { drain(); }, Qt::QueuedConnection);
  }
}

void Studio::drain() {
  woken_ = false;
  worker_.drain();
  Q_EMIT work_changed();
}

void Studio::report(const Error& error) {
  if (error.code != ErrorCode::kCancelled) {
    Q_EMIT failed(qt(error.describe()));
  }
}

void Studio::cancel() {
  inputs_.live().forget();
  scheduler_.stop_refining();
  fingerprints_.pause();
  worker_.cancel_all();
  columns_.runs().decline();
}

bool Studio::settled() const {
  return worker_.idle() && !inputs_.live().waiting() && !scheduler_.pending() && !woken_;
}

// ---- the view's state

void Studio::show_state() {
  Q_EMIT state_changed();
  scheduler_.update();
  scheduler_.update_cells();
  fingerprints_.hold();  // the measurement continues on the next request, after the figure
}

// Runs have finished, or columns were opened, closed or hidden: draws the figure of the present columns, with a state
// that they have.
void Studio::follow_columns() {
  follower_.follow();
  history_.set(follower_.clamped(state()));
  show_state();
}

void Studio::change(session::ViewState state) {
  if (const std::string missing = follower_.unreachable(state); !missing.empty()) {
    Q_EMIT noticed(qt(missing));
  }
  fingerprints_.resume();
  state = follower_.clamped(std::move(state));
  if (!(state == this->state())) {  // else the step would change nothing
    history_.change(std::move(state));
  } else {
    history_.set(std::move(state));
  }
  show_state();
}

void Studio::amend(session::ViewState state) {
  history_.set(follower_.clamped(std::move(state)));
  show_state();
}

void Studio::pin(const views::Token& query, const views::Token& key) {
  session::ViewState pinned = state();
  pinned.query = query;
  pinned.key = query.chosen() ? key : views::kNone;
  change(pinned);
}

void Studio::point(const Pointed& at) {
  if (!(at == pointed_)) {
    pointed_ = at;
    Q_EMIT pointed_changed();
  }
}

// ---- history

void Studio::record(Step before) {
  history_.push(std::move(before));
  Q_EMIT state_changed();  // undo() has become possible
}

// The present values of the parts that `like` contains.
Step Studio::present_step(const Step& like) const {
  Step now{state(), {}, {}, {}};
  if (like.input) {
    now.input = input();
  }
  if (like.columns) {
    now.columns = checkpoints().shown_entries();
  }
  if (like.figures) {
    now.figures = sessions_.document().figures();
  }
  return now;
}

void Studio::apply(const Step& step) {
  if (step.input || step.columns) {
    follower_.forget();
  }
  if (step.figures) {
    sessions_.document().set_figures(*step.figures);
  }
  if (step.columns) {
    columns_.hide_all();  // columns that are not part of the step do not run the input
  }
  if (step.input && !(*step.input == input())) {
    inputs_.replace(*step.input);
  }
  if (step.columns) {
    columns_.arrange(*step.columns);
  }
  // Runs that are under way may have layers that the present columns lack: the state is clamped when they end.
  history_.set(checkpoints().waiting() ? step.state : follower_.clamped(step.state));
  show_state();
}

void Studio::undo() {
  if (const Step* step = history_.previous()) {
    apply(history_.undo(present_step(*step)));
  }
}

void Studio::redo() {
  if (const Step* step = history_.next()) {
    apply(history_.redo(present_step(*step)));
  }
}

}  // namespace locus::workbench
