// LayoutController: how the window looks. Where its panels are and which are seen, the size of text, the theme, what is
// hidden; all of it is kept for the next start.
#pragma once

#include <QList>
#include <QObject>
#include <QSize>
#include <array>

#include "app/workbench/window/window_parts.h"

class QDockWidget;

namespace locus::workbench {

class LayoutController : public QObject {
  Q_OBJECT

 public:
  // Places the docks of a window that already has its docks and bars.
  explicit LayoutController(const WindowParts& parts);

  // The look of the last time.
  void restore();
  void keep();

  // The panels, in the order of their keys: figures, checkpoints, input, inspector.
  const QList<QDockWidget*>& panels() const { return panels_; }
  // Arrangements of which panels are seen, by their texts in a menu.
  static QList<QString> presets();
  void set_preset(int preset);
  void reset();

  double scale() const { return scale_; }  // of text
  void set_scale(double scale);
  bool dark() const { return dark_; }
  void set_dark(bool dark);
  bool has_captions() const;  // beside the figure
  void set_captions(bool shown);
  // Hides what is around the figure, and brings back the same: a panel that was folded before stays so.
  bool hides_all() const { return all_hidden_; }
  void hide_all(bool hidden);

 protected:
  // Follows the sizes of the window and its panels.
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  // The widths of the left and the right panels, the height of the lower one.
  using Sizes = std::array<int, 3>;
  Sizes sizes() const;
  void resize_panels(const Sizes& sizes);
  void place_panels();
  void share_room();
  int input_height() const;
  bool has_share() const;
  void fit_into_screen();
  void scale_panels();
  void restore_panels();
  void show_captions();

  const WindowParts parts_;
  QMainWindow& window_;
  QSettings& settings_;
  const QList<QDockWidget*> panels_;
  bool dark_ = false;
  double scale_ = 1;
  std::array<double, 3> unscaled_{};  // sizes with text of scale 1
  Sizes scaled_{};                    // what the latest scale_panels() made of them
  Sizes chosen_{};                    // while the window has had its size
  QSize settled_;                     // that size
  bool shares_ = false;               // the lower panel is as high as share_room() makes it
  bool all_hidden_ = false;
  QList<QDockWidget*> hidden_panels_;  // with the rest: they come back with it
};

}  // namespace locus::workbench
