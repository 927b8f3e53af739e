// Studio: what the window shows, without the window. Five objects own it, each its part: the columns (checkpoints and
// their runs), the live input, the history of the view's state, the figure scheduler, the document (file and figures of
// the session). The Studio owns these and the worker, and lets a change of one reach the others. Everything here
// happens on the thread that made it; long work goes to the worker and comes back through signals.
#pragma once

#include <QObject>
#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/session/history.h"
#include "app/session/pins.h"
#include "app/session/session.h"
#include "app/views/shared/view.h"
#include "app/workbench/state/document.h"
#include "app/workbench/work/columns.h"
#include "app/workbench/work/figure_scheduler.h"
#include "app/workbench/work/fingerprints.h"
#include "app/workbench/work/live_input.h"
#include "app/workbench/work/worker.h"

namespace locus::workbench {

struct StudioOptions {
  std::string device = "cpu";
  std::int64_t memory_limit_mb = 0;
  int debounce_ms = 60;  // between the last keystroke and the run
  double step_ms = 80;   // of a large map that becomes exact, between two pictures of it
  session::Opener opener = models::open;
  RunLimits limits = {};  // of runs that nobody asked for
};

// What is pointed at, wherever.
struct Pointed {
  views::Token query;
  views::Token key;

  friend bool operator==(const Pointed&, const Pointed&) = default;
};

class Studio : public QObject {
  Q_OBJECT

 public:
  explicit Studio(const StudioOptions& options);

  // ---- parts. A change that undo() takes back is made by the functions below, not by them.
  Columns& columns() { return columns_; }
  const CheckpointList& checkpoints() const { return columns_.list(); }
  FigureScheduler& scheduler() { return scheduler_; }
  const FigureScheduler& scheduler() const { return scheduler_; }
  Fingerprints& fingerprints() { return fingerprints_; }
  const History& history() const { return history_; }
  const Document& document() const { return document_; }
  Worker& worker() { return worker_; }

  // ---- checkpoints: see Columns
  int open(const session::CheckpointEntry& entry);
  void remove(int id);
  const Checkpoint* column(std::size_t n) const;  // the nth that is shown, or the last; null: there is none
  int largest_layer() const { return checkpoints().largest_layer(state().side); }
  int largest_head() const { return checkpoints().largest_head(state().side); }
  // Whether one of the columns has sides, and whether a checkpoint has a decoder that an input can be given.
  bool has_side(models::Side side) const;
  bool has_sides() const;
  bool has_decoder() const;
  // Runs that would take long wait for an answer: what they would take together, and for the first tokens what is
  // quick for all of them. Empty: none waits.
  std::optional<Question> question() const;
  void run_first();  // of the text, which undo() makes whole again
  // One more column, as one step for undo().
  int open_beside(const session::CheckpointEntry& entry);
  // Other edits of the same column; with `undoable`, undo() comes back to those it has.
  void change_edits(int id, const models::Edits& edits, bool undoable = true);

  // ---- input: see LiveInput
  const models::Input& input() const { return input_.value(); }
  bool takes_pictures() const;             // a checkpoint reads texts with pictures in them
  void set_text(const std::string& text);  // typed: runs after the debounce
  // What decoders of encoder–decoders have read, typed: a text, or ids for those without tokenizer; empty: their start.
  void set_decoder_input(const std::string& typed);
  // Another input; undo() brings back what it replaces.
  void set_input(const models::Input& input);
  // Typed as ids: runs at once.
  void set_ids(const std::vector<std::int64_t>& ids);
  // Continues the text by `count` tokens of the first column (temperature 0: the likeliest) and appends them to it.
  void generate(std::int64_t count, double temperature);

  // ---- view: see History and FigureScheduler
  const session::ViewState& state() const { return history_.state(); }
  const views::View& view() const { return scheduler_.view(); }
  views::ViewInput view_input() const { return scheduler_.view_input(); }
  // Another state, with layer and head clamped to what is open; undo() comes back here.
  void change(session::ViewState state);
  // Goes on with the latest change: undo() comes back to what was there before that.
  void amend(session::ViewState state);
  void undo();
  void redo();
  // Shown everywhere: on the maps, in the strip, in the editor.
  const Pointed& pointed() const { return pointed_; }
  void point(const Pointed& at);
  // Chooses a query, and with it a key (kNone: none); with query kNone neither.
  void pin(const views::Token& query, const views::Token& key = views::kNone);
  // Whether these are the chosen ones.
  bool is_pinned(const views::Token& query, const views::Token& key = views::kNone) const;
  // Another view state in which no column has a layer and head of its own; undo() comes back here.
  void reset_view(const session::ViewState& fresh);
  // The layer and head that a column of the canvas shows, whatever the others do; empty: it follows them.
  void set_own_head(std::size_t column, const std::optional<views::HeadRef>& head);

  // ---- sessions: see Document
  session::Session session() const;
  // Another session, of that file (empty: of none). What was there is gone: keep it before.
  void restore(const session::Session& session, const std::filesystem::path& file = {});
  // The session is in that file now.
  void set_saved(const std::filesystem::path& file) { document_.set_saved(file, session()); }
  // That file, which holds another session.
  void set_saved(const std::filesystem::path& file, const session::Session& session) {
    document_.set_saved(file, session);
  }
  bool has_changes() const { return document_.differs(session()); }

  // What is shown now, with its input and columns, as a figure.
  session::Bookmark present(const std::string& name) const;
  void add_bookmark(const std::string& name);
  // Another list of figures; undo() brings back the one before.
  void set_bookmarks(std::vector<session::Bookmark> figures);
  // A figure's view, its input and its columns in its order, as far as it says; undo() brings back what was there.
  void show(const session::Bookmark& bookmark);

  // ---- work
  void cancel();
  // Nothing is running, waiting or about to.
  bool settled() const;
  double last_latency_ms() const { return latency_ms_; }  // from the change of input to its figure
  std::int64_t memory_mb() const { return scheduler_.memory_mb() + checkpoints().memory_mb(); }

 Q_SIGNALS:
  void checkpoints_changed();
  void input_changed();
  void runs_changed();   // traces and predictions
  void state_changed();  // layer, head, view, …, and the figures of the session
  void figure_changed();
  void cells_changed();
  void fingerprints_changed();
  void pointed_changed();
  void work_changed();  // busy, progress
  void failed(const QString& message);
  void noticed(const QString& message);    // something was chosen for the user, who may choose otherwise
  void too_large(const QString& message);  // a run does not fit; what would

 private:
  void connect_parts();
  void wake();
  void drain();
  session::ViewState clamped(session::ViewState state) const;
  std::string out_of_reach(const session::ViewState& wanted) const;  // empty: nothing
  void follow();
  session::ViewState state_of_input() const;
  void forget_footing();
  void show_state();
  // The columns have changed: layer, head and tokens may be out of range.
  void clamp_and_redraw() { amend(state()); }
  // The parts of the session that `like` has, as they are now.
  Step present_step(const Step& like) const;
  void apply(const Step& step);
  void report(const Error& error);
  void choose_side();

  std::set<int> opened_;  // by the user, and not seen yet
  LiveInput input_;
  History history_;
  Document document_;
  // What the states of the history say of tokens and columns, they say of these; empty: of those to come.
  std::optional<session::Footing> footing_;
  std::optional<std::vector<int>> followed_ids_;
  std::weak_ptr<const models::Trace> followed_;
  std::uint64_t draws_ = 0;  // seeds of generations
  double latency_ms_ = 0;
  Pointed pointed_;
  std::atomic<bool> woken_ = false;
  Worker worker_;  // after what it wakes
  Columns columns_;
  FigureScheduler scheduler_;
  Fingerprints fingerprints_;
};

}  // namespace locus::workbench
