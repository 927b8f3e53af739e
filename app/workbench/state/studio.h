// Studio: the state of the window without its widgets. It holds the view's state and its history, owns the worker, the
// columns (checkpoints and their runs), the figure scheduler and the measurements of heads, and forwards changes of one
// to the others. Changes by the user are in the three classes of actions: input, columns, session. Everything here
// happens on the thread that created it; long work goes to the worker and returns through signals.
#pragma once

#include <QObject>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/session/history.h"
#include "app/session/session.h"
#include "app/views/shared/view.h"
#include "app/workbench/state/column_actions.h"
#include "app/workbench/state/input_actions.h"
#include "app/workbench/state/session_actions.h"
#include "app/workbench/state/state_follower.h"
#include "app/workbench/work/columns.h"
#include "app/workbench/work/figure_scheduler.h"
#include "app/workbench/work/fingerprints.h"
#include "app/workbench/work/worker.h"

namespace locus::workbench {

struct StudioOptions {
  std::string device = "auto";
  std::int64_t memory_limit_mb = 0;
  int debounce_ms = 60;  // between the last keystroke and the run
  double step_ms = 80;   // between two pictures of a large map that becomes exact
  session::Opener opener = models::open;
  RunLimits limits = {};  // of runs that start without a question
};

// The query and key under the mouse pointer, on the canvas, in the token strip or in the editor.
struct Pointed {
  views::Token query;
  views::Token key;

  friend bool operator==(const Pointed&, const Pointed&) = default;
};

class Studio : public QObject {
  Q_OBJECT

 public:
  explicit Studio(const StudioOptions& options);

  // ---- parts
  Columns& columns() { return columns_; }
  const CheckpointList& checkpoints() const { return columns_.list(); }
  FigureScheduler& scheduler() { return scheduler_; }
  const FigureScheduler& scheduler() const { return scheduler_; }
  Fingerprints& fingerprints() { return fingerprints_; }
  Worker& worker() { return worker_; }
  const History& history() const { return history_; }

  // ---- changes by the user
  InputActions& inputs() { return inputs_; }
  const InputActions& inputs() const { return inputs_; }
  ColumnActions& column_actions() { return column_actions_; }
  SessionActions& sessions() { return sessions_; }
  const SessionActions& sessions() const { return sessions_; }

  // ---- what is shown
  const models::Input& input() const { return inputs_.value(); }
  const session::ViewState& state() const { return history_.state(); }
  const views::View& view() const { return scheduler_.view(); }
  views::ViewInput view_input() const { return scheduler_.view_input(); }

  // ---- the view's state
  // Replaces the state, with layer and head clamped to what is open, as a step for undo().
  void change(session::ViewState state);
  // The same as part of the latest step.
  void amend(session::ViewState state);
  // Pins a query and optionally a key; kNone as the query removes the pin.
  void pin(const views::Token& query, const views::Token& key = views::kNone);
  void undo();
  void redo();
  // Adds a step to which undo() returns. Its input, columns and figures are empty where they do not change.
  void record(Step before);
  // Shows what a step contains.
  void apply(const Step& step);

  const Pointed& pointed() const { return pointed_; }
  void point(const Pointed& at);

  // ---- work
  // Emits failed(), unless the error is a cancellation.
  void report(const Error& error);
  void cancel();
  // Nothing is running, waiting or about to start.
  bool settled() const;

 Q_SIGNALS:
  void checkpoints_changed();
  void input_changed();
  void runs_changed();   // traces and predictions
  void state_changed();  // layer, head, view, …, and the figures of the session
  void figure_changed();
  void cells_changed();
  void fingerprints_changed();
  void pointed_changed();
  void work_changed();  // busy, progress
  void failed(const QString& message);
  void noticed(const QString& message);    // something was chosen automatically
  void too_large(const QString& message);  // a run does not fit into memory; the message says what would

 private:
  void connect_parts();
  void wake();
  void drain();
  void follow_columns();
  void show_state();
  Step present_step(const Step& like) const;

  InputActions inputs_;
  History history_;
  Pointed pointed_;
  std::atomic<bool> woken_ = false;
  Worker worker_;  // after the members it wakes
  Columns columns_;
  FigureScheduler scheduler_;
  Fingerprints fingerprints_;
  StateFollower follower_;
  ColumnActions column_actions_;
  SessionActions sessions_;
};

}  // namespace locus::workbench
