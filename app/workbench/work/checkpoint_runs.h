// CheckpointRuns: runs the present input (or a column's own text) through each shown checkpoint of a list, on the
// worker. A run reuses the prefix of the latest run of its checkpoint. A run that takes long or much memory first
// asks. Runs of one input belong together: if one is cancelled, all columns show their previous runs again.
#pragma once

#include <QObject>
#include <memory>
#include <vector>

#include "app/workbench/work/checkpoint_list.h"
#include "app/workbench/work/live_input.h"
#include "app/workbench/work/worker.h"

namespace locus::workbench {

class CheckpointRuns : public QObject {
  Q_OBJECT

 public:
  CheckpointRuns(Worker& worker, CheckpointList& list, const LiveInput& input, const RunLimits& limits);

  // Runs the input, unless a text is being typed: then the checkpoint runs with that.
  void run_if_idle(Checkpoint& checkpoint);
  void run_all();
  void run_cancelled();  // starts cancelled runs again
  // Answers to all questions: the runs start, or are given up.
  void agree();
  void decline();
  // Shortens the own texts of columns that ask to what runs quickly.
  void shorten_own_texts();
  // Stops the run of a checkpoint.
  void drop(int id);
  // Sets the run whose prefix the next run reuses.
  void keep_run(int id, std::shared_ptr<const models::Trace> trace);

 Q_SIGNALS:
  void started();         // a run: the figure is out of date
  void changed();         // errors and warnings
  void runs_changed();    // traces and predictions
  void early_changed();   // more layers of a run are done
  void extent_changed();  // after the others
  void failed(const locus::Error& error);
  void too_large(const locus::Error& error);  // a run does not fit into memory; the error says what would

 private:
  struct Run {
    std::shared_ptr<const models::Trace> trace;
    std::vector<models::Prediction> top;
    std::optional<Question> question;  // instead of a run
    double ms = 0;                     // without waiting
  };
  struct Wanted;
  void run(Checkpoint& checkpoint);
  static Result<Run> run_on_worker(const Wanted& wanted, const StopToken& stop, const Progress& progress);
  void ran(int id, Result<Run> made);
  void show(Checkpoint& checkpoint, Result<Run> made);
  static bool restore(Checkpoint& checkpoint);
  // Restores the previous runs of all columns after a cancellation.
  void go_back();
  void end_round();
  void clear(Checkpoint& checkpoint);
  static void forget_run(Checkpoint& checkpoint);

  Worker& worker_;
  CheckpointList& list_;
  const LiveInput& input_;
  const RunLimits limits_;
  bool stopped_ = false;  // one of the present runs was cancelled
};

}  // namespace locus::workbench
