// CanvasActions: changes of the view's state that the canvas, its keys and the menus share, and the chosen column, to
// which some of them apply.
#pragma once

#include <QObject>
#include <QTimer>
#include <cstddef>
#include <optional>
#include <vector>

#include "app/workbench/canvas/canvas_figure.h"
#include "app/workbench/state/studio.h"

namespace locus::workbench {

class CanvasActions : public QObject {
  Q_OBJECT

 public:
  CanvasActions(Studio& studio, const CanvasFigure& figure);

  // The chosen column; it stays the same checkpoint when other columns come and go.
  std::size_t column() const { return column_; }
  void set_column(std::size_t column);

  // The next or previous layer or head: of the chosen column alone if it is unlinked.
  void move_layer(int by);
  void move_head(int by);
  // Gives the chosen column a layer and head of its own, or links it to the others again.
  void toggle_unlinked();
  // Shows layers that lie as deep in columns of different depth, or layers of one number again; the chosen column keeps
  // its layer. Errors: kUsage where columns are of one depth.
  Status can_link_by_depth() const;
  void toggle_by_depth();
  // Shows the whole figure.
  void fit();
  // Default options and camera; keeps view, layer, head and quantity. Starts cancelled runs again.
  void reset();
  // The colour range is that of the data.
  void normalise_range();
  // Removes the pinned cell, and what a lasso selected.
  void unpin();

  // Applies what a click, a step in a list or a key has picked.
  void choose(const views::Selection& picked);
  // A drag over a figure that cannot be zoomed, for views that offer an option there.
  void drag(const figure::Hit& from, const figure::Hit& to);
  void lasso(const std::vector<figure::Hit>& loop, bool add);
  // Moves in quick succession are one step for undo().
  void set_camera(const views::Camera& camera);

 Q_SIGNALS:
  void column_changed(std::size_t column);
  void opened();  // another view took the place of the one the selection was made in

 private:
  void follow_column();
  // False where no checkpoint of that name is open, which is said.
  bool show_run(const views::RunOfIds& run);
  void change_moving(const session::ViewState& state);
  bool can_point(const views::ViewInput& input) const { return !input.columns.empty() && figure_.can_point(); }
  std::optional<views::HeadRef> own_head() const;

  Studio& studio_;
  const CanvasFigure& figure_;
  std::size_t column_ = 0;
  int column_id_ = 0;  // id of its checkpoint
  QTimer moving_;      // runs while the camera moves
};

}  // namespace locus::workbench
