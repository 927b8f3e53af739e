#include "app/workbench/studio.h"

#include <algorithm>
#include <set>
#include <utility>

#include "app/session/view_input.h"
#include "app/views/score_map.h"
#include "app/workbench/cell_values.h"

namespace locus::workbench {

namespace {

constexpr std::size_t kCacheBytes = 256U << 20;
constexpr std::size_t kUndoSteps = 200;
constexpr std::int64_t kPredictions = 8;
constexpr const char* kGenerate = "generate";

std::string slot_of(const char* what, int id) {
  return std::string(what) + " " + std::to_string(id);
}

// Whether a map of it shows sampled cells.
bool is_sampled(const figure::Figure& figure) {
  for (const figure::Panel& panel : figure.panels) {
    for (const figure::Layer& layer : panel.layers) {
      const auto* map = std::get_if<figure::HeatMap>(&layer);
      if (map != nullptr && map->field && views::is_sampled(*map->field)) {
        return true;
      }
    }
  }
  return false;
}

// Says with each report of a long run what it was expected to need.
Progress announced(const models::Model& model, const models::Input& input, const models::RunOptions& options,
                   const Progress& progress) {
  constexpr double kLongMs = 3000;
  const auto tokens = model.tokenize(input);
  if (!tokens.ok()) {
    return progress;  // the run says why
  }
  const models::Estimate estimate = model.estimate(static_cast<std::int64_t>(tokens->size()), options);
  if (estimate.time_ms < kLongMs) {
    return progress;
  }
  return [progress, expected = " · " + models::to_text(estimate)](const ProgressReport& news) {
    progress({news.fraction, news.what + expected});
  };
}

struct Run {
  std::shared_ptr<const models::Trace> trace;
  std::vector<models::Prediction> top;
};

bool overlap(const figure::Interval& a, const figure::Interval& b) {
  return std::max(std::min(a.low, a.high), std::min(b.low, b.high)) <
         std::min(std::max(a.low, a.high), std::max(b.low, b.high));
}

}  // namespace

Studio::Studio(const StudioOptions& options)
    : options_(options), cache_(std::make_shared<views::FieldCache>(kCacheBytes)), worker_([this] { wake(); }) {
  debounce_.setSingleShot(true);
  debounce_.setInterval(options.debounce_ms);
  connect(&debounce_, &QTimer::timeout, this, &Studio::run_all);
}

// Called from any thread: at most one drain is under way.
void Studio::wake() {
  if (!woken_.exchange(true)) {
    QMetaObject::invokeMethod(
        this, [this] { drain(); }, Qt::QueuedConnection);
  }
}

void Studio::drain() {
  woken_ = false;
  worker_.drain();
  Q_EMIT work_changed();
}

void Studio::report(const Error& error) {
  if (error.code != ErrorCode::kCancelled) {
    Q_EMIT failed(QString::fromStdString(error.describe()));
  }
}

// ---- checkpoints

Checkpoint* Studio::find_mutable(int id) {
  const auto found =
      std::find_if(checkpoints_.begin(), checkpoints_.end(), [&](const Checkpoint& each) { return each.id == id; });
  return found == checkpoints_.end() ? nullptr : &*found;
}

const Checkpoint* Studio::find(int id) const {
  return const_cast<Studio*>(this)->find_mutable(id);
}

std::string Studio::unique_name(const CheckpointEntry& entry, const std::string& base) const {
  const std::string wanted = base + label_of(entry.overrides);
  std::string name = wanted;
  for (int n = 2; std::any_of(checkpoints_.begin(), checkpoints_.end(), [&](const auto& c) { return c.name == name; });
       ++n) {
    name = wanted + " (" + std::to_string(n) + ")";
  }
  return name;
}

int Studio::open(const CheckpointEntry& entry) {
  std::error_code code;
  CheckpointEntry wanted = entry;
  if (const auto canonical = std::filesystem::weakly_canonical(entry.path, code); !code) {
    wanted.path = canonical;
  }
  for (const Checkpoint& open : checkpoints_) {
    if (open.entry.path == wanted.path && open.entry.overrides == wanted.overrides && !open.error) {
      const int id = open.id;
      set_shown(id, true);
      return id;
    }
  }
  Checkpoint checkpoint;
  checkpoint.id = next_id_++;
  checkpoint.entry = wanted;
  const std::string base =
      wanted.path.has_filename() ? wanted.path.filename().string() : wanted.path.parent_path().filename().string();
  checkpoint.name = unique_name(wanted, base);
  checkpoint.opening = true;
  const int id = checkpoint.id;
  checkpoints_.push_back(checkpoint);

  // A file may be a checkpoint or a trace: the trace's own reader says which, on the worker.
  struct Opened {
    std::shared_ptr<const models::Model> model;
    std::shared_ptr<const models::Trace> trace;
  };
  models::OpenOptions options;
  options.overrides = wanted.overrides;
  options.device = options_.device;
  options.memory_limit_mb = options_.memory_limit_mb;
  worker_.submit<Opened>(
      Priority::kForward, slot_of("open", id), "Opening " + checkpoint.name,
      [path = wanted.path, options, opener = options_.opener](StopToken stop,
                                                              const Progress& progress) -> Result<Opened> {
        std::error_code ignored;
        if (std::filesystem::is_regular_file(path, ignored)) {
          if (auto trace = models::open_trace(path)) {
            return Opened{nullptr, *std::move(trace)};
          }
        }
        LOCUS_TRY(auto model, opener(path, options, std::move(stop), progress));
        return Opened{std::move(model), nullptr};
      },
      [this, id](Result<Opened> opened_result) {
        if (!opened_result) {
          opened(id, opened_result.error());
        } else if (opened_result->trace) {
          opened_trace(id, std::move(opened_result->trace));
        } else {
          opened(id, std::move(opened_result->model));
        }
      });
  Q_EMIT checkpoints_changed();
  return id;
}

void Studio::opened(int id, Result<std::shared_ptr<const models::Model>> model) {
  Checkpoint* checkpoint = find_mutable(id);
  if (checkpoint == nullptr) {
    return;
  }
  checkpoint->opening = false;
  if (!model) {
    checkpoint->error = model.error();
    report(model.error());
  } else {
    checkpoint->model = *std::move(model);
    run(*checkpoint);
  }
  Q_EMIT checkpoints_changed();
  change(state_, false);  // layer and head may have gone out of range
}

void Studio::opened_trace(int id, Result<std::shared_ptr<const models::Trace>> trace) {
  Checkpoint* checkpoint = find_mutable(id);
  if (checkpoint == nullptr) {
    return;
  }
  checkpoint->opening = false;
  checkpoint->trace = *std::move(trace);
  Q_EMIT checkpoints_changed();
  Q_EMIT runs_changed();
  change(state_, false);
}

void Studio::remove(int id) {
  worker_.drop(slot_of("open", id));
  worker_.drop(slot_of("run", id));
  worker_.drop(kGenerate);
  std::erase_if(checkpoints_, [&](const Checkpoint& each) { return each.id == id; });
  Q_EMIT checkpoints_changed();
  Q_EMIT runs_changed();
  change(state_, false);
}

void Studio::set_shown(int id, bool shown) {
  Checkpoint* checkpoint = find_mutable(id);
  if (checkpoint == nullptr || checkpoint->entry.shown == shown) {
    return;
  }
  checkpoint->entry.shown = shown;
  if (shown && checkpoint->model && !checkpoint->trace && !checkpoint->running) {
    run(*checkpoint);
  }
  Q_EMIT checkpoints_changed();
  Q_EMIT runs_changed();
  change(state_, false);
}

std::vector<const Checkpoint*> Studio::columns() const {
  std::vector<const Checkpoint*> shown;
  for (const Checkpoint& each : checkpoints_) {
    if (each.entry.shown && each.trace) {
      shown.push_back(&each);
    }
  }
  return shown;
}

// ---- input

void Studio::set_text(const std::string& text) {
  if (input_.text == text) {
    return;
  }
  models::Input input;
  input.text = text;
  input.position_start = input_.position_start;
  input_ = std::move(input);
  worker_.drop(kGenerate);  // of the text before
  since_input_.start();
  measuring_ = true;
  debounce_.start();
  Q_EMIT input_changed();
}

void Studio::set_input(const models::Input& input) {
  worker_.drop(kGenerate);
  input_ = input;
  since_input_.start();
  measuring_ = true;
  Q_EMIT input_changed();
  run_all();
}

void Studio::generate(std::int64_t count, double temperature) {
  const auto shown = columns();
  if (shown.empty() || !shown.front()->model || !input_.text) {
    report(unsupported("Generation continues a text: type one, and open a checkpoint that reads text"));
    return;
  }
  models::RunOptions options;
  options.reuse = shown.front()->last;
  worker_.submit<models::Generation>(
      Priority::kForward, kGenerate, "Continuing with " + shown.front()->name,
      [model = shown.front()->model, input = input_, options,
       wanted = models::GenerateOptions{count, temperature, ++draws_}](StopToken stop, const Progress& progress) {
        return model->generate(input, wanted, options, std::move(stop), progress);
      },
      [this, id = shown.front()->id](Result<models::Generation> made) {
        if (!made) {
          report(made.error());
          return;
        }
        if (Checkpoint* checkpoint = find_mutable(id); checkpoint != nullptr) {
          checkpoint->last = made->trace;  // so that showing it computes next to nothing
        }
        models::Input input = input_;
        input.text = input.text.value_or("") + made->text;
        set_input(input);
      });
}

void Studio::run_all() {
  debounce_.stop();
  for (Checkpoint& checkpoint : checkpoints_) {
    if (checkpoint.model && checkpoint.entry.shown) {
      run(checkpoint);
    } else if (checkpoint.model) {
      checkpoint.trace.reset();  // of an older input; runs again when shown
      checkpoint.last.reset();
      checkpoint.top.clear();
    }
  }
}

void Studio::run(Checkpoint& checkpoint) {
  const bool empty = !input_.ids && !input_.image && !input_.pixels && (!input_.text || input_.text->empty());
  if (!checkpoint.entry.shown || !checkpoint.model) {
    return;
  }
  if (empty) {
    worker_.drop(slot_of("run", checkpoint.id));
    checkpoint.trace.reset();
    checkpoint.last.reset();
    checkpoint.top.clear();
    checkpoint.running = false;
    Q_EMIT runs_changed();
    request_figure();
    return;
  }
  checkpoint.running = true;
  // The figure that is being made is of an older input, and a long analysis would keep the run waiting.
  worker_.drop("figure");
  figure_pending_ = false;
  const int id = checkpoint.id;
  worker_.submit<Run>(
      Priority::kForward, slot_of("run", id), "Running " + checkpoint.name,
      [model = checkpoint.model, input = input_, last = checkpoint.last](StopToken stop,
                                                                         const Progress& progress) -> Result<Run> {
        models::RunOptions options;
        options.continuable = true;
        options.reuse = last;
        LOCUS_TRY(auto trace, model->run(input, options, std::move(stop), announced(*model, input, options, progress)));
        auto top = trace->top(kPredictions);
        return Run{std::move(trace), std::move(top)};
      },
      [this, id](Result<Run> run_result) {
        Checkpoint* done = find_mutable(id);
        if (done == nullptr) {
          return;
        }
        done->running = false;
        const std::size_t warned = done->info() == nullptr ? 0 : done->info()->warnings.size();
        done->trace = run_result ? run_result->trace : nullptr;
        done->top = run_result ? run_result->top : std::vector<models::Prediction>{};
        done->last = run_result ? run_result->trace : done->last;
        done->error = run_result ? std::nullopt : std::optional(run_result.error());
        if (!run_result) {
          report(run_result.error());
        }
        if (run_result && done->info()->warnings.size() != warned) {
          Q_EMIT checkpoints_changed();  // the weights of a large checkpoint were read at this run
        }
        if (!run_result && run_result.error().code == ErrorCode::kTooLarge) {
          Q_EMIT too_large(QString::fromStdString(run_result.error().describe()));
        }
        Q_EMIT runs_changed();
        change(state_, false);
      });
}

// ---- view

int Studio::largest_layer() const {
  std::int64_t layers = 1;
  for (const Checkpoint* column : columns()) {
    const auto own = column->info()->layers;
    layers = column == columns().front() ? own : std::min(layers, own);
  }
  return static_cast<int>(layers) - 1;
}

int Studio::largest_head() const {
  std::int64_t heads = 1;
  for (const Checkpoint* column : columns()) {
    const auto own = column->info()->heads;
    heads = column == columns().front() ? own : std::min(heads, own);
  }
  return static_cast<int>(heads) - 1;
}

ViewState Studio::clamped(ViewState state) const {
  if (columns().empty()) {
    return state;  // a restored session keeps its place until its checkpoints are there
  }
  state.layer = std::clamp<std::int64_t>(state.layer, 0, largest_layer());
  state.head = std::clamp<std::int64_t>(state.head, views::kMean, largest_head());
  const std::int64_t length = columns().front()->trace->length();
  if (state.query >= length || state.key >= length) {
    state.query = views::kNone;
    state.key = views::kNone;
  }
  const auto view = views::find_view(state.view);
  if (state.camera && view) {
    std::vector<views::Column> shown;
    for (const Checkpoint* column : columns()) {
      shown.push_back({column->name, column->model, column->trace});
    }
    const auto home = (*view)->home(workbench::view_input(state, std::move(shown), **view));
    if (home && !(overlap(home->x, state.camera->x) && overlap(home->y, state.camera->y))) {
      state.camera.reset();  // a shorter text has nothing there
    }
  }
  return state;
}

void Studio::change(ViewState state, bool undoable) {
  state = clamped(std::move(state));
  if (undoable) {
    past_.push_back(state_);
    if (past_.size() > kUndoSteps) {
      past_.erase(past_.begin());
    }
    future_.clear();
  }
  state_ = std::move(state);
  Q_EMIT state_changed();
  request_figure();
  request_cells();
}

void Studio::undo() {
  if (!past_.empty()) {
    future_.push_back(state_);
    const ViewState state = past_.back();
    past_.pop_back();
    change(state, false);
  }
}

void Studio::redo() {
  if (!future_.empty()) {
    past_.push_back(state_);
    const ViewState state = future_.back();
    future_.pop_back();
    change(state, false);
  }
}

const views::View& Studio::view() const {
  const auto found = views::find_view(state_.view);
  return found ? **found : *views::views().front();
}

void Studio::set_canvas_size(int width_px, int height_px) {
  if (width_px != width_px_ || height_px != height_px_) {
    width_px_ = width_px;
    height_px_ = height_px;
    request_figure();
  }
}

views::ViewInput Studio::view_input() const {
  std::vector<views::Column> shown;
  for (const Checkpoint* column : columns()) {
    shown.push_back({column->name, column->model, column->trace});
  }
  views::ViewInput input = workbench::view_input(state_, std::move(shown), view());
  input.width_px = width_px_;
  input.height_px = height_px_;
  input.cache = cache_;
  return input;
}

void Studio::request_figure() {
  const auto shown = columns();
  const bool running = std::any_of(checkpoints_.begin(), checkpoints_.end(),
                                   [](const Checkpoint& each) { return each.entry.shown && each.running; });
  if (shown.empty()) {
    worker_.drop("figure");
    figure_pending_ = false;
    if (!running) {
      figure_.reset();
      figure_error_.reset();
      Q_EMIT figure_changed();
    }
    return;
  }
  if (running) {
    return;  // the last run to end asks again: columns of two inputs are never mixed
  }
  figure_pending_ = true;
  draw(true);
}

void Studio::draw(bool preview) {
  worker_.submit<std::shared_ptr<const figure::Figure>>(
      preview ? Priority::kTile : Priority::kExact, "figure", "Drawing " + view().info().title,
      [view = &view(), input = view_input(), preview](
          StopToken stop, const Progress& progress) -> Result<std::shared_ptr<const figure::Figure>> {
        views::ViewInput watched = input;
        watched.preview = preview;
        watched.stop = std::move(stop);
        watched.progress = progress;
        for (const views::Column& column : watched.columns) {
          LOCUS_CHECK(view->available(column));
        }
        LOCUS_TRY(figure::Figure made, view->figure(watched));
        return std::make_shared<const figure::Figure>(std::move(made));
      },
      [this, state = state_](Result<std::shared_ptr<const figure::Figure>> made) {
        figure_pending_ = made.ok() && is_sampled(**made);
        if (figure_pending_) {
          draw(false);
        }
        const bool cancelled = !made && made.error().code == ErrorCode::kCancelled;
        if (cancelled && figure_state_.view == state.view) {
          return;  // what is shown stays
        }
        if (cancelled) {
          made = Error{ErrorCode::kCancelled, "Cancelled. Press R, or change something, to start again.", {}};
        }
        figure_error_ = made ? std::nullopt : std::optional(made.error());
        figure_ = made ? *made : nullptr;
        figure_state_ = state;
        if (measuring_) {
          measuring_ = false;
          latency_ms_ = static_cast<double>(since_input_.nsecsElapsed()) / 1e6;
        }
        Q_EMIT figure_changed();
      });
}

void Studio::inspect(std::int64_t query, std::int64_t key) {
  hovered_ = {query, key};
  request_cells();
}

void Studio::inspect_pinned() {
  hovered_.reset();
  request_cells();
}

void Studio::request_cells() {
  const auto [query, key] = hovered_.value_or(std::pair(state_.query, state_.key));
  std::vector<views::Column> shown = view_input().columns;
  if (query < 0 || key < 0 || shown.empty()) {
    worker_.drop("cell");
    if (!cells_.empty()) {
      cells_.clear();
      Q_EMIT cells_changed();
    }
    return;
  }
  worker_.submit<std::vector<Cell>>(
      Priority::kPreview, "cell", "",
      [shown = std::move(shown), layer = state_.layer, head = state_.head, query = query, key = key](
          StopToken stop, const Progress&) -> Result<std::vector<Cell>> {
        return cell_values(shown, layer, head, query, key, stop);
      },
      [this](Result<std::vector<Cell>> cells) {
        if (!cells && cells.error().code == ErrorCode::kCancelled) {
          return;
        }
        cells_ = cells ? *std::move(cells) : std::vector<Cell>{};
        Q_EMIT cells_changed();
      });
}

// ---- sessions

Session Studio::session() const {
  Session session;
  for (const Checkpoint& each : checkpoints_) {
    session.checkpoints.push_back(each.entry);
  }
  session.input = input_;
  session.state = state_;
  session.bookmarks = bookmarks_;
  return session;
}

void Studio::restore(const Session& session) {
  while (!checkpoints_.empty()) {
    remove(checkpoints_.back().id);
  }
  worker_.drop(kGenerate);
  past_.clear();
  future_.clear();
  bookmarks_ = session.bookmarks;
  state_ = session.state;
  input_ = session.input;
  Q_EMIT input_changed();
  Q_EMIT state_changed();
  since_input_.start();
  measuring_ = true;
  for (const CheckpointEntry& entry : session.checkpoints) {
    open(entry);
  }
}

void Studio::add_bookmark(const std::string& name) {
  bookmarks_.push_back({name, state_});
  Q_EMIT state_changed();
}

void Studio::show(const Bookmark& bookmark) {
  std::vector<std::filesystem::path> paths;
  for (const CheckpointEntry& entry : bookmark.columns) {
    std::error_code code;
    const auto canonical = std::filesystem::weakly_canonical(entry.path, code);
    paths.push_back(code ? entry.path : canonical);
  }
  std::vector<int> others;
  for (const Checkpoint& each : checkpoints_) {
    bool wanted = bookmark.columns.empty();
    for (std::size_t n = 0; n < paths.size(); ++n) {
      wanted = wanted || (paths[n] == each.entry.path && bookmark.columns[n].overrides == each.entry.overrides);
    }
    if (!wanted) {
      others.push_back(each.id);
    }
  }
  const ViewState before = state_;
  for (const CheckpointEntry& entry : bookmark.columns) {
    open(entry);
  }
  for (const int id : others) {
    set_shown(id, false);
  }
  if (bookmark.input && !(*bookmark.input == input_)) {
    set_input(*bookmark.input);
  }
  change(before);  // the step that undo() comes back to
  const bool waiting = std::any_of(checkpoints_.begin(), checkpoints_.end(), [](const Checkpoint& each) {
    return each.entry.shown && (each.opening || each.running);
  });
  // What runs now may have layers that the present columns have not: it is clamped when it is there.
  state_ = waiting ? bookmark.state : clamped(bookmark.state);
  Q_EMIT state_changed();
  request_figure();
  request_cells();
}

// ---- work

void Studio::cancel() {
  debounce_.stop();
  worker_.cancel_all();
}

bool Studio::settled() const {
  return worker_.idle() && !debounce_.isActive() && !figure_pending_ && !woken_;
}

std::int64_t Studio::memory_mb() const {
  std::int64_t memory = static_cast<std::int64_t>(cache_->size_bytes() >> 20);
  for (const Checkpoint& each : checkpoints_) {
    memory += each.trace ? each.trace->memory_mb() : 0;
  }
  return memory;
}

}  // namespace locus::workbench
