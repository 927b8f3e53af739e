#include "app/workbench/canvas/instruments/measure.h"

#include <algorithm>
#include <utility>

#include "app/views/plots/map_lines.h"
#include "app/workbench/canvas/instruments/paint.h"

namespace locus::workbench {

namespace {

constexpr std::size_t kMostLines = 8;

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

}  // namespace

void Measure::pull(const figure::Hit& from, const figure::Hit& to, bool finished) {
  pulled_ = Line{from, to};
  if (finished && from.panel == to.panel) {
    lines_.push_back(*std::exchange(pulled_, std::nullopt));
    lines_.erase(lines_.begin(), lines_.end() - static_cast<std::ptrdiff_t>(std::min(lines_.size(), kMostLines)));
  } else if (finished) {
    pulled_.reset();
  }
}

void Measure::toggle(const InstrumentFrame& frame) {
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
  at = at ? middle_of_cell(frame, *at) : std::nullopt;
  if (!at) {
    lines_.clear();
    begun_.reset();
  } else if (begun_) {
    pull(*std::exchange(begun_, std::nullopt), *at, true);
  } else {
    begun_ = at;
  }
}

bool Measure::offered(const InstrumentFrame& frame) const {
  return frame.layout() != nullptr && !frame.input.columns.empty() && (!lines_.empty() || pulled_ || begun_);
}

std::vector<figure::Rect> Measure::areas(const InstrumentFrame& /*frame*/, const std::vector<figure::Rect>& /*taken*/) {
  return {};
}

void Measure::draw(const InstrumentFrame& /*frame*/, std::size_t /*n*/, const figure::Rect& /*area*/) {}

void Measure::settle(const InstrumentFrame& frame) {
  if (view_ != frame.view.info().name) {
    view_ = frame.view.info().name;
    lines_.clear();
    begun_.reset();
  }
}

void Measure::draw_below(const InstrumentFrame& frame) {
  settle(frame);
  for (const Line& line : lines_) {
    draw_line(frame, line);
  }
  if (pulled_) {
    draw_line(frame, *pulled_);
  }
  if (begun_) {
    draw_line(frame, {*begun_, frame.hit.value_or(*begun_)});
  }
}

void Measure::draw_line(const InstrumentFrame& frame, const Line& line) {
  const auto from = middle_of_cell(frame, line.from);
  const auto to = middle_of_cell(frame, line.to);
  if (!from || !to || from->panel != to->panel) {
    return;
  }
  const figure::PanelLayout& panel = frame.layout()->panels[from->panel];
  const Field& field = *views::map_of(frame.figure()->panels[from->panel])->field;
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
  const std::vector<std::string> lines{views::measure_text(field, *first, *second)};
  figure::Rect box = paint::box_of(frame, lines);
  // Beside the line, on the side where the pointer is not.
  const bool below = frame.canvas.pointer.y < (a.y + b.y) / 2;
  box.x = std::clamp((a.x + b.x - box.width) / 2, 0.0, std::max(0.0, frame.canvas.width - box.width));
  box.y = std::clamp(below ? std::max(a.y, b.y) + frame.pad() : std::min(a.y, b.y) - box.height - frame.pad(), 0.0,
                     std::max(0.0, frame.canvas.height - box.height));
  paint::box(frame, list, box, lines);
}

std::string Measure::said(const InstrumentFrame& /*frame*/) const {
  return std::to_string(lines_.size()) + " measures";
}

std::unique_ptr<Instrument> make_measure() {
  return std::make_unique<Measure>();
}

}  // namespace locus::workbench
