// CheckpointOpener: opens the checkpoints and traces of a list on the worker. Those of the same path and overrides have
// one model: the first that opens lends its weights to the others, which wait for it.
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

  // What lies at its path, under its overrides and edits; what it shows stays until that is there.
  void load(Checkpoint& checkpoint);
  // The trace at its path, written anew: what it shows stays until that is there, and where it does not open, which may
  // be a moment between the files of a sharded run, beside the error.
  void follow(Checkpoint& checkpoint);
  // This one has left the list: it does not open any more, and those that wait for it open by themselves.
  void forget(int id);
  // What a checkpoint is and whether it opens, without keeping it. One at a time; the same slot for all.
  void look_at(const std::filesystem::path& path, std::function<void(Result<models::ModelInfo>)> done);
  void drop_look();

  // For what is opened from now on.
  void set_memory_limit_mb(std::int64_t limit) { memory_limit_mb_ = limit; }
  std::int64_t memory_limit_mb() const { return memory_limit_mb_; }

 Q_SIGNALS:
  void ready(int id);     // its model is there and can run
  void changed();         // what is open, and errors
  void runs_changed();    // a trace has been opened
  void extent_changed();  // after the others
  void failed(const locus::Error& error);
  void machine_wanted(const QString& machine);  // it may not be reached (models/api/machine.h): the checkpoint failed

 private:
  // Opens it with the weights of another checkpoint of the same path and overrides, now or when that has opened.
  // False: there is none.
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
