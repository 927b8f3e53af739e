#include "app/viewport/canvas.h"

#include <imgui.h>

#include <QDropEvent>
#include <QElapsedTimer>
#include <QGuiApplication>
#include <QMimeData>
#include <QMouseEvent>
#include <QTimer>
#include <QUrl>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <utility>

#include "app/viewport/camera.h"
#include "app/viewport/canvas_painter.h"
#include "app/viewport/canvas_renderer.h"

namespace locus::viewport {

namespace {

constexpr double kTextPx = 13;      // of figures, at scale 1
constexpr double kWheelStep = 1.2;  // zoom factor of a notch of the wheel
constexpr double kWheelLines = 3;   // of a text
constexpr int kExposeRetryMs = 500;

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

Canvas::Canvas() {
  setObjectName(QStringLiteral("canvas"));
  setFlags(QVulkanWindow::PersistentResources);
  // Figures have their final colours: an sRGB attachment would convert them once more.
  setPreferredColorFormats({VK_FORMAT_B8G8R8A8_UNORM, VK_FORMAT_R8G8B8A8_UNORM});
}

// Ends the surface while this is still a QVulkanWindow: its base class would end it without telling the renderer, which
// then keeps what it has on the device.
Canvas::~Canvas() {
  destroy();
}

QVulkanWindowRenderer* Canvas::createRenderer() {
  return new CanvasRenderer(*this);
}

// ---- content

void Canvas::set_source(ContentSource* source) {
  source_ = source;
  invalidate();
}

void Canvas::invalidate() {
  content_stale_ = source_ != nullptr;
  request_frames();
}

void Canvas::update_content() {
  if (std::exchange(content_stale_, false)) {
    apply(source_->content());
    Q_EMIT content_changed();
  }
}

const CanvasContent& Canvas::content() {
  update_content();
  return content_;
}

const figure::Figure* Canvas::figure() {
  update_content();
  return placed_.figure();
}

void Canvas::set_content(CanvasContent content) {
  content_stale_ = false;
  apply(std::move(content));
}

void Canvas::apply(CanvasContent content) {
  content_ = std::move(content);
  placed_.show(content_);
  request_frames();
}

void Canvas::set_overlay(Overlay* overlay) {
  overlay_ = overlay;
  placed_.mark_stale();
  request_frames();
}

// ---- frames

void Canvas::request_frames(int frames) {
  frames_wanted_ = std::max(frames_wanted_, frames);
  if (isExposed()) {
    requestUpdate();
  }
}

bool Canvas::take_frame_request() {
  frames_wanted_ = std::max(0, frames_wanted_ - 1);
  if (imgui_.pending() || imgui_.font_stale()) {
    frames_wanted_ = std::max(frames_wanted_, 2);
  }
  return frames_wanted_ > 0;
}

std::uint32_t Canvas::prepare_frame(int width_px, int height_px) {
  update_content();
  const double text = kTextPx * content_.scale * dpr();
  imgui_.begin(width_px, height_px, static_cast<float>(std::round(text * kImGuiTextScale)), content_.dark);
  const figure::Style style = content_.dark ? figure::Style::dark(text, 1) : figure::Style::light(text, 1);
  placed_.update(QSize(width_px, std::max(1, height_px)), style,
                 overlay_ == nullptr ? std::string() : overlay_->statement());
  const bool moved = std::exchange(laid_out_, placed_.layout_id()) != placed_.layout_id() && reports_ > 0;
  reports_ -= moved ? 1 : 0;
  if (std::exchange(turned_, false) || moved) {
    QTimer::singleShot(0, this, &Canvas::report_place);
  }
  for (const std::string& line : content_.tooltip.lines) {
    imgui_.need(line);
  }
  for (const Bar& bar : content_.bars) {
    imgui_.need(bar.label + bar.text);
  }
  imgui_.need(content_.message);
  imgui_.need(content_.note);
  imgui_.need(content_.caption);
  imgui_.need(placed_.statement_text());
  if (imgui_.font_stale()) {
    imgui_.build_font();
  }
  return style.background;
}

void Canvas::draw_overlays() {
  const CanvasPainter painter(content_, placed_, dpr());
  painter.draw_marks();
  painter.draw_lasso(drag_.lasso());
  painter.draw_texts();
  draw_overlay();
  const ImVec2 at = ImGui::GetIO().MousePos;
  const bool hidden = content_.tooltip.empty() || (overlay_ != nullptr && overlay_->says_cell()) ||
                      covered(QPointF(static_cast<double>(at.x), static_cast<double>(at.y)) / dpr());
  box_ = hidden ? figure::Rect{} : painter.draw_tooltip(drag_.last());
  if (focus_shown_) {
    painter.draw_focus();
  }
}

void Canvas::draw_overlay() {
  if (overlay_ == nullptr) {
    return;
  }
  OverlayFrame frame;
  frame.figure = placed_.figure();
  frame.layout = frame.figure == nullptr ? nullptr : placed_.layout();
  frame.laid_out = placed_.layout_id();
  const ImVec2 pointer = ImGui::GetIO().MousePos;
  frame.pointer = {static_cast<double>(pointer.x), static_cast<double>(pointer.y)};
  frame.width = static_cast<double>(ImGui::GetIO().DisplaySize.x);
  frame.height = static_cast<double>(ImGui::GetIO().DisplaySize.y);
  frame.text = static_cast<double>(ImGui::GetFontSize()) / kImGuiTextScale;
  frame.statement = placed_.statement();
  frame.whole_statement = placed_.statement_text();
  frame.dpr = dpr();
  frame.dark = content_.dark;
  QElapsedTimer timer;
  timer.start();
  overlay_->draw(frame, imgui_);
  overlay_ms_ = static_cast<double>(timer.nsecsElapsed()) / 1e6;
}

void Canvas::report_frame(FrameCost cost) {
  cost.overlay_ms = overlay_ms_;
  if (overlay_ != nullptr) {
    overlay_->measured(cost);
  }
  Q_EMIT frame_drawn(cost.cpu_ms);
}

void Canvas::show_focus(bool shown) {
  if (shown != focus_shown_) {
    focus_shown_ = shown;
    request_frames();
  }
}

// ---- camera

views::Camera Canvas::camera() const {
  return content_.camera ? *content_.camera : content_.home.value_or(views::Camera{});
}

void Canvas::move_camera(const views::Camera& camera, bool finished) {
  if (content_.home) {
    show_camera(clamped(camera, *content_.home), finished);
  }
}

void Canvas::show_camera(const views::Camera& camera, bool finished) {
  content_.camera = camera;
  placed_.set_camera(camera);
  request_frames();
  Q_EMIT camera_moved(camera, finished);
}

void Canvas::zoom_to_cells() {
  update_content();
  if (content_.home && placed_.layout() != nullptr && !placed_.layout()->panels.empty()) {
    const figure::Rect& plot = placed_.layout()->panels.front().plot;
    move_camera(with_size(camera(), plot.width, plot.height), true);
  }
}

// Moves the camera so that the figure follows the pointer.
void Canvas::pan(const QPointF& to) {
  const auto hit = hit_at(drag_.from());
  if (!hit || placed_.shows_text(hit->panel)) {
    return;
  }
  const figure::PanelLayout& place = placed_.layout()->panels[hit->panel];
  const figure::Panel& panel = placed_.figure()->panels[hit->panel];
  const auto along = [&](const figure::Axis& axis, const auto& scale, double from, double end) {
    return figure::to_camera(axis, scale.value(from * dpr())) - figure::to_camera(axis, scale.value(end * dpr()));
  };
  const QPointF from = drag_.last();
  drag_.set_last(to);
  move_camera(moved(camera(), along(panel.x, place.x, from.x(), to.x()), along(panel.y, place.y, from.y(), to.y())),
              false);
}

// Moves a text by lines, and makes its type `factor` times smaller.
void Canvas::scroll_text(std::size_t panel, double lines, double factor) {
  constexpr double kLargest = 0.2;  // width of the camera: the type is five times as large as fits
  constexpr double kSmallest = 2;
  const figure::PanelLayout& place = placed_.layout()->panels[panel];
  const double most = std::max(place.lines - place.lines_seen, 0.0);
  const double first = std::clamp(place.first_line + lines, 0.0, most);
  const views::Camera now = camera();
  const double width = std::clamp((now.x.high - now.x.low) * factor, kLargest, kSmallest);
  show_camera({{0, width}, {first, first + 1}}, true);
}

// ---- events

std::optional<figure::Hit> Canvas::hit_at(const QPointF& point) const {
  return placed_.hit_at({point.x() * dpr(), point.y() * dpr()});
}

void Canvas::release_with(QObject* holder) {
  if (QGuiApplication::platformName().startsWith(QLatin1String("wayland"))) {
    holder->installEventFilter(this);
    unexposed_ = new QTimer(this);
    unexposed_->setInterval(kExposeRetryMs);
    connect(unexposed_, &QTimer::timeout, this, &Canvas::show_again);
  }
}

// A window within another one, shown while Qt waits for the outer one's frame, is never exposed (Qt 6.4): shown again, it
// is.
void Canvas::show_again() {
  if (isExposed() || !isVisible()) {
    unexposed_->stop();
  } else if (parent() != nullptr && parent()->isExposed()) {
    hide();
    show();
  }
}

bool Canvas::eventFilter(QObject* holder, QEvent* event) {
  if (event->type() == QEvent::Show) {
    unexposed_->start();
  }
  if (event->type() == QEvent::Hide) {
    QPlatformSurfaceEvent release(QPlatformSurfaceEvent::SurfaceAboutToBeDestroyed);  // the base class acts on it
    QCoreApplication::sendEvent(this, &release);
  }
  return QVulkanWindow::eventFilter(holder, event);
}

bool Canvas::event(QEvent* event) {
  switch (event->type()) {
    case QEvent::UpdateRequest:
      if (const int wait = source_ == nullptr ? 0 : source_->wait_ms(); wait > 0) {
        frames_wanted_ = std::max(frames_wanted_, 1);
        QTimer::singleShot(wait, Qt::PreciseTimer, this, [this] {
          if (frames_wanted_ > 0) {  // not drawn meanwhile, with the figure
            request_frames(frames_wanted_);
          }
        });
        return true;
      }
      break;
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
        overlay_holds_ = false;
      }
      if (!overlay_holds_) {  // else the overlay is being dragged beyond the canvas
        imgui_.feed(event, dpr());
      }
      Q_EMIT left();
      request_frames();
      break;
    case QEvent::MouseMove:
    case QEvent::MouseButtonPress:
    case QEvent::MouseButtonRelease:
    case QEvent::MouseButtonDblClick:
    case QEvent::Wheel:
    case QEvent::KeyPress:
      update_content();
      break;
    default:
      break;
  }
  return QVulkanWindow::event(event);
}

bool Canvas::covered(const QPointF& point) const {
  return overlay_ != nullptr && !drag_.pressed() &&
         (overlay_->covers({point.x() * dpr(), point.y() * dpr()}) || imgui_.wants_mouse());
}

// Whether the event belongs to the overlay: once a button went down on it, until that is released.
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
  if (placed_.layout() != nullptr && drag_.move(at)) {
    if (content_.lasso && drag_.kind() == Drag::Kind::kPlain) {
      drag_.extend_lasso(at);
      request_frames();
    } else if (drag_.kind() != Drag::Kind::kPlain || !content_.home) {
      report_drag(drag_.from(), at, false);
    } else {
      pan(at);
    }
    return;
  }
  drag_.set_last(at);
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

void Canvas::report_place_again() {
  constexpr int kMaxReports = 4;  // what is pointed at may change the layout: without a limit, it might not end
  reports_ = kMaxReports;
  turned_ = true;
  request_frames();
}

// What is under the pointer, which has not moved, once the figure has.
void Canvas::report_place() {
  if (drag_.pressed()) {
    return;
  }
  if (const auto hit = covered(drag_.last()) ? std::nullopt : hit_at(drag_.last())) {
    Q_EMIT hovered(*hit);
  } else {
    Q_EMIT left();
  }
}

void Canvas::report_drag(const QPointF& from, const QPointF& to, bool finished) {
  const auto begin = hit_at(from);
  const auto end = hit_at(to);
  if (!begin || !end) {
    return;
  }
  switch (drag_.kind()) {
    case Drag::Kind::kLine:
      Q_EMIT lined(*begin, *end, finished);
      break;
    case Drag::Kind::kBox:
      Q_EMIT boxed(*begin, *end, finished);
      break;
    case Drag::Kind::kPlain:
      Q_EMIT dragged(*begin, *end, finished);
      break;
  }
}

void Canvas::mousePressEvent(QMouseEvent* event) {
  show_focus(false);  // only useful to those who use the keyboard
  requestActivate();
  if (!takes(event) && event->button() == Qt::LeftButton && hit_at(event->position())) {
    drag_.press(event->position(), event->modifiers().testFlag(Qt::ControlModifier) ? Drag::Kind::kBox
                                   : event->modifiers().testFlag(Qt::AltModifier)   ? Drag::Kind::kLine
                                                                                    : Drag::Kind::kPlain);
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
  const auto release = event->button() == Qt::LeftButton ? drag_.release() : std::nullopt;
  if (!release) {
    return;
  }
  if (!release->lasso.empty()) {
    request_frames();
    if (const auto loop = lasso_hits(release->lasso, placed_, dpr()); !loop.empty()) {
      Q_EMIT lassoed(loop, event->modifiers().testFlag(Qt::ShiftModifier));
    }
  } else if (release->moved && (release->kind != Drag::Kind::kPlain || !content_.home)) {
    report_drag(release->from, event->position(), true);
  } else if (release->moved) {
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
  drag_.set_last(event->position());
  turned_ = true;
  const double notches = event->angleDelta().y() / 120.0;
  const double factor = std::pow(kWheelStep, -notches);
  if (placed_.shows_text(hit->panel)) {
    const bool zooms = event->modifiers().testFlag(Qt::ControlModifier);
    scroll_text(hit->panel, zooms ? 0 : -kWheelLines * notches, zooms ? factor : 1);
    return;
  }
  const figure::Panel& panel = placed_.figure()->panels[hit->panel];
  move_camera(zoomed(camera(), {figure::to_camera(panel.x, hit->x), figure::to_camera(panel.y, hit->y)}, factor), true);
}

void Canvas::keyPressEvent(QKeyEvent* event) {
  imgui_.feed(event, dpr());
  request_frames();
  if (!drag_.lasso().empty() && event->key() == Qt::Key_Escape) {
    drag_.cancel();
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
  placed_.mark_stale();
  Q_EMIT resized(static_cast<int>(width() * dpr()), static_cast<int>(height() * dpr()));
}

void Canvas::exposeEvent(QExposeEvent* event) {
  if (isExposed() && !isVisible()) {  // was on its way when the window was hidden, and there is no surface any more
    return;
  }
  QVulkanWindow::exposeEvent(event);
  if (isExposed()) {
    request_frames();
  }
}

}  // namespace locus::viewport
