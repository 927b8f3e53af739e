// CheckpointList: the open checkpoints in their order, what each has come to, and what is asked of all of them. It
// opens and runs nothing: see CheckpointOpener and CheckpointRuns, which write down here what they have done.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/session/session.h"
#include "app/views/shared/view.h"
#include "app/workbench/work/question.h"
#include "core/base/result.h"
#include "models/api/machine.h"
#include "models/api/model.h"

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
  int waits_for_id = 0;  // opens the same weights: this one waits for it; 0: none
  bool running = false;
  bool opened_by_figure = false;               // opened for a figure, with which it goes
  std::shared_ptr<const models::Trace> early;  // the layers of an unfinished run that are done; null: none yet
  std::optional<Question> question;            // what a long run would take, while it waits for an answer
  models::Estimate agreed;                     // what the user has agreed to: less is not asked for again
  // What was shown before the present runs began, which comes back when one of them is cancelled.
  struct Before {
    std::shared_ptr<const models::Trace> trace;
    std::vector<models::Prediction> top;
  };
  std::optional<Before> before;

  // It runs, or would.
  bool pending() const { return running || question.has_value(); }
  bool waiting() const { return opening || pending(); }
  // What it shows is of another input: the run of the present one was cancelled.
  bool behind() const { return trace && error && error->code == ErrorCode::kCancelled; }

  const models::ModelInfo* info() const { return trace ? &trace->model() : model ? &model->info() : nullptr; }
};

// Alike but for their edits.
bool are_siblings(const session::CheckpointEntry& a, const session::CheckpointEntry& b);

// The connection that a column's model, or its trace, needs; null: it is on this machine.
std::shared_ptr<const models::Machine> machine_of(const Checkpoint& checkpoint);
// Whether that connection is lost: the column keeps what it shows, but cannot run.
bool is_cut_off(const Checkpoint& checkpoint);

class CheckpointList {
 public:
  const std::vector<Checkpoint>& all() const { return list_; }
  std::vector<Checkpoint>& all() { return list_; }
  const Checkpoint* find(int id) const;  // null: it has gone
  Checkpoint* find(int id);
  // A new one at the end, with an id and a name of its own.
  Checkpoint& add(const session::CheckpointEntry& entry);
  void erase(int id);
  // Names it anew, as its entry says now, and what it opened as: which layers obey an override.
  void rename(Checkpoint& checkpoint, const models::ModelInfo* opened = nullptr) const;

  std::vector<session::CheckpointEntry> entries() const;
  std::vector<session::CheckpointEntry> shown_entries() const;
  // The shown ones that have run, in order.
  std::vector<const Checkpoint*> shown() const;
  // The same, as views see them: heads of their own are among those of this side of encoder–decoders.
  std::vector<views::Column> view_columns(models::Side side) const;
  std::vector<int> shown_ids() const;  // those that are or will be shown
  // What is done so far of the present runs, as far as all shown columns have some of it; empty where one has nothing.
  std::vector<views::Column> early_columns(models::Side side) const;
  bool running() const { return any_shown(&Checkpoint::pending); }  // one of the shown, or it would
  bool waiting() const { return any_shown(&Checkpoint::waiting); }  // one of the shown opens or runs
  bool behind() const { return any_shown(&Checkpoint::behind); }    // one of the shown shows another input
  // That all of them have on this side of encoder–decoders; 0 when there are none.
  int largest_layer(models::Side side = models::Side::kDecoder) const;
  int largest_head(models::Side side = models::Side::kDecoder) const;
  std::int64_t memory_mb() const;  // kept by the traces
  // The n-th shown column that has run, or the last of them; null: there is none.
  const Checkpoint* column(std::size_t n) const;
  // Whether a shown column has this side of an encoder–decoder, or any; whether an open checkpoint has a decoder with
  // an input of its own, or reads texts with pictures in them.
  bool has_side(models::Side side) const;
  bool has_sides() const;
  bool has_decoder() const;
  bool takes_pictures() const;
  // The question of all columns that ask before a long run: time and memory together, and the number of first tokens
  // that is quick for all of them. Empty: none asks.
  std::optional<Question> question() const;
  // A shown column of the same checkpoint, overrides and text that has edits; `id` itself where it has some; 0: none.
  int edited(int id) const;

 private:
  bool any_shown(bool (Checkpoint::*is)() const) const;
  std::string unique_name(const session::CheckpointEntry& entry, const models::ModelInfo* opened = nullptr) const;

  std::vector<Checkpoint> list_;
  int next_id_ = 1;
};

}  // namespace locus::workbench
