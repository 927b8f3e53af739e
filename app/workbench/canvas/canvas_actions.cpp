#include "app/workbench/canvas/canvas_actions.h"

#include <algorithm>

#include "app/session/shared_options.h"
#include "app/workbench/state/change_state.h"
#include "app/workbench/widgets/qt_text.h"

namespace locus::workbench {

namespace {

constexpr int kMoveMs = 700;  // after this pause the next move of the camera is a new step for undo()

}  // namespace

CanvasActions::CanvasActions(Studio& studio, const CanvasFigure& figure) : studio_(studio), figure_(figure) {
  moving_.setSingleShot(true);
  moving_.setInterval(kMoveMs);
  connect(&studio_, &Studio::state_changed, &moving_, &QTimer::stop);
  connect(&studio_, &Studio::runs_changed, this, &CanvasActions::follow_column);
}

// ---- the chosen column

void CanvasActions::set_column(std::size_t column) {
  const std::size_t columns = studio_.checkpoints().shown().size();
  if (column < columns && column != column_) {
    column_ = column;
    column_id_ = studio_.checkpoints().shown()[column]->id;
    Q_EMIT column_changed(column);
  }
}

void CanvasActions::follow_column() {
  const auto columns = studio_.checkpoints().shown();
  const auto there = std::ranges::find(columns, column_id_, &Checkpoint::id);
  if (there != columns.end()) {
    set_column(static_cast<std::size_t>(there - columns.begin()));
    return;
  }
  const Checkpoint* gone = studio_.checkpoints().find(column_id_);
  if (!columns.empty() && (gone == nullptr || !gone->entry.shown)) {
    const std::size_t nearest = std::min(column_, columns.size() - 1);
    column_id_ = columns[nearest]->id;
    set_column(nearest);
  }
}

// ---- layer and head

std::optional<views::HeadRef> CanvasActions::own_head() const {
  const auto columns = studio_.view_input().columns;
  return column_ < columns.size() ? columns[column_].own : std::nullopt;
}

void CanvasActions::move_layer(int by) {
  if (const auto own = own_head()) {
    const std::int64_t last = studio_.view_input().columns[column_].trace->model().layers - 1;
    studio_.column_actions().set_own_head(
        column_, views::HeadRef{std::clamp<std::int64_t>(own->layer + by, 0, last), own->head});
    return;
  }
  change_state(studio_, [by](session::ViewState& state) { state.layer = std::max<std::int64_t>(0, state.layer + by); });
}

void CanvasActions::move_head(int by) {
  if (const auto own = own_head()) {
    const std::int64_t last = studio_.view_input().columns[column_].trace->model().heads - 1;
    studio_.column_actions().set_own_head(
        column_, views::HeadRef{own->layer, std::clamp<std::int64_t>(own->head + by, views::kMean, last)});
    return;
  }
  change_state(studio_,
               [by](session::ViewState& state) { state.head = std::max<std::int64_t>(views::kMean, state.head + by); });
}

void CanvasActions::toggle_unlinked() {
  const views::ViewInput input = studio_.view_input();
  if (column_ < input.columns.size()) {
    studio_.column_actions().set_own_head(column_, views::has_own_head(input, column_)
                                                       ? std::nullopt
                                                       : std::optional(views::head_of_column(input, column_)));
  }
}

Status CanvasActions::can_link_by_depth() const {
  const auto columns = studio_.view_input().columns;
  const bool alike = std::ranges::all_of(columns, [&](const views::Column& column) {
    return column.trace->model().layers == columns.front().trace->model().layers;
  });
  return alike && !studio_.state().by_depth ? usage("layers by depth need columns of different depth") : Status();
}

void CanvasActions::toggle_by_depth() {
  if (const Status can = can_link_by_depth(); !can.ok()) {
    Q_EMIT studio_.noticed(QString::fromStdString(can.error().message));
    return;
  }
  views::ViewInput input = studio_.view_input();
  const std::int64_t layer = views::head_of_column(input, column_).layer;
  input.by_depth = !input.by_depth;
  change_state(studio_, [&](session::ViewState& state) {
    state.by_depth = input.by_depth;
    state.layer = views::linked_layer(input, column_, layer);
  });
}

// ---- camera and options

void CanvasActions::fit() {
  change_state(studio_, [](session::ViewState& state) { state.camera.reset(); });
}

void CanvasActions::reset() {
  session::ViewState fresh;
  const session::ViewState& state = studio_.state();
  fresh.view = state.view;
  fresh.layer = state.layer;
  fresh.head = state.head;
  fresh.quantity = state.quantity;
  fresh.by_depth = state.by_depth;
  fresh.navigator = state.navigator;
  studio_.column_actions().reset_view(fresh);
  studio_.columns().runs().run_cancelled();
}

void CanvasActions::normalise_range() {
  change_state(studio_, [](session::ViewState& state) {
    state.scale.low.reset();
    state.scale.high.reset();
    state.scale.percentile = 100;
  });
}

void CanvasActions::unpin() {
  studio_.pin(views::kNone);
  studio_.scheduler().inspect_pinned();
  if (studio_.view().info().uses_lasso) {
    lasso({}, false);
  }
}

// ---- selections

// Its column alone: views of runs show no atlas, and views of atlases no run.
bool CanvasActions::show_run(const views::RunOfIds& run) {
  std::vector<int> shown;
  std::vector<int> others;
  for (const Checkpoint& each : studio_.checkpoints().all()) {
    const bool own = each.model && each.model->info().name == run.checkpoint;
    (own && (shown.empty() || each.entry.shown) ? shown : others).push_back(each.id);
  }
  if (shown.empty()) {
    Q_EMIT studio_.noticed(qt("open " + run.checkpoint + " to see this window in it"));
    return false;
  }
  for (const int id : others) {
    studio_.columns().set_shown(id, false);
  }
  for (const int id : shown) {
    studio_.columns().set_shown(id, true);
  }
  studio_.inputs().set_ids(run.ids);
  return true;
}

void CanvasActions::choose(const views::Selection& picked) {
  if (picked.run && !show_run(*picked.run)) {
    return;
  }
  session::ViewState state = studio_.state();
  if (picked.run) {
    session::show_view(state, "attention-text");
  }
  if (picked.layer) {
    const auto column = static_cast<std::size_t>(std::max<std::int64_t>(picked.column.value_or(0), 0));
    state.layer = views::linked_layer(studio_.view_input(), column, *picked.layer);
  }
  state.head = picked.head.value_or(state.head);
  state.query = picked.query.value_or(state.query);
  state.key = picked.key.value_or(state.key);
  if (picked.option) {
    session::set_option(state, studio_.view().info().name, picked.option->first, picked.option->second);
  }
  if (picked.open) {
    session::show_view(state, "attention");
    state.partners = picked.partners;
    Q_EMIT opened();
  }
  if (picked.column) {
    set_column(static_cast<std::size_t>(*picked.column));
  }
  studio_.change(state);
  studio_.scheduler().inspect_pinned();
}

void CanvasActions::drag(const figure::Hit& from, const figure::Hit& to) {
  const views::ViewInput input = studio_.view_input();
  const views::Selection picked = can_point(input) ? studio_.view().drag(input, from, to) : views::Selection();
  if (!picked.option) {
    return;
  }
  const auto now = input.options.values().find(picked.option->first);
  if (now != input.options.values().end() && now->second == picked.option->second) {
    return;
  }
  session::ViewState state = studio_.state();
  session::set_option(state, studio_.view().info().name, picked.option->first, picked.option->second);
  change_moving(state);
}

void CanvasActions::lasso(const std::vector<figure::Hit>& loop, bool add) {
  const views::ViewInput input = studio_.view_input();
  const views::Selection picked = can_point(input) ? studio_.view().lasso(input, loop, add) : views::Selection();
  session::ViewState state = studio_.state();
  if (picked.option) {
    session::set_option(state, studio_.view().info().name, picked.option->first, picked.option->second);
    studio_.change(state);
  }
}

void CanvasActions::change_moving(const session::ViewState& state) {
  moving_.isActive() ? studio_.amend(state) : studio_.change(state);
  moving_.start();
}

void CanvasActions::set_camera(const views::Camera& camera) {
  session::ViewState state = studio_.state();
  state.camera = camera;
  change_moving(state);
}

}  // namespace locus::workbench
