// CheckpointOpener: opens the checkpoints and traces of a list on the worker. Columns of the same path, base and
// overrides share weights: while one of them opens, the others wait.
#pragma once

#include <QObject>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "app/figures/open_columns.h"
#include "app/workbench/work/checkpoint_list.h"
#include "app/workbench/work/worker.h"

namespace locus::workbench {

class CheckpointOpener : public QObject {
  Q_OBJECT

 public:
  CheckpointOpener(Worker& worker, CheckpointList& list, std::string device, session::Opener opener);

  // Opens its path with its overrides and edits. It keeps its present run until the new one is there.
  void load(Checkpoint& checkpoint);
  // Reopens a trace file that has been rewritten. It keeps its present trace until the new one is there; if that does
  // not open, for example between the files of a sharded run, trace and error are both set.
  void follow(Checkpoint& checkpoint);
  // Stops opening a checkpoint that has left the list; columns waiting for its weights open them themselves.
  void forget(int id);
  // Opens a checkpoint only to describe it. A new call replaces the previous one.
  void look_at(const std::filesystem::path& path, std::function<void(Result<models::ModelInfo>)> done);
  void drop_look();

  // Applies to checkpoints opened from now on.
  void set_memory_limit_mb(std::int64_t limit) { memory_limit_mb_ = limit; }
  std::int64_t memory_limit_mb() const { return memory_limit_mb_; }

 Q_SIGNALS:
  void ready(int id);     // the model is open and can run
  void changed();         // open checkpoints, names and errors
  void runs_changed();    // a trace has been opened
  void extent_changed();  // after the others
  void failed(const locus::Error& error);
  void machine_wanted(const QString& machine);  // a checkpoint failed because this machine is not allowed

 private:
  // Shares the weights of another checkpoint of the same path, base and overrides, now or once that is open. False:
  // there is none.
  bool share(Checkpoint& checkpoint);
  void edit_there(Checkpoint& checkpoint, const std::shared_ptr<const models::Model>& model);
  // Opens the checkpoints that wait for this one.
  void lend(int id);
  void submit(Checkpoint& checkpoint, bool follows);
  void opened(int id, Result<std::shared_ptr<const models::Model>> model);
  void opened_trace(int id, std::shared_ptr<const models::Trace> trace);
  models::OpenOptions options() const;

  Worker& worker_;
  CheckpointList& list_;
  const std::string device_;
  const session::Opener opener_;
  std::int64_t memory_limit_mb_ = 0;
};

}  // namespace locus::workbench
