// Studio: what the window shows, without the window. It owns the open checkpoints, the input, the view's state and the
// worker, and keeps the figure up to date with them. Everything here happens on the thread that made it; long work goes
// to the worker and comes back through signals.
#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>
#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/session/session.h"
#include "app/views/view.h"
#include "app/workbench/worker.h"
#include "renderers/figure/figure.h"

namespace locus::workbench {

struct StudioOptions {
  std::string device = "cpu";
  std::int64_t memory_limit_mb = 0;
  int debounce_ms = 60;  // between the last keystroke and the run
  double step_ms = 80;   // of a large map that becomes exact, between two pictures of it
  // How a path becomes a model; tests bring their own.
  std::function<Result<std::shared_ptr<const models::Model>>(const std::filesystem::path&, const models::OpenOptions&,
                                                             StopToken, const Progress&)>
      opener = models::open;
};

// An open checkpoint, or a trace another program wrote.
struct Checkpoint {
  int id = 0;
  CheckpointEntry entry;
  std::string name;  // unique among the open ones
  std::shared_ptr<const models::Model> model;
  std::shared_ptr<const models::Trace> trace;  // of the present input, once it has run
  std::shared_ptr<const models::Trace> last;   // of the latest run that ended: the next one continues it
  std::vector<models::Prediction> top;         // of that trace
  std::optional<Error> error;                  // of opening or running
  bool opening = false;
  bool running = false;

  const models::ModelInfo* info() const { return trace ? &trace->model() : model ? &model->info() : nullptr; }
};

// Everything about one cell of one column.
struct Cell {
  std::string column;
  std::int64_t query = 0;  // tokens of this column
  std::int64_t key = 0;
  std::int64_t asked_query = 0;  // as the first column counts tokens
  std::int64_t asked_key = 0;
  std::string query_token;
  std::string key_token;
  struct Value {
    std::string label;
    std::optional<float> value;  // empty: this encoding has none
  };
  std::vector<Value> values;  // content, contribution, logit, weight, gate, position
};

class Studio : public QObject {
  Q_OBJECT

 public:
  explicit Studio(const StudioOptions& options);

  // ---- checkpoints
  // Opens on the worker, once it is shown; a path that is open with the same overrides is shown instead. Returns its
  // id.
  int open(const CheckpointEntry& entry);
  void remove(int id);
  void set_shown(int id, bool shown);
  const std::vector<Checkpoint>& checkpoints() const { return checkpoints_; }
  const Checkpoint* find(int id) const;
  // The shown ones that have run, in order: the columns of the canvas.
  std::vector<const Checkpoint*> columns() const;

  // ---- input
  void set_text(const std::string& text);  // runs after the debounce
  void set_input(const models::Input& input);
  // Continues the text by `count` tokens of the first column (temperature 0: the likeliest) and appends them to it.
  void generate(std::int64_t count, double temperature);
  const models::Input& input() const { return input_; }
  void run_cancelled();  // once more

  // ---- view
  const ViewState& state() const { return state_; }
  // Clamps layer and head to what is open. With `undoable`, undo() comes back here.
  void change(ViewState state, bool undoable = true);
  void undo();
  void redo();
  bool can_undo() const { return !past_.empty(); }
  bool can_redo() const { return !future_.empty(); }
  const views::View& view() const;
  void set_canvas_size(int width_px, int height_px);

  // The input of the current view; no column when nothing has run.
  views::ViewInput view_input() const;
  // The latest figure and the state it shows; null before the first, and when the view reports an error.
  const std::shared_ptr<const figure::Figure>& figure() const { return figure_; }
  const ViewState& figure_state() const { return figure_state_; }
  const std::optional<Error>& figure_error() const { return figure_error_; }
  // Whether that figure is of the present view and checkpoints; it may be of an older text, layer or head.
  bool figure_is_current() const;
  // Asks for every value of a cell in all columns, or of the pinned cell; cells_changed follows. The values keep up
  // with the runs, the layer and the head.
  void inspect(std::int64_t query, std::int64_t key);
  void inspect_pinned();
  const std::vector<Cell>& cells() const { return cells_; }

  // ---- sessions
  Session session() const;
  void restore(const Session& session);
  const std::vector<Bookmark>& bookmarks() const { return bookmarks_; }
  // What is shown now, with its input and columns.
  void add_bookmark(const std::string& name);
  // Its view, its input and its columns in its order, as far as it says.
  void show(const Bookmark& bookmark);

  // ---- work
  Worker& worker() { return worker_; }
  void cancel();
  // Nothing is running, waiting or about to.
  bool settled() const;
  double last_latency_ms() const { return latency_ms_; }  // from the change of input to its figure
  // For what is opened from now on.
  void set_memory_limit_mb(std::int64_t limit) { options_.memory_limit_mb = limit; }
  std::int64_t memory_limit_mb() const { return options_.memory_limit_mb; }
  std::int64_t memory_mb() const;  // kept by the traces
  int largest_layer() const;       // of the shown columns; 0 when there are none
  int largest_head() const;

 Q_SIGNALS:
  void checkpoints_changed();
  void input_changed();
  void runs_changed();   // traces and predictions
  void state_changed();  // layer, head, view, …
  void figure_changed();
  void cells_changed();
  void work_changed();  // busy, progress
  void failed(const QString& message);
  void too_large(const QString& message);  // a run does not fit; what would

 private:
  static constexpr const char* kGenerate = "generate";  // its slot of the worker

  void wake();
  void drain();
  Checkpoint* find_mutable(int id);
  std::string unique_name(const CheckpointEntry& entry, const std::string& base) const;
  void load(Checkpoint& checkpoint);
  void opened(int id, Result<std::shared_ptr<const models::Model>> model);
  void opened_trace(int id, Result<std::shared_ptr<const models::Trace>> trace);
  void run(Checkpoint& checkpoint);
  void run_all();
  void request_figure();
  // The figure job: large maps come sampled first (step_ms 0), and are asked for again until they are exact.
  void draw(double step_ms, Worker::Clock::time_point since);
  void request_cells();
  std::vector<int> shown_ids() const;
  ViewState clamped(ViewState state) const;
  void report(const Error& error);

  StudioOptions options_;
  std::vector<Checkpoint> checkpoints_;
  int next_id_ = 1;
  models::Input input_;
  QTimer debounce_;
  ViewState state_;
  std::vector<ViewState> past_;
  std::vector<ViewState> future_;
  std::vector<Bookmark> bookmarks_;
  std::shared_ptr<const figure::Figure> figure_;
  ViewState figure_state_;
  std::vector<int> figure_ids_;  // its columns
  std::optional<Error> figure_error_;
  std::vector<Cell> cells_;
  std::optional<std::pair<std::int64_t, std::int64_t>> hovered_;  // query and key; empty: the pinned cell
  std::shared_ptr<views::FieldCache> cache_;
  int width_px_ = 1024;
  int height_px_ = 768;
  bool figure_pending_ = false;
  bool refining_ = false;       // a map of the figure is to become exact; cancel() leaves it as it is
  std::int64_t rows_left_ = 0;  // of that map, in the last picture
  QElapsedTimer since_input_;
  std::uint64_t draws_ = 0;  // seeds of generations
  bool measuring_ = false;
  double latency_ms_ = 0;
  std::atomic<bool> woken_ = false;
  Worker worker_;  // last: stopped before anything it reports to
};

}  // namespace locus::workbench
