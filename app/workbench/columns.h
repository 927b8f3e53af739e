// Columns: the open checkpoints, and their runs of the present input. The shown ones that have run are the columns of
// the canvas. Opening and running are the worker's; what comes back is told by signals.
#pragma once

#include <QObject>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/session/open_columns.h"
#include "app/session/session.h"
#include "app/views/view.h"
#include "app/workbench/live_input.h"
#include "app/workbench/worker.h"

namespace locus::workbench {

// An open checkpoint, or a trace another program wrote.
struct Checkpoint {
  int id = 0;
  session::CheckpointEntry entry;
  std::string name;  // unique among the open ones
  std::shared_ptr<const models::Model> model;
  std::shared_ptr<const models::Trace> trace;  // of the present input, once it has run
  std::shared_ptr<const models::Trace> last;   // of the latest run that ended: the next one continues it
  std::vector<models::Prediction> top;         // of that trace
  std::optional<Error> error;                  // of opening or running
  bool opening = false;
  int lender = 0;  // opens the same weights: this one waits for it; 0: none
  bool running = false;
  bool of_figure = false;  // opened for a figure, with which it goes

  const models::ModelInfo* info() const { return trace ? &trace->model() : model ? &model->info() : nullptr; }
};

class Columns : public QObject {
  Q_OBJECT

 public:
  Columns(Worker& worker, const LiveInput& input, std::string device, session::Opener opener);

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

  const std::vector<Checkpoint>& all() const { return list_; }
  const Checkpoint* find(int id) const;
  std::vector<session::CheckpointEntry> entries() const;
  std::vector<session::CheckpointEntry> shown_entries() const;
  // The shown ones that have run, in order.
  std::vector<const Checkpoint*> shown() const;
  std::vector<views::Column> view_columns() const;  // the same, as views see them
  std::vector<int> shown_ids() const;               // those that are or will be shown
  bool running() const;                             // one of the shown
  bool waiting() const;                             // one of the shown opens or runs
  // That all of them have on this side of encoder–decoders; 0 when there are none.
  int largest_layer(models::Side side = models::Side::kDecoder) const;
  int largest_head(models::Side side = models::Side::kDecoder) const;
  std::int64_t memory_mb() const;  // kept by the traces

  // The same column with other overrides; what it shows stays until the new run is there.
  void change_overrides(int id, const models::Overrides& overrides);
  // The same with other edits, by the same weights.
  void change_edits(int id, const models::Edits& edits);
  // A shown column of the same checkpoint, overrides and text that has edits; `id` itself where it has some; 0: none.
  int edited(int id) const;
  // What a checkpoint is and whether it opens, without keeping it. One at a time; the same slot for all.
  void look_at(const std::filesystem::path& path, std::function<void(Result<models::ModelInfo>)> done);
  void drop_look();

  void run_all();
  void run_cancelled();  // once more
  // The run that showing the next input may continue.
  void keep_run(int id, std::shared_ptr<const models::Trace> trace);

  // For what is opened from now on.
  void set_memory_limit_mb(std::int64_t limit) { memory_limit_mb_ = limit; }
  std::int64_t memory_limit_mb() const { return memory_limit_mb_; }

 Q_SIGNALS:
  void changed();       // which are open, their names and errors
  void runs_changed();  // traces and predictions
  void started();       // a run: what is drawn is of an older input
  void updated();       // after the others: what the columns can show may have changed
  void failed(const locus::Error& error);
  void too_large(const locus::Error& error);  // a run does not fit; what would

 private:
  Checkpoint* find_mutable(int id);
  std::string unique_name(const session::CheckpointEntry& entry) const;
  void load(Checkpoint& checkpoint);
  // From another of the same path and overrides, by the same weights, now or when that has opened. False: there is
  // none.
  bool share(Checkpoint& checkpoint);
  // Those that wait for what this one opens.
  void lend(int id);
  void load_again(Checkpoint& checkpoint);
  // Makes a column of `hidden_` that differs by its edits alone, and is none of `wanted`, this one.
  void become(const session::CheckpointEntry& entry, const std::vector<session::CheckpointEntry>& wanted);
  void opened(int id, Result<std::shared_ptr<const models::Model>> model);
  void opened_trace(int id, std::shared_ptr<const models::Trace> trace);
  void run(Checkpoint& checkpoint);
  struct Run {
    std::shared_ptr<const models::Trace> trace;
    std::vector<models::Prediction> top;
  };
  void ran(int id, Result<Run> made);
  static void forget_run(Checkpoint& checkpoint);

  Worker& worker_;
  const LiveInput& input_;
  const std::string device_;
  const session::Opener opener_;
  std::int64_t memory_limit_mb_ = 0;
  std::vector<Checkpoint> list_;
  std::vector<int> hidden_;  // by hide_all(), until they are arranged
  int next_id_ = 1;
};

}  // namespace locus::workbench
