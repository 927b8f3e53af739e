// The loop that is pulled around points of a figure.
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/viewport/canvas.h"
#include "app/viewport/imgui_color.h"

namespace locus::viewport {

namespace {

constexpr double kMinStep = 2;  // pixels between two points of the loop
constexpr double kMaxStep = 4;  // a longer step gets points between: it is straight on the screen, not on every axis

}  // namespace

void Canvas::pull_lasso(const QPointF& to) {
  if (lasso_.empty()) {
    lasso_.push_back(*press_);
  }
  if ((to - lasso_.back()).manhattanLength() >= kMinStep) {
    lasso_.push_back(to);
  }
  request_frames();
}

void Canvas::drop_lasso() {
  lasso_.clear();
  press_.reset();
  dragging_ = false;
  request_frames();
}

// The last point is joined to the first.
void Canvas::close_lasso(bool add) {
  const std::vector<QPointF> points = std::exchange(lasso_, {});
  request_frames();
  const auto first = hit_at(points.front());
  if (!first) {
    return;
  }
  const figure::PanelLayout& panel = layout_->panels[first->panel];
  std::vector<figure::Hit> loop;
  for (std::size_t n = 0; n < points.size(); ++n) {
    const QPointF from = points[n];
    const QPointF way = points[(n + 1) % points.size()] - from;
    const double steps = std::max(std::ceil(std::hypot(way.x(), way.y()) / kMaxStep), 1.0);
    for (double step = 0; step < steps; ++step) {
      const QPointF at = (from + way * (step / steps)) * dpr();
      loop.push_back({first->panel, panel.x.value(at.x()), panel.y.value(at.y()), -1});
    }
  }
  Q_EMIT lassoed(loop, add);
}

void Canvas::draw_lasso() {
  if (lasso_.size() < 2 || !layout_) {
    return;
  }
  std::vector<ImVec2> points;
  for (const QPointF& each : lasso_) {
    points.emplace_back(static_cast<float>(each.x() * dpr()), static_cast<float>(each.y() * dpr()));
  }
  ImDrawList* const list = ImGui::GetBackgroundDrawList();
  const auto width = static_cast<float>(1.5 * dpr());
  list->AddPolyline(points.data(), static_cast<int>(points.size()), imgui_color(layout_->style.foreground), 0, width);
  // Where the loop will be closed.
  list->AddLine(points.back(), points.front(), imgui_color(layout_->style.muted), width);
}

}  // namespace locus::viewport
