#include "app/workbench/canvas/instruments/wipe_line.h"

#include <QTimer>
#include <algorithm>
#include <cmath>
#include <memory>

#include "app/views/shared/plots/map_lines.h"
#include "app/workbench/canvas/instruments/instruments.h"
#include "app/workbench/canvas/instruments/paint.h"
#include "core/base/numbers.h"

namespace locus::workbench {

namespace {

constexpr double kGrip = 0.75;  // half of the width that takes the pointer, in heights of text
constexpr double kTenth = 0.1;  // of what is visible, a press of Page Up

bool same_cells(const Field& a, const Field& b) {
  return a.rows == b.rows && a.columns == b.columns && a.column_axis.first == b.column_axis.first &&
         a.column_axis.step == b.column_axis.step && a.row_axis.first == b.row_axis.first &&
         a.row_axis.step == b.row_axis.step;
}

// The first column of the reference's part.
std::int64_t first_behind(const Field& field, double x) {
  const double step = field.column_axis.step;
  const double cell = step > 0 ? std::round((x - field.column_axis.first) / step) : 0;
  return static_cast<std::int64_t>(std::clamp(cell, 0.0, static_cast<double>(field.columns)));
}

std::shared_ptr<const Field> wiped_field(const Field& own, const Field& reference, std::int64_t from) {
  auto both = std::make_shared<Field>(own);
  for (std::int64_t row = 0; row < own.rows; ++row) {
    const auto begin = static_cast<std::ptrdiff_t>(row * own.columns);
    std::copy(reference.values.begin() + begin + from, reference.values.begin() + begin + own.columns,
              both->values.begin() + begin + from);
  }
  return both;
}

// The columns whose panels a figure has in its first row.
std::size_t columns_across(const InstrumentFrame& frame) {
  const std::size_t columns = frame.input.columns.size();
  return frame.figure() == nullptr ? 0 : std::min(columns, static_cast<std::size_t>(frame.figure()->columns));
}

}  // namespace

double wipe_edge(const Field& field, double x) {
  return field.column_axis.first + field.column_axis.step * static_cast<double>(first_behind(field, x));
}

std::optional<figure::Panel> wiped(const figure::Panel& own, const figure::Panel& reference, double x) {
  const figure::HeatMap* left = views::map_of(own);
  const figure::HeatMap* right = views::map_of(reference);
  if (left == nullptr || right == nullptr || !same_cells(*left->field, *right->field) ||
      (left->numbers != nullptr) != (right->numbers != nullptr)) {
    return std::nullopt;
  }
  const std::int64_t from = first_behind(*left->field, x);
  figure::Panel both = own;
  for (figure::Layer& layer : both.layers) {
    if (auto* map = std::get_if<figure::HeatMap>(&layer)) {
      const auto before = map->field;
      map->field = wiped_field(*before, *right->field, from);
      map->base.reset();
      map->refined = {};
      if (map->numbers && right->numbers && same_cells(*map->numbers, *right->numbers)) {
        map->numbers = wiped_field(*map->numbers, *right->numbers, from);
      }
      map->texts.reset();  // those of its own column
      map->details.reset();
      map->said.reset();
      map->masked = map->masked || right->masked;
      break;
    }
  }
  return both;
}

bool WipeLine::offered(const InstrumentFrame& frame) const {
  const std::size_t columns = columns_across(frame);
  if (!at_ || columns < 2 || frame.layout() == nullptr || frame.figure()->panels.size() < columns) {
    return false;
  }
  const std::size_t reference = views::reference_of(frame.input);
  const figure::HeatMap* map = reference < columns ? views::map_of(frame.figure()->panels[reference]) : nullptr;
  return map != nullptr && std::ranges::any_of(frame.figure()->panels, [&](const figure::Panel& panel) {
           const figure::HeatMap* own = views::map_of(panel);
           return own != nullptr && own != map && same_cells(*own->field, *map->field);
         });
}

void WipeLine::toggle(const InstrumentFrame& frame) {
  if (at_) {
    at_.reset();
  } else if (const figure::Figure* figure = frame.figure(); figure != nullptr && !figure->panels.empty()) {
    const figure::Axis& axis = figure->panels.front().x;
    at_ = figure::to_camera(axis, (axis.view.low + axis.view.high) / 2);
  }
  if (moved_) {
    QTimer::singleShot(0, &frame.gesture, [moved = moved_] { moved(); });
  }
}

void WipeLine::move(const InstrumentFrame& frame, double x) {
  if (x != at_) {
    at_ = x;
    QTimer::singleShot(0, &frame.gesture, [moved = moved_] { moved(); });
  }
}

// A strip along the line in every panel but the reference's own.
std::vector<figure::Rect> WipeLine::areas(const InstrumentFrame& frame, const std::vector<figure::Rect>& /*taken*/) {
  std::vector<figure::Rect> places;
  panels_.clear();
  const std::size_t columns = columns_across(frame);
  const std::size_t reference = views::reference_of(frame.input);
  const std::size_t across = static_cast<std::size_t>(frame.figure()->columns);
  for (std::size_t n = 0; n < frame.figure()->panels.size() && n < frame.layout()->panels.size(); ++n) {
    const figure::Panel& panel = frame.figure()->panels[n];
    const figure::HeatMap* map = views::map_of(panel);
    if (n % across == reference || n % across >= columns || map == nullptr) {
      continue;
    }
    const figure::PanelLayout& layout = frame.layout()->panels[n];
    const double x = layout.x.place(wipe_edge(*map->field, figure::from_camera(panel.x, *at_)));
    const double half = kGrip * frame.canvas.text;
    const double left = std::clamp(x - half, layout.plot.x - half, layout.plot.right() - half);
    places.push_back({left, layout.plot.y, 2 * half, layout.plot.height});
    panels_.push_back(n);
  }
  return places;
}

void WipeLine::draw(const InstrumentFrame& frame, std::size_t n, const figure::Rect& area) {
  if (n >= panels_.size()) {
    return;
  }
  const std::size_t index = panels_[n];
  const figure::Panel& panel = frame.figure()->panels[index];
  const figure::PanelLayout& layout = frame.layout()->panels[index];
  ImGui::SetCursorScreenPos(paint::from(area));
  ImGui::InvisibleButton("line", paint::at(area.width, area.height));
  if (ImGui::IsItemActive()) {
    const double x = std::clamp(paint::pointer().x, layout.plot.x, layout.plot.right());
    move(frame, figure::to_camera(panel.x, layout.x.value(x)));
  }
  if (ImGui::IsItemHovered() || ImGui::IsItemActive()) {
    ImGui::SetMouseCursor(ImGuiMouseCursor_ResizeEW);
  }
  ImDrawList& list = *ImGui::GetWindowDrawList();  // below the box at the pointer
  const double middle = area.center_x();
  const double wide = frame.canvas.dpr;
  list.AddLine(paint::at(middle, area.y), paint::at(middle, area.bottom()), IM_COL32(0, 0, 0, 160),
               static_cast<float>(3 * wide));
  list.AddLine(paint::at(middle, area.y), paint::at(middle, area.bottom()), IM_COL32(255, 157, 46, 255),
               static_cast<float>(1.5 * wide));
  // A grip in the middle, with an arrow to each side.
  const double size = 0.5 * frame.canvas.text;
  const double y = area.center_y();
  list.AddCircleFilled(paint::at(middle, y), static_cast<float>(1.3 * size), IM_COL32(255, 157, 46, 255));
  for (const double side : {-1.0, 1.0}) {
    list.AddTriangleFilled(paint::at(middle + side * size, y), paint::at(middle + side * 0.25 * size, y - 0.55 * size),
                           paint::at(middle + side * 0.25 * size, y + 0.55 * size), IM_COL32(255, 255, 255, 255));
  }
}

std::string WipeLine::said(const InstrumentFrame& frame) const {
  return !at_ ? std::string("off")
              : "at " + fixed_text(*at_, 0) + ": left the column, right the reference " +
                    frame.input.columns[views::reference_of(frame.input)].name;
}

bool WipeLine::press(const InstrumentFrame& frame, const InstrumentKey& key) {
  const figure::Axis& axis = frame.figure()->panels.front().x;
  const double low = figure::to_camera(axis, axis.view.low);
  const double high = figure::to_camera(axis, axis.view.high);
  const double now = at_.value_or(low);
  const auto to = [&](double x) {
    move(frame, std::clamp(x, std::min(low, high), std::max(low, high)));
    return true;
  };
  switch (key.key) {
    case Qt::Key_Left:
      return to(now - 1);
    case Qt::Key_Right:
      return to(now + 1);
    case Qt::Key_PageUp:
      return to(now - kTenth * std::abs(high - low));
    case Qt::Key_PageDown:
      return to(now + kTenth * std::abs(high - low));
    case Qt::Key_Home:
      return to(low);
    case Qt::Key_End:
      return to(high);
    default:
      return false;
  }
}

std::unique_ptr<Instrument> make_wipe_line() {
  return std::make_unique<WipeLine>();
}

}  // namespace locus::workbench
