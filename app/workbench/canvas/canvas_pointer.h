// CanvasPointer: what the mouse pointer is on, and what clicks, boxes and context menus at that place do.
#pragma once

#include <QObject>
#include <optional>
#include <string>

#include "app/viewport/canvas.h"
#include "app/workbench/canvas/canvas_actions.h"
#include "app/workbench/canvas/canvas_figure.h"
#include "app/workbench/state/studio.h"

namespace locus::workbench {

// Cells of a map between two corners.
struct CanvasBox {
  views::Selection from;
  views::Selection to;
};

// The place a context menu is about.
struct CanvasPlace {
  views::Selection selection;
  std::optional<float> value;  // shown by the figure at that place
  std::string said{};          // by the box at the pointer
};

class CanvasPointer : public QObject {
  Q_OBJECT

 public:
  CanvasPointer(Studio& studio, viewport::Canvas& canvas, CanvasFigure& figure, CanvasActions& actions);

  // The point of the figure under the pointer; empty: none.
  const std::optional<figure::Hit>& hit() const { return hit_; }
  // The view's selection at that point; empty without hit().
  const views::Selection& selection() const { return selection_; }
  // The box that is being drawn with Ctrl.
  const std::optional<CanvasBox>& box() const { return box_; }

  // Asks for a context menu at a point, or for the pinned cell if there is none.
  void request_menu(const std::optional<figure::Hit>& hit, const QPoint& global);
  // Shows the reference in every column, or the columns again. The pointer stays on the screen, over another panel's
  // cells.
  void show_reference(bool on);

 Q_SIGNALS:
  void menu_requested(const locus::workbench::CanvasPlace& place, const QPoint& global);
  void box_chosen(const locus::workbench::CanvasBox& box);
  void head_clicked();  // a head, not a cell; it has been chosen

 private:
  void hover(const figure::Hit& hit);
  void leave();
  void clear();
  void follow_view();
  void click(const figure::Hit& hit);
  void draw_box(const figure::Hit& from, const figure::Hit& to, bool finished);
  void inspect(const views::ViewInput& input);
  void forget();
  bool can_point(const views::ViewInput& input) const { return !input.columns.empty() && figure_.can_point(); }

  Studio& studio_;
  viewport::Canvas& canvas_;
  CanvasFigure& figure_;
  CanvasActions& actions_;
  std::optional<figure::Hit> hit_;
  views::Selection selection_;
  std::optional<CanvasBox> box_;
  std::string view_;    // that hit_ was made in
  bool rests_ = false;  // the pointer is on the canvas, but hit_ is not known until there is another figure
};

}  // namespace locus::workbench
