#include "app/workbench/canvas/instruments/measure.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/views/shared/plots/map_lines.h"
#include "app/workbench/canvas/instruments/instruments.h"
#include "app/workbench/canvas/instruments/paint.h"

namespace locus::workbench {

namespace {

// The middle of the cell at a place of a panel's map.
std::optional<figure::Hit> middle_of_cell(const InstrumentFrame& frame, const figure::Hit& hit) {
  if (frame.figure() == nullptr || hit.panel >= frame.figure()->panels.size()) {
    return std::nullopt;
  }
  const figure::HeatMap* map = views::map_of(frame.figure()->panels[hit.panel]);
  const auto cell = map == nullptr ? std::nullopt : views::cell_at(*map->field, hit.x, hit.y);
  if (!cell) {
    return std::nullopt;
  }
  const FieldAxis& x = map->field->column_axis;
  const FieldAxis& y = map->field->row_axis;
  return figure::Hit{hit.panel, x.first + x.step * (static_cast<double>(cell->column) + 0.5),
                     y.first + y.step * (static_cast<double>(cell->row) + 0.5), -1};
}

// The corner of the cell of a map there: what a mark keeps of it.
session::MarkedCell marked(const figure::Hit& hit) {
  return {std::floor(hit.x), std::floor(hit.y)};
}

figure::Hit hit_of(std::size_t panel, const session::MarkedCell& cell) {
  return {panel, cell.x, cell.y, -1};
}

// The text of a measure; empty: its cells are not on the shown map.
std::string words_of(const InstrumentFrame& frame, const session::Measure& measure) {
  if (frame.figure() == nullptr || measure.panel >= frame.figure()->panels.size()) {
    return {};
  }
  const figure::HeatMap* map = views::map_of(frame.figure()->panels[measure.panel]);
  const auto from = map == nullptr ? std::nullopt : views::cell_at(*map->field, measure.from.x, measure.from.y);
  const auto to = map == nullptr ? std::nullopt : views::cell_at(*map->field, measure.to.x, measure.to.y);
  return from && to ? views::measure_text(views::numbers_of(*map), *from, *to) : std::string();
}

}  // namespace

void MeasureLines::pull(const InstrumentFrame& frame, const figure::Hit& from, const figure::Hit& to, bool finished) {
  settle(frame);
  pulled_ = Line{from, to};
  if (!finished) {
    return;
  }
  pulled_.reset();
  if (from.panel == to.panel && middle_of_cell(frame, from) && middle_of_cell(frame, to)) {
    session::ViewState state = frame.state();
    state.marks = session::with_measure(std::move(state.marks), {from.panel, marked(from), marked(to)});
    frame.gesture.change(state);
  }
}

bool MeasureLines::toggle_with_shift(const InstrumentFrame& frame) {
  session::ViewState state = frame.state();
  begun_.reset();
  if (!state.marks.measures.empty()) {
    state.marks.measures.pop_back();
    frame.gesture.change(state);
  }
  return true;
}

void MeasureLines::toggle(const InstrumentFrame& frame) {
  settle(frame);
  std::optional<figure::Hit> at = frame.hit;
  if (!at && frame.input.query.chosen()) {
    views::Selection pinned;
    pinned.query = frame.input.query;
    pinned.key = frame.input.key.chosen() ? frame.input.key : frame.input.query;
    const auto places = frame.view.places(frame.input, pinned);
    if (!places.empty()) {
      const views::Place& place = places.front();
      at = figure::Hit{place.panel, (place.x.low + place.x.high) / 2, (place.y.low + place.y.high) / 2, -1};
    }
  }
  at = at && middle_of_cell(frame, *at) ? at : std::nullopt;
  if (!at) {
    session::ViewState state = frame.state();
    state.marks.measures.clear();
    frame.gesture.change(state);
    begun_.reset();
  } else if (begun_) {
    pull(frame, *std::exchange(begun_, std::nullopt), *at, true);
  } else {
    begun_ = at;
  }
}

bool MeasureLines::offered(const InstrumentFrame& frame) const {
  return frame.layout() != nullptr && !frame.input.columns.empty() &&
         (!frame.state().marks.measures.empty() || pulled_ || begun_);
}

std::vector<figure::Rect> MeasureLines::areas(const InstrumentFrame& /*frame*/,
                                              const std::vector<figure::Rect>& /*taken*/) {
  return {};
}

void MeasureLines::draw(const InstrumentFrame& /*frame*/, std::size_t /*n*/, const figure::Rect& /*area*/) {}

void MeasureLines::settle(const InstrumentFrame& frame) {
  if (view_ != frame.view.info().name) {
    view_ = frame.view.info().name;
    begun_.reset();
    pulled_.reset();
  }
}

void MeasureLines::draw_below(const InstrumentFrame& frame) {
  settle(frame);
  boxes_.clear();
  going_on_ = false;
  for (const session::Measure& each : frame.state().marks.measures) {
    draw_line(frame, {hit_of(each.panel, each.from), hit_of(each.panel, each.to)}, false);
  }
  if (pulled_) {
    draw_line(frame, *pulled_, true);
  }
  if (begun_) {
    draw_line(frame, {*begun_, frame.hit.value_or(*begun_)}, true);
  }
}

void MeasureLines::draw_line(const InstrumentFrame& frame, const Line& line, bool going_on) {
  const auto from = middle_of_cell(frame, line.from);
  const auto to = middle_of_cell(frame, line.to);
  if (!from || !to || from->panel != to->panel) {
    return;
  }
  const figure::PanelLayout& panel = frame.layout()->panels[from->panel];
  const Field& field = views::numbers_of(*views::map_of(frame.figure()->panels[from->panel]));
  const figure::Point a{panel.x.place(from->x), panel.y.place(from->y)};
  const figure::Point b{panel.x.place(to->x), panel.y.place(to->y)};
  ImDrawList& list = *ImGui::GetBackgroundDrawList();
  list.PushClipRect(paint::from(panel.plot), paint::to(panel.plot), true);
  const auto wide = static_cast<float>(frame.canvas.dpr);
  list.AddLine(paint::at(a), paint::at(b), IM_COL32(0, 0, 0, 180), 3 * wide);
  list.AddLine(paint::at(a), paint::at(b), IM_COL32(255, 255, 255, 255), 1.2F * wide);
  for (const figure::Point& end : {a, b}) {
    list.AddCircleFilled(paint::at(end), 3 * wide, IM_COL32(255, 157, 46, 255));
  }
  list.PopClipRect();
  const auto first = views::cell_at(field, from->x, from->y);
  const auto second = views::cell_at(field, to->x, to->y);
  if (a.x == b.x && a.y == b.y) {
    return;
  }
  std::vector<std::string> lines = paint::clauses_of(views::measure_text(field, *first, *second));
  if (going_on) {
    going_on_ = true;
    lines.insert(lines.begin(), "to " + views::cell_text(field.row_axis, second->row) + ", " +
                                    views::cell_text(field.column_axis, second->column));
  }
  figure::Rect box = paint::box_of(frame, lines);
  // Beside the line, on the side where the pointer is not.
  const bool below = frame.canvas.pointer.y < (a.y + b.y) / 2;
  box.x = std::clamp((a.x + b.x - box.width) / 2, 0.0, std::max(0.0, frame.canvas.width - box.width));
  box.y = std::clamp(below ? std::max(a.y, b.y) + frame.pad() : std::min(a.y, b.y) - box.height - frame.pad(), 0.0,
                     std::max(0.0, frame.canvas.height - box.height));
  for (const figure::Rect& other : boxes_) {  // below those of other measures
    if (!box.intersected(other).empty()) {
      box.y = std::min(other.bottom() + frame.pad() / 2, std::max(0.0, frame.canvas.height - box.height));
    }
  }
  boxes_.push_back(box);
  paint::box(frame, list, box, lines);
}

std::string MeasureLines::said(const InstrumentFrame& frame) const {
  const auto& measures = frame.state().marks.measures;
  if (begun_) {
    return "from query " + std::to_string(static_cast<std::int64_t>(std::floor(begun_->y))) + ", key " +
           std::to_string(static_cast<std::int64_t>(std::floor(begun_->x)));
  }
  return measures.empty() ? "none"
                          : std::to_string(measures.size()) + ", the latest: " + words_of(frame, measures.back());
}

std::unique_ptr<Instrument> make_measure() {
  return std::make_unique<MeasureLines>();
}

}  // namespace locus::workbench
