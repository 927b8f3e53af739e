#include "app/workbench/work/figure_scheduler.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "app/figures/view_input.h"
#include "app/views/shared/score_maps/refined_map.h"
#include "core/base/work_time.h"

namespace locus::workbench {

namespace {

constexpr std::size_t kCacheBytes = 256U << 20;
constexpr const char* kFigure = "figure";  // slots of the worker
constexpr const char* kEarly = "early figure";
constexpr const char* kCell = "cell";

// The canvas as views are told of it, who put their panels into one row: a row that wraps on screen into the grid that
// makes its maps largest is as wide as its lines together.
std::pair<int, int> unrolled(int width_px, int height_px, int panels) {
  int best = std::max(panels, 1);
  const auto rows = [&](int columns) { return (panels + columns - 1) / columns; };
  const auto side = [&](int columns) { return std::min(width_px / columns, height_px / rows(columns)); };
  for (int columns = best - 1; columns > 0; --columns) {
    best = side(columns) > side(best) ? columns : best;
  }
  return {width_px / best * std::max(panels, 1), panels > 1 ? height_px / rows(best) : height_px};
}

}  // namespace

FigureScheduler::Made FigureScheduler::figure_of(const views::View& view, views::ViewInput input, StopToken stop,
                                                 const Progress& progress) {
  const Worker::Clock::time_point begun = Worker::Clock::now();
  const WorkTime time;
  input.stop = std::move(stop);
  input.progress = progress;
  for (const views::Column& column : input.columns) {
    LOCUS_CHECK(view.available(column));
  }
  LOCUS_TRY(figure::Figure made, view.figure(input));
  return Drawn{std::make_shared<const figure::Figure>(std::move(made)), begun, time.ms()};
}

FigureScheduler::FigureScheduler(Worker& worker, const CheckpointList& columns, const History& history, double step_ms,
                                 double so_far_ms)
    : worker_(worker),
      columns_(columns),
      history_(history),
      step_ms_(step_ms),
      so_far_ms_(so_far_ms),
      cache_(std::make_shared<views::FieldCache>(kCacheBytes)) {}

const views::View& FigureScheduler::view() const {
  const auto found = views::find_view(history_.state().view);
  return found ? **found : *views::views().front();
}

views::ViewInput FigureScheduler::view_input() const {
  views::ViewInput input = session::view_input(history_.state(), columns_.view_columns(history_.state().side), view());
  const int panels = static_cast<int>(input.columns.size() + views::difference_panels(input));
  std::tie(input.width_px, input.height_px) = unrolled(width_px_, height_px_, view().info().uses_camera ? panels : 1);
  input.cache = cache_;
  return input;
}

void FigureScheduler::set_canvas_size(int width_px, int height_px) {
  if (width_px != width_px_ || height_px != height_px_) {
    width_px_ = width_px;
    height_px_ = height_px;
    update();
  }
}

void FigureScheduler::hold() {
  worker_.drop(kFigure);
  worker_.drop(kEarly);
  pending_ = false;
  drawing_ = false;
  early_asked_ = -1;
}

void FigureScheduler::update() {
  if (columns_.shown().empty()) {
    hold();
    if (!columns_.running()) {
      figure_.reset();
      error_.reset();
      early_layer_ = -1;
      Q_EMIT changed();
      return;
    }
  }
  if (columns_.running()) {
    draw_early(true);
    return;
  }
  worker_.drop(kEarly);
  early_asked_ = -1;
  pending_ = true;
  drawing_ = true;
  refining_ = true;
  draw(0, std::nullopt);
}

void FigureScheduler::update_early() {
  draw_early(false);
}

void FigureScheduler::draw_early(bool again) {
  const std::vector<views::Column> columns = columns_.early_columns(history_.state().side);
  const bool elsewhere = history_.state().by_depth && columns.size() > 1;  // a part of a model has no depth
  if (columns.empty() || !columns_.running() || !view().info().uses_layer || elsewhere) {
    return;
  }
  views::ViewInput input = view_input();
  input.columns = columns;
  std::int64_t done = columns.front().trace->model().layers;
  for (const views::Column& column : columns) {
    done = std::min(done, column.trace->model().layers);
  }
  session::ViewState state = history_.state();
  input.layer = state.layer = std::min(state.layer, done - 1);
  input.partners.clear();
  for (views::Column& column : input.columns) {
    column.own.reset();
  }
  if (input.layer == early_asked_ && !again) {
    return;
  }
  early_asked_ = input.layer;
  input.step_ms = 0;
  worker_.submit<Drawn>(
      Priority::kTile, kEarly, "",
      [view = &view(), input](StopToken stop, const Progress& progress) {
        return figure_of(*view, input, std::move(stop), progress);
      },
      [this, state, ids = columns_.shown_ids()](Made made) {
        if (made && columns_.running()) {
          error_.reset();
          figure_ = made->figure;
          figure_state_ = state;
          figure_ids_ = ids;
          early_layer_ = state.layer;
          Q_EMIT changed();
        }
      });
}

void FigureScheduler::draw(double step_ms, std::optional<Worker::Clock::time_point> since) {
  views::ViewInput input = view_input();
  input.step_ms = step_ms;
  worker_.submit<Drawn>(
      step_ms > 0 ? Priority::kExact : Priority::kTile, kFigure, "Drawing " + view().info().title,
      [this, view = &view(), input, state = history_.state(), ids = columns_.shown_ids()](StopToken stop,
                                                                                          const Progress& progress) {
        views::ViewInput told = input;
        told.so_far_ms = so_far_ms_;
        told.so_far = [this, &state, &ids](figure::Figure made) {
          auto part = std::make_shared<const figure::Figure>(std::move(made));
          worker_.tell([this, state, ids, part = std::move(part)] { show_part(part, state, ids); });
        };
        return figure_of(*view, std::move(told), std::move(stop), progress);
      },
      [this, state = history_.state(), ids = columns_.shown_ids(), step_ms, since](Made made) {
        const std::int64_t left = made.ok() ? views::rows_to_refine(*made->figure) : 0;
        drawing_ms_ = made.ok() ? (step_ms > 0 ? drawing_ms_ : 0) + made->ms : 0;
        pending_ = refining_ && left > 0;
        if (pending_) {
          // Where the cache cannot hold what is finished, all is computed in one step.
          const bool grows = step_ms == 0 || left < rows_left_;
          rows_left_ = left;
          draw(grows ? step_ms_ : std::numeric_limits<double>::infinity(), since.value_or(made->begun));
        }
        show(std::move(made), state, ids);
      },
      since);
}

void FigureScheduler::show_part(std::shared_ptr<const figure::Figure> part, const session::ViewState& state,
                                const std::vector<int>& ids) {
  drawing_ = false;
  early_layer_ = -1;
  error_.reset();
  figure_ = std::move(part);
  figure_state_ = state;
  figure_ids_ = ids;
  Q_EMIT drawn();
  Q_EMIT changed();
}

void FigureScheduler::show(Made made, const session::ViewState& state, const std::vector<int>& ids) {
  const bool cancelled = !made && made.error().code == ErrorCode::kCancelled;
  drawing_ = false;
  if (cancelled && figure_ && figure_state_.view == state.view && figure_ids_ == ids && early_layer_ < 0) {
    Q_EMIT changed();  // what is shown stays
    return;
  }
  early_layer_ = -1;
  if (cancelled) {
    made = Error{ErrorCode::kCancelled, "Cancelled. Press R, or change something, to start again.", {}};
  }
  error_ = made ? std::nullopt : std::optional(made.error());
  figure_ = made ? made->figure : nullptr;
  figure_state_ = state;
  figure_ids_ = ids;
  Q_EMIT drawn();
  Q_EMIT changed();
}

// ---- the cell

void FigureScheduler::inspect(const views::Token& query, const views::Token& key) {
  hovered_ = {query, key};
  update_cells();
}

void FigureScheduler::inspect_pinned() {
  hovered_.reset();
  update_cells();
}

void FigureScheduler::update_cells() {
  const session::ViewState& state = history_.state();
  const auto [query, key] = hovered_.value_or(std::pair(state.query, state.key));
  views::ViewInput input = view_input();
  if (!query.chosen() || !key.chosen() || input.columns.empty()) {
    worker_.drop(kCell);
    if (!cells_.empty()) {
      cells_.clear();
      Q_EMIT cells_changed();
    }
    return;
  }
  worker_.submit<std::vector<Cell>>(
      Priority::kPreview, kCell, "",
      [view = &view(), input = std::move(input), query = query, key = key](StopToken stop, const Progress&)
          -> Result<std::vector<Cell>> { return cell_values(*view, input, query, key, stop); },
      [this](Result<std::vector<Cell>> cells) {
        if (!cells && cells.error().code == ErrorCode::kCancelled) {
          return;
        }
        cells_ = cells ? *std::move(cells) : std::vector<Cell>{};
        Q_EMIT cells_changed();
      });
}

std::int64_t FigureScheduler::memory_limit_mb() {
  return static_cast<std::int64_t>(kCacheBytes >> 20);
}

std::int64_t FigureScheduler::memory_mb() const {
  return static_cast<std::int64_t>(cache_->size_bytes() >> 20);
}

}  // namespace locus::workbench
