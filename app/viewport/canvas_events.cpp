// What the user does to the Canvas: mouse, wheel, keyboard, drops.
#include <QDropEvent>
#include <QMimeData>
#include <QMouseEvent>
#include <QUrl>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "app/viewport/canvas.h"

namespace locus::viewport {

namespace {

constexpr double kWheelStep = 1.2;    // a notch of the wheel
constexpr double kWheelLines = 3;     // of a text
constexpr double kDragThreshold = 4;  // pixels between a click and a drag

figure::Interval scaled(const figure::Interval& view, double around, double factor) {
  return {around + (view.low - around) * factor, around + (view.high - around) * factor};
}

QStringList local_files(const QMimeData* mime) {
  QStringList paths;
  for (const QUrl& url : mime->urls()) {
    if (url.isLocalFile()) {
      paths << url.toLocalFile();
    }
  }
  return paths;
}

}  // namespace

// Until the next frame the layout is of the figure before, which may have had more panels.
std::optional<figure::Hit> Canvas::hit_at(const QPointF& point) const {
  const auto hit =
      layout_ && content_.figure ? figure::hit_test(*layout_, point.x() * dpr(), point.y() * dpr()) : std::nullopt;
  return hit && hit->panel < shown_.panels.size() ? hit : std::nullopt;
}

const figure::PanelLayout* Canvas::panel_at(const QPointF& point) const {
  const auto hit = hit_at(point);
  return hit ? &layout_->panels[hit->panel] : nullptr;
}

bool Canvas::event(QEvent* event) {
  switch (event->type()) {
    case QEvent::DragEnter:
    case QEvent::DragMove:
    case QEvent::Drop: {
      auto* drop = static_cast<QDropEvent*>(event);
      const QStringList paths = local_files(drop->mimeData());
      if (!paths.isEmpty()) {
        drop->acceptProposedAction();
        if (event->type() == QEvent::Drop) {
          Q_EMIT dropped(paths);
        }
        return true;
      }
      break;
    }
    case QEvent::Leave:
    case QEvent::FocusOut:
      if (event->type() == QEvent::FocusOut) {
        show_focus(false);
      }
      if (event->type() == QEvent::FocusOut) {
        overlay_holds_ = false;
      }
      if (!overlay_holds_) {  // else it is pulled on, out of the canvas
        imgui_.feed(event, dpr());
      }
      Q_EMIT left();
      request_frames();
      break;
    default:
      break;
  }
  return QVulkanWindow::event(event);
}

bool Canvas::covered(const QPointF& point) const {
  return overlay_ != nullptr && !press_ &&
         (overlay_->covers({point.x() * dpr(), point.y() * dpr()}) || imgui_.wants_mouse());
}

// Whether the mouse is the overlay's: where a button went down it goes on until that is released.
bool Canvas::takes(QMouseEvent* event) {
  imgui_.feed(event, dpr());
  request_frames();
  const bool taken = overlay_holds_ || covered(event->position());
  if (event->type() == QEvent::MouseMove) {
    return taken;
  }
  overlay_holds_ = taken && event->buttons() != Qt::NoButton && event->type() != QEvent::MouseButtonRelease;
  return taken;
}

void Canvas::mouseMoveEvent(QMouseEvent* event) {
  const bool taken = takes(event);
  const QPointF at = event->position();
  if (press_ && layout_ && (dragging_ || (at - *press_).manhattanLength() > kDragThreshold)) {
    dragging_ = true;
    if (content_.lasso && !boxing_ && !lining_) {
      pull_lasso(at);
    } else if (boxing_ || lining_ || !content_.home) {
      report_drag(*press_, at, false);
    } else if (const figure::PanelLayout* panel = panel_at(*press_);
               panel != nullptr && !shows_text(hit_at(*press_)->panel)) {
      const figure::Panel& pulled = shown_.panels[hit_at(*press_)->panel];
      const auto along = [&](const figure::Axis& axis, const auto& scale, double from, double to) {
        return figure::to_camera(axis, scale.value(from * dpr())) - figure::to_camera(axis, scale.value(to * dpr()));
      };
      const double dx = along(pulled.x, panel->x, last_.x(), at.x());
      const double dy = along(pulled.y, panel->y, last_.y(), at.y());
      views::Camera moved = camera();
      moved.x = {moved.x.low + dx, moved.x.high + dx};
      moved.y = {moved.y.low + dy, moved.y.high + dy};
      last_ = at;
      move_camera(moved, false);
    }
    return;
  }
  last_ = at;
  const auto hit = taken ? std::nullopt : hit_at(at);
  if (hit) {
    Q_EMIT hovered(*hit);
  } else {
    Q_EMIT left();
  }
  if (taken) {
    Q_EMIT over_overlay();
  }
}

void Canvas::report_drag(const QPointF& from, const QPointF& to, bool finished) {
  const auto begin = hit_at(from);
  const auto end = hit_at(to);
  if (begin && end && lining_) {
    Q_EMIT lined(*begin, *end, finished);
  } else if (begin && end && boxing_) {
    Q_EMIT boxed(*begin, *end, finished);
  } else if (begin && end) {
    Q_EMIT dragged(*begin, *end, finished);
  }
}

void Canvas::mousePressEvent(QMouseEvent* event) {
  show_focus(false);  // who clicks knows where the keys go
  requestActivate();
  if (!takes(event) && event->button() == Qt::LeftButton && hit_at(event->position())) {
    press_ = event->position();
    last_ = event->position();
    dragging_ = false;
    boxing_ = event->modifiers().testFlag(Qt::ControlModifier);
    lining_ = !boxing_ && event->modifiers().testFlag(Qt::AltModifier);
  }
}

void Canvas::mouseReleaseEvent(QMouseEvent* event) {
  if (takes(event)) {
    return;
  }
  if (event->button() == Qt::RightButton) {
    Q_EMIT context_requested(hit_at(event->position()), event->globalPosition().toPoint());
    return;
  }
  if (event->button() != Qt::LeftButton || !press_) {
    return;
  }
  const bool dragged = dragging_;
  const QPointF from = *press_;
  press_.reset();
  dragging_ = false;
  if (!lasso_.empty()) {
    close_lasso(event->modifiers().testFlag(Qt::ShiftModifier));
  } else if (dragged && (boxing_ || lining_ || !content_.home)) {
    report_drag(from, event->position(), true);
  } else if (dragged) {
    move_camera(camera(), true);
  } else if (const auto hit = hit_at(event->position())) {
    Q_EMIT clicked(*hit);
  }
}

void Canvas::mouseDoubleClickEvent(QMouseEvent* event) {
  if (!takes(event) && hit_at(event->position())) {
    Q_EMIT fit_requested();
  }
}

void Canvas::wheelEvent(QWheelEvent* event) {
  imgui_.feed(event, dpr());
  request_frames();
  const auto hit = hit_at(event->position());
  if (covered(event->position()) || !hit || !content_.home) {
    return;
  }
  const double factor = std::pow(kWheelStep, -event->angleDelta().y() / 120.0);
  if (shows_text(hit->panel)) {
    const bool zooms = event->modifiers().testFlag(Qt::ControlModifier);
    scroll_text(hit->panel, zooms ? 0 : -kWheelLines * event->angleDelta().y() / 120.0, zooms ? factor : 1);
    return;
  }
  const views::Camera now = camera();
  // Both axes stop zooming in together, so that cells keep their shape.
  const double limit =
      kSmallestView / std::max(1e-9, std::min(std::abs(now.x.high - now.x.low), std::abs(now.y.high - now.y.low)));
  const double allowed = std::max(factor, std::min(1.0, limit));
  const figure::Panel& panel = shown_.panels[hit->panel];
  move_camera({scaled(now.x, figure::to_camera(panel.x, hit->x), allowed),
               scaled(now.y, figure::to_camera(panel.y, hit->y), allowed)},
              true);
}

bool Canvas::shows_text(std::size_t panel) const {
  const auto& layers = shown_.panels[panel].layers;
  return std::any_of(layers.begin(), layers.end(),
                     [](const figure::Layer& layer) { return std::holds_alternative<figure::TokenStrip>(layer); });
}

void Canvas::scroll_text(std::size_t panel, double lines, double factor) {
  constexpr double kLargest = 0.2;  // of x.view: type five times as large as fits
  constexpr double kSmallest = 2;
  const figure::PanelLayout& place = layout_->panels[panel];
  const double most = std::max(place.lines - place.lines_seen, 0.0);
  const double first = std::clamp(place.first_line + lines, 0.0, most);
  const views::Camera now = camera();
  const double width = std::clamp((now.x.high - now.x.low) * factor, kLargest, kSmallest);
  show_camera({{0, width}, {first, first + 1}}, true);
}

void Canvas::keyPressEvent(QKeyEvent* event) {
  imgui_.feed(event, dpr());
  request_frames();
  if (!lasso_.empty() && event->key() == Qt::Key_Escape) {
    drop_lasso();
  } else if (!imgui_.wants_keyboard()) {
    event->ignore();
    Q_EMIT key_pressed(event);
  }
}

void Canvas::keyReleaseEvent(QKeyEvent* event) {
  imgui_.feed(event, dpr());
  request_frames();
  Q_EMIT key_released(event);
}

void Canvas::resizeEvent(QResizeEvent* event) {
  QVulkanWindow::resizeEvent(event);
  layout_stale_ = true;
  Q_EMIT resized(static_cast<int>(width() * dpr()), static_cast<int>(height() * dpr()));
}

void Canvas::exposeEvent(QExposeEvent* event) {
  QVulkanWindow::exposeEvent(event);
  if (isExposed()) {
    request_frames();
  }
}

}  // namespace locus::viewport
