#include "app/viewport/drag.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace locus::viewport {

namespace {

constexpr double kThreshold = 4;  // pixels between a click and a drag
constexpr double kMinStep = 2;    // pixels between two points of the lasso
constexpr double kMaxStep = 4;

}  // namespace

void Drag::press(const QPointF& at, Kind kind) {
  press_ = last_ = at;
  kind_ = kind;
  moved_ = false;
}

bool Drag::move(const QPointF& at) {
  moved_ = press_ && (moved_ || (at - *press_).manhattanLength() > kThreshold);
  return moved_;
}

std::optional<Drag::Release> Drag::release() {
  if (!press_) {
    return std::nullopt;
  }
  return Release{*std::exchange(press_, std::nullopt), kind_, std::exchange(moved_, false), std::exchange(lasso_, {})};
}

void Drag::cancel() {
  lasso_.clear();
  press_.reset();
  moved_ = false;
}

void Drag::extend_lasso(const QPointF& to) {
  if (lasso_.empty()) {
    lasso_.push_back(*press_);
  }
  if ((to - lasso_.back()).manhattanLength() >= kMinStep) {
    lasso_.push_back(to);
  }
}

std::vector<figure::Hit> lasso_hits(const std::vector<QPointF>& lasso, const PlacedFigure& figure, double dpr) {
  const auto first = figure.hit_at({lasso.front().x() * dpr, lasso.front().y() * dpr});
  if (!first) {
    return {};
  }
  const figure::PanelLayout& panel = figure.layout()->panels[first->panel];
  std::vector<figure::Hit> loop;
  for (std::size_t n = 0; n < lasso.size(); ++n) {
    const QPointF from = lasso[n];
    const QPointF way = lasso[(n + 1) % lasso.size()] - from;
    const double steps = std::max(std::ceil(std::hypot(way.x(), way.y()) / kMaxStep), 1.0);
    for (double step = 0; step < steps; ++step) {
      const QPointF at = (from + way * (step / steps)) * dpr;
      loop.push_back({first->panel, panel.x.value(at.x()), panel.y.value(at.y()), -1});
    }
  }
  return loop;
}

}  // namespace locus::viewport
