// What is done to the canvas, told to the Studio.
#include <QWheelEvent>
#include <algorithm>
#include <utility>

#include "app/session/shared_options.h"
#include "app/views/list.h"
#include "app/workbench/canvas/canvas_link.h"
#include "app/workbench/state/change_state.h"

namespace locus::workbench {

// The wheel scrolls lists of heads; elsewhere the canvas zooms.
bool CanvasLink::eventFilter(QObject* object, QEvent* event) {
  if (object == &canvas_ && event->type() == QEvent::FocusOut) {
    set_flicker(false);  // Shift is released elsewhere, say in a dialog
    instruments_.leave();
  }
  if (object == &canvas_ && event->type() == QEvent::Wheel) {
    auto* wheel = static_cast<QWheelEvent*>(event);
    const int delta = canvas_.covered(wheel->position()) ? 0 : wheel->angleDelta().y();
    if (delta != 0 && press_in_list(delta > 0 ? Qt::Key_Up : Qt::Key_Down)) {
      return true;
    }
  }
  return QObject::eventFilter(object, event);
}

void CanvasLink::hover(const figure::Hit& hit) {
  if (!can_point()) {
    leave();
    return;
  }
  hover_hit_ = hit;
  const views::ViewInput input = studio_.view_input();
  const views::Selection before = hover_;
  hover_ = input.columns.empty() ? views::Selection{} : pick(input, hit);
  if (!(hover_ == before) && hover_.query) {
    inspect(input);
  }
  studio_.point({hover_.query.value_or(views::kNone), hover_.key.value_or(views::kNone)});
  refresh();
}

// The cell under the pointer; where tokens or patches are tinted by one query's attention, that query's cell.
void CanvasLink::inspect(const views::ViewInput& input) {
  if (hover_.key) {
    studio_.scheduler().inspect(*hover_.query, *hover_.key);
    return;
  }
  const bool of_another_head = hover_.head && *hover_.head != input.head;
  if (const views::Token query = studio_.view().tinting_query(input); query.chosen() && !of_another_head) {
    studio_.scheduler().inspect(query, *hover_.query);
  } else {
    studio_.scheduler().inspect_pinned();
  }
}

void CanvasLink::leave() {
  if (!hover_hit_) {
    return;
  }
  hover_hit_.reset();
  hover_ = {};
  studio_.scheduler().inspect_pinned();
  studio_.point({});
  refresh();
}

void CanvasLink::click(const figure::Hit& hit) {
  const views::ViewInput input = studio_.view_input();
  if (input.columns.empty() || !can_point()) {
    return;
  }
  views::Selection picked = pick(input, hit);
  // A click on a row of a list chooses it; a double click and Enter open it.
  picked.open = picked.open && !studio_.view().step(input, 0);
  choose(picked);
}

void CanvasLink::drag(const figure::Hit& from, const figure::Hit& to) {
  const views::ViewInput input = studio_.view_input();
  const bool there = !input.columns.empty() && can_point();
  const views::Selection picked = there ? studio_.view().drag(input, from, to) : views::Selection();
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

void CanvasLink::lasso(const std::vector<figure::Hit>& loop, bool add) {
  const views::ViewInput input = studio_.view_input();
  if (input.columns.empty() || !can_point()) {
    return;
  }
  const views::Selection picked = studio_.view().lasso(input, loop, add);
  session::ViewState state = studio_.state();
  if (picked.option) {
    session::set_option(state, studio_.view().info().name, picked.option->first, picked.option->second);
    studio_.change(state);
  }
}

void CanvasLink::box(const figure::Hit& from, const figure::Hit& to, bool finished) {
  const views::ViewInput input = studio_.view_input();
  box_.reset();
  if (!input.columns.empty() && can_point() && from.panel == to.panel) {
    const CanvasBox pulled{pick(input, from), pick(input, to)};
    const auto is_cell = [](const views::Selection& there) { return there.query && there.key && !there.open; };
    if (is_cell(pulled.from) && is_cell(pulled.to)) {
      box_ = pulled;
    }
  }
  if (box_ && finished) {
    Q_EMIT box_chosen(*std::exchange(box_, std::nullopt));
  }
  refresh();
}

void CanvasLink::ask_menu(const std::optional<figure::Hit>& hit, const QPoint& global) {
  if (studio_.checkpoints().shown().empty()) {
    return;
  }
  CanvasPlace place;
  if (hit && can_point()) {
    hover(*hit);
    place = {hover_, value_under_pointer()};
  } else if (studio_.state().query.chosen()) {
    place.selection.query = studio_.state().query;
    place.selection.key = studio_.state().key;
  }
  Q_EMIT menu_requested(place, global);
}

// What a pick or a step means for the state.
void CanvasLink::choose(const views::Selection& picked) {
  session::ViewState state = studio_.state();
  state.layer = picked.layer.value_or(state.layer);
  state.head = picked.head.value_or(state.head);
  state.query = picked.query.value_or(state.query);
  state.key = picked.key.value_or(state.key);
  if (picked.option) {
    session::set_option(state, studio_.view().info().name, picked.option->first, picked.option->second);
  }
  if (picked.open) {
    session::show_view(state, views::attention_view().info().name);
    state.partners = picked.partners;
    hover_hit_.reset();
    hover_ = {};
  }
  if (picked.column) {
    set_column(static_cast<std::size_t>(*picked.column));
  }
  studio_.change(state);
  studio_.scheduler().inspect_pinned();
}

// A drag, or turns of the wheel close together, are one step for undo().
void CanvasLink::change_moving(const session::ViewState& state) {
  moving_.isActive() ? studio_.amend(state) : studio_.change(state);
  moving_.start();
}

void CanvasLink::set_camera(const views::Camera& camera) {
  session::ViewState state = studio_.state();
  state.camera = camera;
  change_moving(state);
}

// The pointer stays where it is, over another panel's cells.
void CanvasLink::set_flicker(bool on) {
  if (on == flicker_) {
    return;
  }
  const auto before = drawn_;
  flicker_ = on;
  refresh();
  if (hover_hit_ && before && drawn_ && hover_hit_->panel < std::min(before->panels.size(), drawn_->panels.size())) {
    const figure::Panel& from = before->panels[hover_hit_->panel];
    const figure::Panel& to = drawn_->panels[hover_hit_->panel];
    figure::Hit hit = *hover_hit_;
    hit.x = figure::from_camera(to.x, figure::to_camera(from.x, hit.x));
    hit.y = figure::from_camera(to.y, figure::to_camera(from.y, hit.y));
    hover(hit);
  }
}

void CanvasLink::fit() {
  change_state(studio_, [](session::ViewState& state) { state.camera.reset(); });
}

void CanvasLink::reset() {
  session::ViewState fresh;
  const session::ViewState& state = studio_.state();
  fresh.view = state.view;
  fresh.layer = state.layer;
  fresh.head = state.head;
  fresh.quantity = state.quantity;
  fresh.navigator = state.navigator;
  studio_.reset_view(fresh);
  studio_.columns().run_cancelled();
}

void CanvasLink::normalise_range() {
  change_state(studio_, [](session::ViewState& state) {
    state.scale.low.reset();
    state.scale.high.reset();
    state.scale.percentile = 100;
  });
}

void CanvasLink::unpin() {
  studio_.pin(views::kNone);
  studio_.scheduler().inspect_pinned();
  if (studio_.view().info().uses_lasso) {
    lasso({}, false);
  }
}

void CanvasLink::move_layer(int by) {
  if (const auto own = own_head()) {
    const std::int64_t last = studio_.view_input().columns[column_].trace->model().layers - 1;
    studio_.set_own_head(column_, views::HeadRef{std::clamp<std::int64_t>(own->layer + by, 0, last), own->head});
    return;
  }
  change_state(studio_, [by](session::ViewState& state) { state.layer = std::max<std::int64_t>(0, state.layer + by); });
}

void CanvasLink::move_head(int by) {
  if (const auto own = own_head()) {
    const std::int64_t last = studio_.view_input().columns[column_].trace->model().heads - 1;
    studio_.set_own_head(column_,
                         views::HeadRef{own->layer, std::clamp<std::int64_t>(own->head + by, views::kMean, last)});
    return;
  }
  change_state(studio_,
               [by](session::ViewState& state) { state.head = std::max<std::int64_t>(views::kMean, state.head + by); });
}

// The chosen column's own layer and head, where it has one.
std::optional<views::HeadRef> CanvasLink::own_head() const {
  const auto columns = studio_.view_input().columns;
  return column_ < columns.size() ? columns[column_].own : std::nullopt;
}

void CanvasLink::toggle_unlinked() {
  const views::ViewInput input = studio_.view_input();
  if (column_ < input.columns.size()) {
    studio_.set_own_head(column_, views::has_own_head(input, column_)
                                      ? std::nullopt
                                      : std::optional(views::head_of_column(input, column_)));
  }
}

}  // namespace locus::workbench
