// CheckpointRuns: runs the present input, or the text of its own, through each shown checkpoint of a list, on the
// worker; a run continues the latest one of its checkpoint. One that would take long or much memory is asked for first.
// Runs of one input belong together: where one is cancelled, all show again what they showed before.
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

  // Unless a text is being typed: it runs with that.
  void run_if_idle(Checkpoint& checkpoint);
  void run_all();
  void run_cancelled();  // once more
  // The answers to what is asked: they run all the same, or not at all.
  void agree();
  void decline();
  // Columns with a text of their own read no more of it than is quick, where that was asked.
  void shorten_own_texts();
  // No more, if it is running.
  void drop(int id);
  // The run that showing the next input may continue.
  void keep_run(int id, std::shared_ptr<const models::Trace> trace);

 Q_SIGNALS:
  void started();         // a run: what is drawn is of an older input
  void changed();         // errors and warnings
  void runs_changed();    // traces and predictions
  void early_changed();   // more layers of a run are done
  void extent_changed();  // after the others
  void failed(const locus::Error& error);
  void too_large(const locus::Error& error);  // a run does not fit; what would

 private:
  struct Run {
    std::shared_ptr<const models::Trace> trace;
    std::vector<models::Prediction> top;
    std::optional<Question> question;  // instead of these
  };
  struct Wanted;
  void run(Checkpoint& checkpoint);
  static Result<Run> run_on_worker(const Wanted& wanted, const StopToken& stop, const Progress& progress);
  void ran(int id, Result<Run> made);
  void show(Checkpoint& checkpoint, Result<Run> made);
  static bool restore(Checkpoint& checkpoint);
  // One of the runs of this input was stopped: none of them is shown.
  void go_back();
  void end_round();
  void clear(Checkpoint& checkpoint);
  static void forget_run(Checkpoint& checkpoint);

  Worker& worker_;
  CheckpointList& list_;
  const LiveInput& input_;
  const RunLimits limits_;
  bool stopped_ = false;  // one of the present runs was
};

}  // namespace locus::workbench
