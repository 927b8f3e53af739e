#include "app/workbench/canvas/canvas_presenter.h"

#include <algorithm>
#include <utility>

#include "app/views/shared/alignment.h"
#include "app/workbench/canvas/canvas_messages.h"

namespace locus::workbench {

namespace {

// A figure of a short text comes within this time, as long as a frame does not take the cores that it needs.
constexpr int kNearMs = 16;
constexpr int kPatienceMs = 300;  // then the figure is dimmed, and a message says what is being computed
constexpr std::uint32_t kHoverColor = 0xFFFFFFFF;
constexpr std::uint32_t kPinColor = 0xFF9D2EFF;
constexpr std::uint32_t kBoxColor = 0xFF4040FF;

// The diagonal cell stands for a token without a key.
views::Selection cell(const views::Token& query, const views::Token& key) {
  views::Selection selection;
  selection.query = query;
  selection.key = key.chosen() ? key : query;
  return selection;
}

// Whether all columns show one head.
bool alike(const views::ViewInput& input) {
  for (std::size_t n = 1; n < input.columns.size(); ++n) {
    if (views::head_of_column(input, n) != views::head_of_column(input, 0)) {
      return false;
    }
  }
  return true;
}

// The smallest interval that holds both.
figure::Interval hull(const figure::Interval& a, const figure::Interval& b) {
  return {std::min({a.low, a.high, b.low, b.high}), std::max({a.low, a.high, b.low, b.high})};
}

}  // namespace

CanvasPresenter::CanvasPresenter(Studio& studio, viewport::Canvas& canvas, CanvasFigure& figure,
                                 const CanvasPointer& pointer, const CanvasActions& actions,
                                 const InstrumentSet& instruments)
    : studio_(studio),
      canvas_(canvas),
      figure_(figure),
      pointer_(pointer),
      actions_(actions),
      instruments_(instruments),
      tooltip_(studio, figure, pointer) {
  for (const auto change :
       {&Studio::figure_changed, &Studio::state_changed, &Studio::cells_changed, &Studio::runs_changed,
        &Studio::fingerprints_changed, &Studio::pointed_changed, &Studio::checkpoints_changed}) {
    connect(&studio_, change, &canvas_, &viewport::Canvas::invalidate);
  }
  connect(&studio_, &Studio::work_changed, this, &CanvasPresenter::follow_work);
  connect(&actions_, &CanvasActions::column_changed, &canvas_, &viewport::Canvas::invalidate);
  patience_.setInterval(kPatienceMs);  // repeats: the message counts the time
  connect(&patience_, &QTimer::timeout, &canvas_, &viewport::Canvas::invalidate);
}

void CanvasPresenter::set_dark(bool dark) {
  dark_ = dark;
  canvas_.invalidate();
}

void CanvasPresenter::set_captions(bool shown) {
  captions_ = shown;
  canvas_.invalidate();
}

void CanvasPresenter::set_scale(double scale) {
  scale_ = scale;
  canvas_.invalidate();
}

// Progress of the worker is visible only where there is no figure or a message lies over it.
void CanvasPresenter::follow_work() {
  if (!studio_.scheduler().figure() || late_ || figure_.is_stale() != stale_.isValid()) {
    canvas_.invalidate();
  }
}

void CanvasPresenter::watch_staleness() {
  if (!figure_.is_stale()) {
    stale_.invalidate();
    patience_.stop();
  } else if (!stale_.isValid()) {
    stale_.start();
    patience_.start();
  }
  late_ = stale_.isValid() && stale_.elapsed() >= kPatienceMs;
}

int CanvasPresenter::wait_ms() {
  if (!figure_.is_stale()) {
    put_off_.invalidate();
    return 0;
  }
  if (!put_off_.isValid()) {
    put_off_.start();
  }
  return static_cast<int>(std::max<qint64>(0, kNearMs - put_off_.elapsed()));
}

viewport::CanvasContent CanvasPresenter::content() {
  watch_staleness();
  const views::ViewInput input = studio_.view_input();
  const views::View& view = studio_.view();
  viewport::CanvasContent content;
  snapshot_ = {};
  snapshot_.column = actions_.column();
  figure_.set_room(instruments_.wants_room());
  figure_.mark_column(actions_.column());
  figure_.set_wipe(instruments_.wipe());
  content.figure = figure_.shown();
  content.message = canvas_message(studio_, late_);
  content.note = canvas_note(studio_, late_);
  content.dim = late_;
  content.dark = dark_;
  content.scale = scale_;
  if (captions_ && studio_.scheduler().figure_state().view == studio_.state().view) {
    content.caption = view.info().caption;
  }
  if (figure_.shows_reference() && input.columns.size() > 1) {
    content.badge = "reference: " + input.columns[views::reference_of(input)].name;
  }
  if (!input.columns.empty() && figure_.can_point()) {
    content.home = view.home(input);
    content.camera = input.camera;
    content.lasso = view.info().uses_lasso;
    content.outlines = outlines(input);
    content.tooltip = tooltip_.text(input);
    content.bars = tooltip_.bars(input);
    snapshot_.home = content.home;
    snapshot_.input = input;
    snapshot_.hit = pointer_.hit();
    snapshot_.hover = pointer_.selection();
    snapshot_.statement = figure_.statement(input);
  }
  return content;
}

std::vector<viewport::Outline> CanvasPresenter::outlines(const views::ViewInput& input) const {
  std::vector<viewport::Outline> list;
  const views::View& view = studio_.view();
  // In a panel that shows the reference, the place is that of the reference's panel.
  const auto add = [&](const views::Selection& selection, std::uint32_t color, bool cross,
                       std::optional<std::size_t> column = {}) {
    const std::vector<views::Place> places = view.places(input, selection);
    for (const views::Place& place : places) {
      if (column && *column != (place.panel < input.columns.size() ? place.panel : 0)) {
        continue;
      }
      const std::size_t shown = figure_.reference_panel(place.panel).value_or(place.panel);
      const auto there = std::ranges::find(places, shown, &views::Place::panel);
      if (there != places.end()) {
        list.push_back({place.panel, there->x, there->y, color, cross});
      }
    }
  };
  if (pointer_.hit()) {
    add(pointer_.selection(), kHoverColor, true);
  } else if (const Pointed& at = studio_.pointed(); at.query.chosen()) {
    add(cell(at.query, at.key), kHoverColor, true);
  }
  views::Selection pinned;
  if (input.query.chosen()) {
    const views::Selection at = cell(input.query, input.key);
    pinned.query = at.query;
    pinned.key = at.key;
  }
  // Each panel marks the head of its own column.
  for (std::size_t n = 0; n < input.columns.size(); ++n) {
    const auto [layer, head] = views::head_of_column(input, n);
    pinned.layer = layer;
    pinned.head = head;
    const bool linked = alike(input);
    add(pinned, kPinColor, input.query.chosen() && !input.key.chosen(), linked ? std::nullopt : std::optional(n));
    if (linked) {
      break;
    }
  }
  if (const auto& box = pointer_.box()) {
    const auto from = view.places(input, box->from);
    const auto to = view.places(input, box->to);
    for (std::size_t n = 0; n < std::min(from.size(), to.size()); ++n) {
      list.push_back({from[n].panel, hull(from[n].x, to[n].x), hull(from[n].y, to[n].y), kBoxColor, false});
    }
  }
  return list;
}

}  // namespace locus::workbench
