// Columns: which checkpoints are open and shown, in which order, and with which overrides and edits. The shown ones
// that have run are the columns of the canvas. The worker opens (CheckpointOpener) and runs them (CheckpointRuns);
// results are written to the list, and signals report them.
#pragma once

#include <QObject>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
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

  // Opens a checkpoint or trace on the worker once it is shown, and returns its id. If the path is open with the same
  // base and overrides, that is shown instead.
  int open(const session::CheckpointEntry& entry);
  void remove(int id);
  void clear();
  void set_shown(int id, bool shown);
  // Hides all columns until arrange() shows some again. They do not run meanwhile.
  void hide_all();
  // Shows exactly these, in this order, and opens those that are not open. Checkpoints opened by the user stay open,
  // hidden; those opened for the previous figure are closed. A shown column that differs from a wanted one only in its
  // edits becomes that one; other shown columns with edits are closed.
  void arrange(const std::vector<session::CheckpointEntry>& entries);

  const CheckpointList& list() const { return list_; }
  CheckpointOpener& opener() { return opener_; }
  CheckpointRuns& runs() { return runs_; }

  // Reopens a column with other overrides; it shows its present run until the new one is there.
  void change_overrides(int id, const models::Overrides& overrides);
  // Reopens an adapter on another base.
  void change_base(int id, const std::filesystem::path& base);
  // Sets the layer and head of an unlinked column; empty: links it to the others.
  void set_own_head(int id, const std::optional<views::HeadRef>& head);
  // Reopens the columns of a lost connection; they show their present runs until the new ones are there.
  void reconnect();
  // Opens checkpoints that failed because their machine was not allowed but now is.
  void open_allowed();
  // Reopens a column with other edits; weights are shared.
  void change_edits(int id, const models::Edits& edits);

 Q_SIGNALS:
  // These include the signals of the same names of opener() and runs().
  void changed();         // which checkpoints are open, their names and errors
  void runs_changed();    // traces and predictions
  void extent_changed();  // after the others: layers, heads or tokens of the columns may have changed

 private:
  void put_in_order(const std::vector<int>& order, const std::set<int>& known);
  void load_again(Checkpoint& checkpoint);
  // Gives the edits of `entry` to a column of `hidden_` that differs only in its edits and is none of `wanted`.
  void become(const session::CheckpointEntry& entry, const std::vector<session::CheckpointEntry>& wanted);

  CheckpointList list_;
  CheckpointOpener opener_;
  CheckpointRuns runs_;
  TraceFollower follower_;
  std::vector<int> hidden_;  // by hide_all(), until arrange()
};

}  // namespace locus::workbench
