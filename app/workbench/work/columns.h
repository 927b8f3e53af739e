// Columns: which checkpoints are open and shown, in which order, and with which overrides and edits. The shown ones
// that have run are the columns of the canvas. Opening (CheckpointOpener) and running (CheckpointRuns) are the
// worker's; what comes back is written to the list and told by signals.
#pragma once

#include <QObject>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/figures/open_columns.h"
#include "app/session/session.h"
#include "app/workbench/work/checkpoint_list.h"
#include "app/workbench/work/checkpoint_opener.h"
#include "app/workbench/work/checkpoint_runs.h"
#include "app/workbench/work/live_input.h"
#include "app/workbench/work/trace_follower.h"
#include "app/workbench/work/worker.h"

namespace locus::workbench {

class Columns : public QObject {
  Q_OBJECT

 public:
  Columns(Worker& worker, const LiveInput& input, std::string device, session::Opener opener,
          const RunLimits& limits = {});

  // Opens on the worker, once it is shown; a path that is open with the same overrides is shown instead. Returns its
  // id.
  int open(const session::CheckpointEntry& entry);
  void remove(int id);
  void clear();
  void set_shown(int id, bool shown);
  // None is shown until arrange() says which: what they run next will be asked for anew.
  void hide_all();
  // Shows exactly these, in this order, opening those that are not open. What the user opened stays, unshown; what was
  // opened for the figure before is closed. A column that was shown and differs from a wanted one by its edits alone
  // becomes that one; any other that was shown with edits is closed.
  void arrange(const std::vector<session::CheckpointEntry>& entries);

  // What there is, and what is asked of all of it.
  const CheckpointList& list() const { return list_; }

  // The same column with other overrides; what it shows stays until the new run is there.
  void change_overrides(int id, const models::Overrides& overrides);
  // The layer and head that its column shows, whatever the others do; empty: it follows them.
  void set_own_head(int id, const std::optional<views::HeadRef>& head);
  // Opens again what a lost line had; what it shows stays until that has run.
  void reconnect();
  // Opens what could not be opened because its machine was not allowed, and now is.
  void open_allowed();
  // The same with other edits, by the same weights.
  void change_edits(int id, const models::Edits& edits);

  // See CheckpointOpener.
  void look_at(const std::filesystem::path& path, std::function<void(Result<models::ModelInfo>)> done) {
    opener_.look_at(path, std::move(done));
  }
  void drop_look() { opener_.drop_look(); }
  void set_memory_limit_mb(std::int64_t limit) { opener_.set_memory_limit_mb(limit); }
  std::int64_t memory_limit_mb() const { return opener_.memory_limit_mb(); }

  // See CheckpointRuns.
  void run_all() { runs_.run_all(); }
  void run_cancelled() { runs_.run_cancelled(); }
  void agree() { runs_.agree(); }
  void decline() { runs_.decline(); }
  void shorten_own_texts() { runs_.shorten_own_texts(); }
  void keep_run(int id, std::shared_ptr<const models::Trace> trace) { runs_.keep_run(id, std::move(trace)); }

 Q_SIGNALS:
  void changed();         // which are open, their names and errors
  void runs_changed();    // traces and predictions
  void early_changed();   // more layers of a run are done
  void started();         // a run: what is drawn is of an older input
  void extent_changed();  // after the others: what the columns can show may have changed
  void failed(const locus::Error& error);
  void machine_wanted(const QString& machine);  // see CheckpointOpener
  void too_large(const locus::Error& error);    // a run does not fit; what would

 private:
  void load_again(Checkpoint& checkpoint);
  // Makes a column of `hidden_` that differs by its edits alone, and is none of `wanted`, this one.
  void become(const session::CheckpointEntry& entry, const std::vector<session::CheckpointEntry>& wanted);

  CheckpointList list_;
  CheckpointOpener opener_;
  CheckpointRuns runs_;
  TraceFollower follower_;
  std::vector<int> hidden_;  // by hide_all(), until they are arranged
};

}  // namespace locus::workbench
