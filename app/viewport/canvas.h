// Canvas: the window that draws a figure with Vulkan and texts over it with Dear ImGui, and turns mouse, wheel and
// keyboard events into signals. It knows nothing about models: a ContentSource provides what it shows.
//
// A frame is drawn only after a change. All GPU resources live between initResources() and releaseResources() of
// CanvasRenderer, so a lost device costs one flicker.
#pragma once

#include <QStringList>
#include <QVulkanWindow>
#include <memory>
#include <optional>
#include <vector>

#include "app/viewport/canvas_content.h"
#include "app/viewport/drag.h"
#include "app/viewport/imgui_context.h"
#include "app/viewport/overlay.h"
#include "app/viewport/placed_figure.h"

class QTimer;

namespace locus::viewport {

class Canvas : public QVulkanWindow {
  Q_OBJECT

 public:
  Canvas();
  ~Canvas() override;

  // Null: the canvas keeps its present content. The source must outlive the canvas or be removed before.
  void set_source(ContentSource* source);
  // Marks the content as out of date: the source is asked before the next frame or input event.
  void invalidate();
  // The content as it is now; asks the source if it is out of date.
  const CanvasContent& content();
  void set_content(CanvasContent content);

  // On Wayland: releases the surface before `holder`, the widget that shows this window, hides it, since a hidden window
  // loses it and whatever still draws on it ends the program; and shows the window again where it is not exposed.
  void release_with(QObject* holder);

  // Drawn over the figure, with mouse and keys of its own; null: none. It must outlive the canvas or be removed before.
  void set_overlay(Overlay* overlay);
  // Whether the overlay receives the mouse at that point (device-independent pixels) if no button is held.
  bool covered(const QPointF& point) const;

  const PlacedFigure& placed() const { return placed_; }
  // Shorthands for placed(), with content that is up to date.
  const figure::Figure* figure();
  const figure::Layout* layout() const { return placed_.layout(); }
  bool layout_is_current() const { return !content_stale_ && placed_.is_current(); }
  // The tooltip's rectangle in the last frame (device pixels); empty: none.
  const figure::Rect& box() const { return box_; }

  // Zooms around the middle of the figure until one cell is one device pixel.
  void zoom_to_cells();
  // Emits hovered() or left() for the resting pointer once the next frame is laid out, and after the next few changes of
  // the layout: a figure's sentence may come after it.
  void report_place_again();
  // Draws a frame around the canvas while it has the keyboard's focus.
  void show_focus(bool shown);
  bool focus_shown() const { return focus_shown_; }
  // Draws `frames` more frames: ImGui needs two to settle after an event.
  void request_frames(int frames = 3);

  // ---- for CanvasRenderer, once a frame
  QVulkanWindowRenderer* createRenderer() override;
  // Updates content and layout; returns the background's colour (RRGGBBAA). Sizes are device pixels.
  std::uint32_t prepare_frame(int width_px, int height_px);
  // Draws everything above the figure, between ImGui's NewFrame and Render.
  void draw_overlays();
  ImGuiBridge& imgui() { return imgui_; }
  // Whether another frame is to follow this one.
  bool take_frame_request();
  // Passes the cost of a frame on to the overlay and to frame_drawn().
  void report_frame(FrameCost cost);
  void report_lost_device(const QString& message) { Q_EMIT gpu_failed(message); }

 Q_SIGNALS:
  void content_changed();
  void hovered(const locus::figure::Hit& hit);
  void left();
  void clicked(const locus::figure::Hit& hit);
  // A drag over a figure that cannot be zoomed; not `finished`: the button is still down.
  void dragged(const locus::figure::Hit& from, const locus::figure::Hit& to, bool finished);
  // A drag with Ctrl over any figure selects a rectangle; with Alt, a line.
  void boxed(const locus::figure::Hit& from, const locus::figure::Hit& to, bool finished);
  void lined(const locus::figure::Hit& from, const locus::figure::Hit& to, bool finished);
  // A lasso was closed; its points are close together on the screen. `add`: Shift was held.
  void lassoed(const std::vector<locus::figure::Hit>& loop, bool add);
  void camera_moved(const locus::views::Camera& camera, bool finished);
  void fit_requested();
  // A context menu; no hit: the pointer is not on a plot.
  void context_requested(const std::optional<locus::figure::Hit>& hit, const QPoint& global);
  void key_pressed(QKeyEvent* event);
  void key_released(QKeyEvent* event);
  void dropped(const QStringList& paths);
  void resized(int width_px, int height_px);
  void frame_drawn(double cpu_ms);
  void gpu_failed(const QString& message);
  void over_overlay();  // the pointer is on the overlay, not on the figure

 protected:
  bool event(QEvent* event) override;
  bool eventFilter(QObject* holder, QEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void keyReleaseEvent(QKeyEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void exposeEvent(QExposeEvent* event) override;

 private:
  void show_again();
  void update_content();
  void apply(CanvasContent content);
  std::optional<figure::Hit> hit_at(const QPointF& point) const;
  views::Camera camera() const;
  void move_camera(const views::Camera& camera, bool finished);
  void show_camera(const views::Camera& camera, bool finished);
  void pan(const QPointF& to);
  void scroll_text(std::size_t panel, double lines, double factor);
  void report_place();
  void report_drag(const QPointF& from, const QPointF& to, bool finished);
  bool takes(QMouseEvent* event);
  void draw_overlay();
  double dpr() const { return devicePixelRatio(); }

  QTimer* unexposed_ = nullptr;  // runs on Wayland until the window is exposed
  ContentSource* source_ = nullptr;
  CanvasContent content_;
  bool content_stale_ = false;
  PlacedFigure placed_;
  Drag drag_;
  figure::Rect box_;
  Overlay* overlay_ = nullptr;
  bool overlay_holds_ = false;  // a button went down on it and is still held
  double overlay_ms_ = 0;       // in the last frame
  ImGuiBridge imgui_;
  int reports_ = 0;             // layouts after which report_place() is still to come
  std::uint64_t laid_out_ = 0;  // layout of the last frame
  bool turned_ = false;  // the figure has moved under the pointer or is another one, and no frame has shown it yet
  int frames_wanted_ = 0;
  bool focus_shown_ = false;
};

}  // namespace locus::viewport
