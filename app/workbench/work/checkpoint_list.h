// CheckpointList: the open checkpoints in order, with the state of each, and queries over all of them. It is only data:
// CheckpointOpener and CheckpointRuns open and run checkpoints and write their results into it.
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

// An open checkpoint, or a trace written by another program.
struct Checkpoint {
  int id = 0;
  session::CheckpointEntry entry;
  std::string name;  // unique among the open ones
  std::shared_ptr<const models::Model> model;
  std::shared_ptr<const models::Trace> trace;  // of the present input, once it has run
  std::shared_ptr<const models::Trace> last;   // of the latest finished run, whose prefix the next run reuses
  std::vector<models::Prediction> top;         // of that trace
  double run_ms = 0;                           // the work on the run of the present input; 0: it has not ended
  std::optional<Error> error;                  // of opening or running
  bool opening = false;
  int waits_for_id = 0;  // checkpoint that is opening the same weights; 0: none
  bool running = false;
  bool opened_by_figure = false;               // closed when another figure is shown
  std::shared_ptr<const models::Trace> early;  // finished layers of an unfinished run; null: none yet
  std::optional<Question> question;            // cost of a long run that waits for an answer
  models::Estimate agreed;                     // cost the user has agreed to: cheaper runs start without a question
  // The run shown before the present ones began; restored when one of them is cancelled.
  struct Before {
    std::shared_ptr<const models::Trace> trace;
    std::vector<models::Prediction> top;
  };
  std::optional<Before> before;

  // Whether it runs, or waits for an answer before it runs.
  bool pending() const { return running || question.has_value(); }
  bool waiting() const { return opening || pending(); }
  // Whether it shows a previous input because the run of the present one was cancelled.
  bool behind() const { return trace && error && error->code == ErrorCode::kCancelled; }

  const models::ModelInfo* info() const { return trace ? &trace->model() : model ? &model->info() : nullptr; }
};

// Whether two entries differ at most in their edits.
bool are_siblings(const session::CheckpointEntry& a, const session::CheckpointEntry& b);

// The connection that a column's model, or its trace, needs; null: it is on this machine.
std::shared_ptr<const models::Machine> machine_of(const Checkpoint& checkpoint);
// Whether that connection is lost: the column keeps what it shows, but cannot run.
bool is_cut_off(const Checkpoint& checkpoint);

class CheckpointList {
 public:
  const std::vector<Checkpoint>& all() const { return list_; }
  std::vector<Checkpoint>& all() { return list_; }
  const Checkpoint* find(int id) const;  // null: not in the list
  Checkpoint* find(int id);
  // Appends a checkpoint with a new id and a unique name.
  Checkpoint& add(const session::CheckpointEntry& entry);
  void erase(int id);
  // Updates the name from the entry, and from the opened model if there is one (layers that an override applies to).
  void rename(Checkpoint& checkpoint, const models::ModelInfo* opened = nullptr) const;

  std::vector<session::CheckpointEntry> entries() const;
  std::vector<session::CheckpointEntry> shown_entries() const;
  // The shown checkpoints that have run, in order.
  std::vector<const Checkpoint*> shown() const;
  // The same as columns of a view. Unlinked heads are clamped to those of this side of encoder–decoders.
  std::vector<views::Column> view_columns(models::Side side) const;
  std::vector<int> shown_ids() const;  // including those that have not run yet
  // Columns of the finished layers of the present runs; empty while a shown column has none.
  std::vector<views::Column> early_columns(models::Side side) const;
  bool running() const { return any_shown(&Checkpoint::pending); }  // or waits for an answer
  bool waiting() const { return any_shown(&Checkpoint::waiting); }  // opens or runs
  bool behind() const { return any_shown(&Checkpoint::behind); }    // shows a previous input
  // Largest index that all shown columns have on this side of encoder–decoders; 0: no columns. Of layers by depth, the
  // largest that any has.
  int largest_layer(models::Side side = models::Side::kDecoder, bool by_depth = false) const;
  int largest_head(models::Side side = models::Side::kDecoder) const;
  std::int64_t memory_mb() const;  // of the traces
  // The n-th shown column that has run, or the last of them; null: there is none.
  const Checkpoint* column(std::size_t n) const;
  // Whether a shown column has this side of an encoder–decoder, or any; whether an open checkpoint has a decoder with
  // an input of its own, or reads texts with pictures in them.
  bool has_side(models::Side side) const;
  bool has_sides() const;
  bool has_decoder() const;
  bool takes_pictures() const;
  // The id that stands for a picture, or a video, in ids: of the first shown model that reads them; -1: none does.
  std::int64_t placeholder(bool video) const;
  // What the shown checkpoints read whose kind is known: texts (also while none is), ids alone, or pictures alone.
  enum class Reads { kText, kIds, kPicture };
  Reads reads() const;
  // The question of all columns that ask before a long run: time and memory together, and the number of first tokens
  // that is quick for all of them. Empty: none asks.
  std::optional<Question> question() const;
  // The id of a shown column with edits of the same checkpoint, overrides and text (`id` itself if it has edits); 0:
  // none.
  int edited(int id) const;

 private:
  bool any_shown(bool (Checkpoint::*is)() const) const;
  std::string unique_name(const session::CheckpointEntry& entry, const models::ModelInfo* opened = nullptr) const;

  std::vector<Checkpoint> list_;
  int next_id_ = 1;
};

}  // namespace locus::workbench
