// LayoutController: the look of the window: places, sizes and visibility of its panels, text size, theme. All of it is
// stored for the next start.
#pragma once

#include <QList>
#include <QObject>
#include <QSize>
#include <array>

class QDockWidget;
class QMainWindow;
class QSettings;

namespace locus::workbench {

class CheckpointsDock;
class FiguresDock;
class InputDock;
class InspectorDock;

class LayoutController : public QObject {
  Q_OBJECT

 public:
  // Places the docks in the window.
  LayoutController(QMainWindow& window, QSettings& settings, FiguresDock& figures, CheckpointsDock& checkpoints,
                   InputDock& input, InspectorDock& inspector);

  // Applies the stored look; emits scale_changed, dark_changed and captions_changed.
  void restore();
  // Stores the look.
  void keep();
  // Stores the look when the window closes, with the panels that are hidden for a while.
  void end();

  // The panels, in the order of their keys: figures, checkpoints, input, inspector.
  const QList<QDockWidget*>& panels() const { return panels_; }
  // Menu texts of the predefined arrangements.
  static QList<QString> presets();
  void set_preset(int preset);
  void reset();
  // Places the text below the map, in its width, or in the column to the left of the map, in its height.
  void set_text_below(bool below);
  bool text_below() const { return text_below_; }
  // Folds away all panels but the text and the values. Unfolding shows those that were folded.
  void fold(bool folded);
  bool folds() const { return folded_; }
  // Shares the left column anew after what its panels list has changed, unless the user has chosen their heights.
  void fit_column();
  // Widens the inspector to the width of its table, as far as the map has room, unless the user has chosen its width; 0:
  // it has its usual width again.
  void widen_inspector(int width);
  // Hides the text while the view shows none, and shows it again.
  void want_text(bool wanted);

  double scale() const { return scale_; }  // of text
  void set_scale(double scale);
  bool dark() const { return dark_; }
  void set_dark(bool dark);
  bool has_captions() const;  // of views, beside the figure
  void set_captions(bool shown);
  // Hides everything around the figure. Showing it again leaves panels hidden that were hidden before.
  bool hides_all() const { return all_hidden_; }
  void hide_all(bool hidden);

 Q_SIGNALS:
  void scale_changed(double scale);
  void dark_changed(bool dark);
  void captions_changed(bool shown);
  void all_hidden(bool hidden);

 protected:
  // Records the sizes of the window and its panels.
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  // Widths of the left and right panels, height of the text.
  using Sizes = std::array<int, 3>;
  Sizes sizes() const;
  void resize_panels(const Sizes& sizes);
  void place_panels();
  void share_room();
  void share_column();
  std::array<int, 2> shared_widths() const;
  int input_height() const;
  bool has_share() const;
  void follow_separator(bool released);
  void fit_into_screen();
  void scale_panels();
  void restore_panels();

  QMainWindow& window_;
  QSettings& settings_;
  FiguresDock& figures_;
  CheckpointsDock& checkpoints_;
  InputDock& input_;
  InspectorDock& inspector_;
  const QList<QDockWidget*> panels_;
  bool dark_ = false;
  double scale_ = 1;
  std::array<double, 3> unscaled_{};  // sizes at text scale 1
  Sizes scaled_{};                    // sizes after the latest scale_panels()
  Sizes chosen_{};                    // by the user, since the window has had its present size
  QSize present_size_;                // of the window; invalid before it was shown
  bool shares_ = false;               // the text has the height given by share_room()
  bool text_below_ = false;
  bool shares_widths_ = false;   // the left and right panels have the widths given by share_room()
  int wanted_ = 0;               // by widen_inspector()
  std::array<int, 5> before_{};  // widths of both sides and heights in the left column, when a separator was pressed
  bool all_hidden_ = false;
  bool folded_ = false;
  bool text_wanted_ = true;
  bool text_hidden_ = false;           // by want_text()
  QList<QDockWidget*> hidden_panels_;  // by hide_all()
  QList<QDockWidget*> folded_panels_;  // by fold()
};

}  // namespace locus::workbench
