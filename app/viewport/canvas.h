// Canvas: the window that draws a Figure with Vulkan and messages over it with Dear ImGui, and turns mouse, wheel and
// keyboard into signals. It knows nothing of models: it is told what to show and says what was done to it.
//
// A frame is drawn only when something changed. Everything on the GPU lives between initResources() and
// releaseResources() of CanvasRenderer, so a lost device costs a flicker.
#pragma once

#include <QSize>
#include <QStringList>
#include <QVulkanWindow>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/viewport/canvas_room.h"
#include "app/viewport/imgui_context.h"
#include "app/viewport/overlay.h"
#include "app/views/shared/view.h"
#include "renderers/figure/figure.h"
#include "renderers/figure/layout.h"
#include "renderers/text/typeface.h"

namespace locus::viewport {

// A rectangle in data units drawn over a panel: the cell under the pointer, the pinned cell.
struct Outline {
  std::size_t panel = 0;
  figure::Interval x;
  figure::Interval y;
  std::uint32_t color = 0xFFFFFFFF;  // RRGGBBAA
  bool cross = false;                // with lines to the axes
};

// A number at the pointer with a bar that says how large it is: "previous ▆▆▁▁ 0.82".
struct Bar {
  std::string label;
  double share = 0;  // of the bar that is full, [0, 1]
  std::string text;
};

// What the canvas shows. Everything is a copy or immutable.
struct Content {
  std::shared_ptr<const figure::Figure> figure;  // null: the message alone
  std::string message;                           // in the middle, for empty and failed states
  std::optional<views::Camera> home;             // the whole of the axes; empty: cannot be zoomed
  std::optional<views::Camera> camera;           // what is visible; empty: home
  bool lasso = false;                            // pulling the pointer draws a loop
  std::vector<Outline> outlines;
  std::vector<std::string> tooltip;  // lines at the pointer; empty: none
  std::vector<Bar> bars;             // below them
  std::string badge;                 // in a corner: "reference: text-rope"
  std::string note;                  // below the figure's middle: what of the figure is not there yet
  bool dim = false;                  // the figure is no longer what was asked for
  std::string caption;               // what the figure shows, in a line beside it; empty: none
  bool dark = false;
  double scale = 1;  // of text
};

class Canvas : public QVulkanWindow {
  Q_OBJECT

 public:
  static constexpr double kSmallestView = 2;  // cells along an axis: closer in is not zoomed

  Canvas();
  ~Canvas() override;

  const Content& content() const { return content_; }
  // As they are seen: where the camera is.
  const std::vector<figure::Panel>& shown_panels() const { return shown_.panels; }
  void set_content(Content content);
  QVulkanWindowRenderer* createRenderer() override;

  // For the renderer, once a frame: lays out what changed; the background's colour. Sizes are device pixels.
  std::uint32_t prepare_frame(int width_px, int height_px);
  // The figure as it is shown; null when there is none.
  const figure::Figure* figure() const { return content_.figure ? &shown_ : nullptr; }
  // Outlines, message and tooltip, between ImGui's NewFrame and Render.
  void draw_overlays();
  ImGuiBridge& imgui() { return imgui_; }
  // What stands over the figure and takes the mouse there; null: nothing. It lives as long as the canvas draws.
  void set_overlay(Overlay* overlay);
  // Whether a place (device-independent pixels) is the overlay's, now that nothing is being pulled.
  bool covered(const QPointF& point) const;
  // The line at the upper left, and the room above the figure that it takes (0: it stands beside what is drawn).
  const PlacedCaption* statement() const { return statement_ ? &*statement_ : nullptr; }
  const text::Typeface& typeface() const { return typeface_; }
  // Places of the last frame; null before the first.
  const figure::Layout* layout() const { return layout_ ? &*layout_ : nullptr; }
  // Whether they are places of figure() as it is now.
  bool layout_is_current() const { return layout_ && !layout_stale_; }
  // The box at the pointer in the last frame (empty: none), and the lines of the caption beside the figure.
  const figure::Rect& box() const { return box_; }
  const PlacedCaption* caption() const { return caption_ ? &*caption_ : nullptr; }
  // Draws `frames` more frames: ImGui needs two to settle after an event.
  void request_frames(int frames = 3);
  bool take_frame_request();
  // One cell per device pixel, around the middle.
  void zoom_to_cells();
  // A frame around it, while it has the keyboard's focus.
  void show_focus(bool shown);
  bool focus_shown() const { return focus_shown_; }
  // After a frame: the overlay and who listens to frame_drawn() hear of it.
  void report_frame(FrameCost cost);
  void report_lost_device(const QString& message) { Q_EMIT gpu_failed(message); }

 Q_SIGNALS:
  void hovered(const locus::figure::Hit& hit);
  void left();
  void clicked(const locus::figure::Hit& hit);
  // The pointer was pulled over a figure that cannot be zoomed, from one place to another; not finished: it still is.
  void dragged(const locus::figure::Hit& from, const locus::figure::Hit& to, bool finished);
  // The same with Ctrl held, over any figure: a rectangle of it; with Alt held, a line between two places.
  void boxed(const locus::figure::Hit& from, const locus::figure::Hit& to, bool finished);
  void lined(const locus::figure::Hit& from, const locus::figure::Hit& to, bool finished);
  // A loop was closed, whose points are close together on the screen; with Shift held, `add`.
  void lassoed(const std::vector<locus::figure::Hit>& loop, bool add);
  void camera_moved(const locus::views::Camera& camera, bool finished);
  void fit_requested();
  // A menu at that place; no hit: beside everything that is drawn.
  void context_requested(const std::optional<locus::figure::Hit>& hit, const QPoint& global);
  void key_pressed(QKeyEvent* event);
  void key_released(QKeyEvent* event);
  void dropped(const QStringList& paths);
  void resized(int width_px, int height_px);
  void frame_drawn(double cpu_ms);
  void gpu_failed(const QString& message);
  void over_overlay();  // the pointer is on it, not on the figure

 protected:
  bool event(QEvent* event) override;
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
  std::optional<figure::Hit> hit_at(const QPointF& point) const;
  const figure::PanelLayout* panel_at(const QPointF& point) const;
  void move_camera(views::Camera camera, bool finished);
  void show_camera(const views::Camera& camera, bool finished);
  bool shows_text(std::size_t panel) const;
  // Moves a text by lines, and makes its type `factor` times smaller.
  void scroll_text(std::size_t panel, double lines, double factor);
  void report_drag(const QPointF& from, const QPointF& to, bool finished);
  void pull_lasso(const QPointF& to);
  void close_lasso(bool add);
  void drop_lasso();
  void draw_lasso();
  views::Camera camera() const;
  void draw_outline(const Outline& outline);
  void lay_out(double width, double height, const figure::Style& style);
  double place_statement(double width, double height, const figure::Style& style);
  void place_caption(double width, double height, const figure::Style& style);
  bool takes(QMouseEvent* event);
  float off_labels(const figure::Rect& box) const;
  void draw_message();
  void draw_note();
  void draw_overlay();
  void draw_caption();
  std::vector<figure::Rect> box_areas() const;
  void draw_tooltip();
  void draw_focus();
  double dpr() const { return devicePixelRatio(); }

  Content content_;
  figure::Figure shown_;  // the figure with the camera put in
  std::optional<figure::Layout> layout_;
  bool layout_stale_ = true;
  std::uint64_t layouts_ = 0;  // that have been made
  QSize laid_out_;             // the canvas's, when that was made
  std::optional<PlacedCaption> caption_;
  std::optional<PlacedCaption> statement_;
  std::string stated_;  // when the figure was laid out
  figure::Rect box_;
  Overlay* overlay_ = nullptr;
  bool overlay_holds_ = false;  // a button went down on it
  double overlay_ms_ = 0;       // in the last frame
  text::Typeface typeface_;
  ImGuiBridge imgui_;
  int frames_wanted_ = 0;
  std::optional<QPointF> press_;  // where the left button went down on a plot
  QPointF last_;
  bool dragging_ = false;
  bool boxing_ = false;         // a rectangle is being pulled
  bool lining_ = false;         // a line is
  std::vector<QPointF> lasso_;  // the loop that is pulled
  bool focus_shown_ = false;
};

}  // namespace locus::viewport
