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
#include <string>
#include <vector>

#include "app/session/session.h"
#include "app/views/view.h"
#include "app/workbench/columns.h"
#include "app/workbench/document.h"
#include "app/workbench/figure_scheduler.h"
#include "app/workbench/fingerprints.h"
#include "app/workbench/history.h"
#include "app/workbench/live_input.h"
#include "app/workbench/worker.h"

namespace locus::workbench {

struct StudioOptions {
  std::string device = "cpu";
  std::int64_t memory_limit_mb = 0;
  int debounce_ms = 60;  // between the last keystroke and the run
  double step_ms = 80;   // of a large map that becomes exact, between two pictures of it
  session::Opener opener = models::open;
};

// What is pointed at, wherever: tokens as the first column counts them.
struct Pointed {
  std::int64_t query = views::kNone;
  std::int64_t key = views::kNone;

  friend bool operator==(const Pointed&, const Pointed&) = default;
};

class Studio : public QObject {
  Q_OBJECT

 public:
  explicit Studio(const StudioOptions& options);

  // ---- checkpoints: see Columns
  int open(const session::CheckpointEntry& entry) { return columns_.open(entry); }
  void remove(int id);
  void set_shown(int id, bool shown) { columns_.set_shown(id, shown); }
  const std::vector<Checkpoint>& checkpoints() const { return columns_.list().all(); }
  const Checkpoint* find(int id) const { return columns_.list().find(id); }
  std::vector<const Checkpoint*> columns() const { return columns_.list().shown(); }
  const Checkpoint* column(std::size_t n) const;  // the nth of them, or the last; null: there is none
  int largest_layer() const { return columns_.list().largest_layer(state().side); }
  int largest_head() const { return columns_.list().largest_head(state().side); }
  // Whether one of the columns has sides, and whether a checkpoint has a decoder that an input can be given.
  bool has_sides() const;
  bool has_decoder() const;
  void run_cancelled() { columns_.run_cancelled(); }  // once more
  void change_overrides(int id, const models::Overrides& overrides) { columns_.change_overrides(id, overrides); }
  // One more column, as one step for undo().
  int open_beside(const session::CheckpointEntry& entry);
  // Other edits of the same column; with `undoable`, undo() comes back to those it has.
  void change_edits(int id, const models::Edits& edits, bool undoable = true);
  int edited(int id) const { return columns_.list().edited(id); }
  void look_at(const std::filesystem::path& path, std::function<void(Result<models::ModelInfo>)> done) {
    columns_.look_at(path, std::move(done));
  }
  void drop_look() { columns_.drop_look(); }
  void set_memory_limit_mb(std::int64_t limit) { columns_.set_memory_limit_mb(limit); }
  std::int64_t memory_limit_mb() const { return columns_.memory_limit_mb(); }

  // ---- input: see LiveInput
  const models::Input& input() const { return input_.value(); }
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
  // Clamps layer and head to what is open. With `undoable`, undo() comes back here.
  void change(session::ViewState state, bool undoable = true);
  void undo();
  void redo();
  bool can_undo() const { return history_.previous() != nullptr; }
  bool can_redo() const { return history_.next() != nullptr; }
  const views::View& view() const { return scheduler_.view(); }
  void set_canvas_size(int width_px, int height_px) { scheduler_.set_canvas_size(width_px, height_px); }
  views::ViewInput view_input() const { return scheduler_.view_input(); }
  const std::shared_ptr<const figure::Figure>& figure() const { return scheduler_.figure(); }
  const session::ViewState& figure_state() const { return scheduler_.figure_state(); }
  const std::optional<Error>& figure_error() const { return scheduler_.error(); }
  bool figure_is_current() const { return scheduler_.is_current(); }
  void inspect(std::int64_t query, std::int64_t key) { scheduler_.inspect(query, key); }
  void inspect_pinned() { scheduler_.inspect_pinned(); }
  const std::vector<Cell>& cells() const { return scheduler_.cells(); }
  // What that head of a column does: see Fingerprints. The column is the view's.
  std::optional<Result<views::Fingerprint>> fingerprint(const views::Column& column, std::int64_t layer,
                                                        std::int64_t head) {
    return fingerprints_.of(column, layer, head);
  }
  // Shown everywhere: on the maps, in the strip, in the editor.
  const Pointed& pointed() const { return pointed_; }
  void point(const Pointed& at);
  // Chooses a query, and with it a key (kNone: none); with query kNone neither.
  void pin(std::int64_t query, std::int64_t key = views::kNone);

  // ---- sessions: see Document
  const Document& document() const { return document_; }
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

  const std::vector<session::Bookmark>& bookmarks() const { return document_.figures(); }
  // What is shown now, with its input and columns, as a figure.
  session::Bookmark present(const std::string& name) const;
  void add_bookmark(const std::string& name);
  // Another list of figures; undo() brings back the one before.
  void set_bookmarks(std::vector<session::Bookmark> figures);
  // A figure's view, its input and its columns in its order, as far as it says; undo() brings back what was there.
  void show(const session::Bookmark& bookmark);

  // ---- work
  Worker& worker() { return worker_; }
  void cancel();
  // Nothing is running, waiting or about to.
  bool settled() const;
  double last_latency_ms() const { return latency_ms_; }  // from the change of input to its figure
  std::int64_t memory_mb() const { return scheduler_.memory_mb() + columns_.list().memory_mb(); }

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
  void too_large(const QString& message);  // a run does not fit; what would

 private:
  void connect_parts();
  void wake();
  void drain();
  session::ViewState clamped(session::ViewState state) const;
  void show_state();
  // The parts of the session that `like` has, as they are now.
  Step present_step(const Step& like) const;
  void apply(const Step& step);
  void report(const Error& error);

  LiveInput input_;
  History history_;
  Document document_;
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
