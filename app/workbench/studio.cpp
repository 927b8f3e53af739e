#include "app/workbench/studio.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "app/session/view_input.h"
#include "app/views/refined_map.h"
#include "app/workbench/cell_values.h"

namespace locus::workbench {

namespace {

constexpr std::size_t kCacheBytes = 256U << 20;
constexpr std::size_t kUndoSteps = 200;

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

// The checkpoints that are or will be columns.
std::vector<int> Studio::shown_ids() const {
  std::vector<int> ids;
  for (const Checkpoint& each : checkpoints_) {
    if (each.entry.shown && !each.error) {
      ids.push_back(each.id);
    }
  }
  return ids;
}

bool Studio::figure_is_current() const {
  return figure_state_.view == state_.view && figure_ids_ == shown_ids();
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
  refining_ = true;
  draw(0, Worker::Clock::now());
}

void Studio::draw(double step_ms, Worker::Clock::time_point since) {
  worker_.submit<std::shared_ptr<const figure::Figure>>(
      step_ms > 0 ? Priority::kExact : Priority::kTile, "figure", "Drawing " + view().info().title,
      [view = &view(), input = view_input(), step_ms](
          StopToken stop, const Progress& progress) -> Result<std::shared_ptr<const figure::Figure>> {
        views::ViewInput watched = input;
        watched.step_ms = step_ms;
        watched.stop = std::move(stop);
        watched.progress = progress;
        for (const views::Column& column : watched.columns) {
          LOCUS_CHECK(view->available(column));
        }
        LOCUS_TRY(figure::Figure made, view->figure(watched));
        return std::make_shared<const figure::Figure>(std::move(made));
      },
      [this, state = state_, ids = shown_ids(), step_ms, since](Result<std::shared_ptr<const figure::Figure>> made) {
        const std::int64_t left = made.ok() ? views::rows_to_refine(**made) : 0;
        figure_pending_ = refining_ && left > 0;
        if (figure_pending_) {
          // Where the cache cannot hold what is finished, all is computed in one step.
          const bool grows = step_ms == 0 || left < rows_left_;
          rows_left_ = left;
          draw(grows ? options_.step_ms : std::numeric_limits<double>::infinity(), since);
        }
        const bool cancelled = !made && made.error().code == ErrorCode::kCancelled;
        if (cancelled && figure_state_.view == state.view && figure_ids_ == ids) {
          return;  // what is shown stays
        }
        if (cancelled) {
          made = Error{ErrorCode::kCancelled, "Cancelled. Press R, or change something, to start again.", {}};
        }
        figure_error_ = made ? std::nullopt : std::optional(made.error());
        figure_ = made ? *made : nullptr;
        figure_state_ = state;
        figure_ids_ = ids;
        if (measuring_) {
          measuring_ = false;
          latency_ms_ = static_cast<double>(since_input_.nsecsElapsed()) / 1e6;
        }
        Q_EMIT figure_changed();
      },
      since);
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
  views::ViewInput input = view_input();
  if (query < 0 || key < 0 || input.columns.empty()) {
    worker_.drop("cell");
    if (!cells_.empty()) {
      cells_.clear();
      Q_EMIT cells_changed();
    }
    return;
  }
  worker_.submit<std::vector<Cell>>(
      Priority::kPreview, "cell", "",
      [input = std::move(input), query = query, key = key](StopToken stop, const Progress&)
          -> Result<std::vector<Cell>> { return cell_values(input, query, key, stop); },
      [this](Result<std::vector<Cell>> cells) {
        if (!cells && cells.error().code == ErrorCode::kCancelled) {
          return;
        }
        cells_ = cells ? *std::move(cells) : std::vector<Cell>{};
        Q_EMIT cells_changed();
      });
}

// ---- work

void Studio::cancel() {
  debounce_.stop();
  refining_ = false;  // a step that has finished is shown, and no other follows it
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
