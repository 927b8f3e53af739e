#include "app/workbench/figure_scheduler.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "app/session/view_input.h"
#include "app/views/refined_map.h"

namespace locus::workbench {

namespace {

constexpr std::size_t kCacheBytes = 256U << 20;
constexpr const char* kFigure = "figure";  // slots of the worker
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

FigureScheduler::FigureScheduler(Worker& worker, const CheckpointList& columns, const History& history, double step_ms)
    : worker_(worker),
      columns_(columns),
      history_(history),
      step_ms_(step_ms),
      cache_(std::make_shared<views::FieldCache>(kCacheBytes)) {}

const views::View& FigureScheduler::view() const {
  const auto found = views::find_view(history_.state().view);
  return found ? **found : *views::views().front();
}

views::ViewInput FigureScheduler::view_input() const {
  views::ViewInput input = session::view_input(history_.state(), columns_.view_columns(), view());
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

bool FigureScheduler::is_current() const {
  return figure_state_.view == history_.state().view && figure_ids_ == columns_.shown_ids();
}

void FigureScheduler::hold() {
  worker_.drop(kFigure);
  pending_ = false;
}

void FigureScheduler::update() {
  if (columns_.shown().empty()) {
    hold();
    if (!columns_.running()) {
      figure_.reset();
      error_.reset();
      Q_EMIT changed();
    }
    return;
  }
  if (columns_.running()) {
    return;
  }
  pending_ = true;
  refining_ = true;
  draw(0, Worker::Clock::now());
}

void FigureScheduler::draw(double step_ms, Worker::Clock::time_point since) {
  worker_.submit<std::shared_ptr<const figure::Figure>>(
      step_ms > 0 ? Priority::kExact : Priority::kTile, kFigure, "Drawing " + view().info().title,
      [view = &view(), input = view_input(), step_ms](StopToken stop, const Progress& progress) -> Made {
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
      [this, state = history_.state(), ids = columns_.shown_ids(), step_ms, since](Made made) {
        const std::int64_t left = made.ok() ? views::rows_to_refine(**made) : 0;
        pending_ = refining_ && left > 0;
        if (pending_) {
          // Where the cache cannot hold what is finished, all is computed in one step.
          const bool grows = step_ms == 0 || left < rows_left_;
          rows_left_ = left;
          draw(grows ? step_ms_ : std::numeric_limits<double>::infinity(), since);
        }
        show(std::move(made), state, ids);
      },
      since);
}

void FigureScheduler::show(Made made, const session::ViewState& state, const std::vector<int>& ids) {
  const bool cancelled = !made && made.error().code == ErrorCode::kCancelled;
  if (cancelled && figure_state_.view == state.view && figure_ids_ == ids) {
    return;  // what is shown stays
  }
  if (cancelled) {
    made = Error{ErrorCode::kCancelled, "Cancelled. Press R, or change something, to start again.", {}};
  }
  error_ = made ? std::nullopt : std::optional(made.error());
  figure_ = made ? *made : nullptr;
  figure_state_ = state;
  figure_ids_ = ids;
  Q_EMIT drawn();
  Q_EMIT changed();
}

// ---- the cell

void FigureScheduler::inspect(std::int64_t query, std::int64_t key) {
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
  if (query < 0 || key < 0 || input.columns.empty()) {
    worker_.drop(kCell);
    if (!cells_.empty()) {
      cells_.clear();
      Q_EMIT cells_changed();
    }
    return;
  }
  worker_.submit<std::vector<Cell>>(
      Priority::kPreview, kCell, "",
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

std::int64_t FigureScheduler::memory_mb() const {
  return static_cast<std::int64_t>(cache_->size_bytes() >> 20);
}

}  // namespace locus::workbench
