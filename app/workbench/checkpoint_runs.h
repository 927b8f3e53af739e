// CheckpointRuns: runs the present input, or the text of its own, through each shown checkpoint of a list, on the
// worker; a run continues the latest one of its checkpoint.
#pragma once

#include <QObject>
#include <memory>
#include <vector>

#include "app/workbench/checkpoint_list.h"
#include "app/workbench/live_input.h"
#include "app/workbench/worker.h"

namespace locus::workbench {

class CheckpointRuns : public QObject {
  Q_OBJECT

 public:
  CheckpointRuns(Worker& worker, CheckpointList& list, const LiveInput& input);

  // Unless a text is being typed: it runs with that.
  void run_if_idle(Checkpoint& checkpoint);
  void run_all();
  void run_cancelled();  // once more
  // No more, if it is running.
  void drop(int id);
  // The run that showing the next input may continue.
  void keep_run(int id, std::shared_ptr<const models::Trace> trace);

 Q_SIGNALS:
  void started();       // a run: what is drawn is of an older input
  void changed();       // errors and warnings
  void runs_changed();  // traces and predictions
  void updated();       // after the others
  void failed(const locus::Error& error);
  void too_large(const locus::Error& error);  // a run does not fit; what would

 private:
  struct Run {
    std::shared_ptr<const models::Trace> trace;
    std::vector<models::Prediction> top;
  };
  void run(Checkpoint& checkpoint);
  void ran(int id, Result<Run> made);
  static void forget_run(Checkpoint& checkpoint);

  Worker& worker_;
  CheckpointList& list_;
  const LiveInput& input_;
};

}  // namespace locus::workbench
