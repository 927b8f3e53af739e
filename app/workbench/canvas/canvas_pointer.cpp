#include "app/workbench/canvas/canvas_pointer.h"

#include <algorithm>
#include <utility>

namespace locus::workbench {

CanvasPointer::CanvasPointer(Studio& studio, viewport::Canvas& canvas, CanvasFigure& figure, CanvasActions& actions)
    : studio_(studio), canvas_(canvas), figure_(figure), actions_(actions) {
  connect(&canvas_, &viewport::Canvas::hovered, this, &CanvasPointer::hover);
  connect(&canvas_, &viewport::Canvas::left, this, &CanvasPointer::leave);
  connect(&canvas_, &viewport::Canvas::clicked, this, &CanvasPointer::click);
  connect(&canvas_, &viewport::Canvas::boxed, this, &CanvasPointer::draw_box);
  connect(&canvas_, &viewport::Canvas::context_requested, this, &CanvasPointer::request_menu);
  connect(&actions_, &CanvasActions::opened, this, &CanvasPointer::forget);
  connect(&studio_, &Studio::state_changed, this, &CanvasPointer::follow_view);
  connect(&studio_, &Studio::figure_changed, this, &CanvasPointer::follow_view);
  connect(&studio_, &Studio::state_changed, this, [this] {
    if (const views::ViewInput input = studio_.view_input();
        selection_.query && !selection_.key && !input.columns.empty()) {
      inspect(input);  // a token of a tinted text: the query that tints it may have changed
    }
  });
}

void CanvasPointer::forget() {
  rests_ = rests_ || hit_.has_value();
  hit_.reset();
  selection_ = {};
}

void CanvasPointer::hover(const figure::Hit& hit) {
  if (!figure_.can_point()) {
    clear();
    rests_ = true;
    return;
  }
  rests_ = false;
  hit_ = hit;
  view_ = studio_.state().view;
  const views::ViewInput input = studio_.view_input();
  const views::Selection before = selection_;
  selection_ = input.columns.empty() ? views::Selection{} : figure_.pick(input, hit);
  if (!(selection_ == before) && selection_.query) {
    inspect(input);
  }
  studio_.point({selection_.query.value_or(views::kNone), selection_.key.value_or(views::kNone)});
  canvas_.invalidate();
}

// Requests the values of the cell under the pointer; where tokens or patches are tinted by one query's attention, of
// the cell of that query and the token.
void CanvasPointer::inspect(const views::ViewInput& input) {
  if (selection_.key) {
    studio_.scheduler().inspect(*selection_.query, *selection_.key);
    return;
  }
  const bool of_another_head = selection_.head && *selection_.head != input.head;
  if (const views::Token query = studio_.view().tinting_query(input); query.chosen() && !of_another_head) {
    studio_.scheduler().inspect(query, *selection_.query);
  } else {
    studio_.scheduler().inspect_pinned();
  }
}

// A place of another view's figure means nothing in this one: the canvas reports the pointer's place there once, when it
// is drawn. Reporting it after every layout would not end, since what is pointed at may change the layout.
void CanvasPointer::follow_view() {
  if (hit_ && view_ != studio_.state().view) {
    clear();
    rests_ = true;
  }
  if (rests_ && figure_.can_point()) {
    rests_ = false;
    canvas_.report_place_again();
  }
}

void CanvasPointer::leave() {
  clear();
  rests_ = false;
}

void CanvasPointer::clear() {
  if (!hit_) {
    return;
  }
  forget();
  studio_.scheduler().inspect_pinned();
  studio_.point({});
  canvas_.invalidate();
}

void CanvasPointer::click(const figure::Hit& hit) {
  const views::ViewInput input = studio_.view_input();
  if (!can_point(input)) {
    return;
  }
  views::Selection picked = figure_.pick(input, hit);
  const bool of_head = picked.layer && picked.head.value_or(views::kNone) >= 0 && (picked.open || !picked.query);
  // A click on a row of a list chooses it; a double click or Enter opens it.
  picked.open = picked.open && !studio_.view().step(input, 0);
  actions_.choose(picked);
  if (of_head) {
    Q_EMIT head_clicked();
  }
}

void CanvasPointer::draw_box(const figure::Hit& from, const figure::Hit& to, bool finished) {
  const views::ViewInput input = studio_.view_input();
  box_.reset();
  if (can_point(input) && from.panel == to.panel) {
    const CanvasBox drawn{figure_.pick(input, from), figure_.pick(input, to)};
    const auto is_cell = [](const views::Selection& there) { return there.query && there.key && !there.open; };
    if (is_cell(drawn.from) && is_cell(drawn.to)) {
      box_ = drawn;
    }
  }
  if (box_ && finished) {
    Q_EMIT box_chosen(*std::exchange(box_, std::nullopt));
  }
  canvas_.invalidate();
}

void CanvasPointer::request_menu(const std::optional<figure::Hit>& hit, const QPoint& global) {
  if (studio_.checkpoints().shown().empty()) {
    return;
  }
  CanvasPlace place;
  if (hit && figure_.can_point()) {
    hover(*hit);
    const auto read = hit_ ? figure_.read(*hit_) : std::nullopt;
    place = {selection_, read ? std::optional(read->value) : std::nullopt, canvas_.content().tooltip.text()};
  } else if (studio_.state().query.chosen()) {
    place.selection.query = studio_.state().query;
    place.selection.key = studio_.state().key;
  }
  Q_EMIT menu_requested(place, global);
}

void CanvasPointer::show_reference(bool on) {
  if (on == figure_.shows_reference()) {
    return;
  }
  const auto before = figure_.shown();
  figure_.set_shows_reference(on);
  const auto after = figure_.shown();
  canvas_.invalidate();
  if (hit_ && before && after && hit_->panel < std::min(before->panels.size(), after->panels.size())) {
    const figure::Panel& from = before->panels[hit_->panel];
    const figure::Panel& to = after->panels[hit_->panel];
    figure::Hit hit = *hit_;
    hit.x = figure::from_camera(to.x, figure::to_camera(from.x, hit.x));
    hit.y = figure::from_camera(to.y, figure::to_camera(from.y, hit.y));
    hover(hit);
  }
}

}  // namespace locus::workbench
