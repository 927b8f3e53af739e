// OptionsBar: the controls of the view in one line below the canvas, with labels, all usable by keyboard. Controls that
// do not fit are in a popover behind "More…", which takes no room from the figure. Controls that instruments of the
// canvas also set come last.
#pragma once

#include <QWidget>
#include <functional>
#include <utility>
#include <vector>

#include "app/workbench/state/studio.h"

class QHBoxLayout;
class QToolButton;
class QVBoxLayout;

namespace locus::workbench {

class Popover;

class OptionsBar : public QWidget {
  Q_OBJECT

 public:
  OptionsBar(Studio& studio, QWidget* parent);

  // Hides the bar together with everything around the figure.
  void set_hidden(bool hidden);
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 protected:
  void changeEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  // Reacts to the window's height.
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void refresh();
  void rebuild();
  Settings present_options() const;
  void set(const views::Control& control, const SettingValue& value);
  // Disables the options that have no effect on what is shown; their tooltips say why.
  void show_idle();
  bool is_brushed(const views::Control& control) const;  // also set by an instrument on the figure
  // Distributes the controls: as many as fit into the line, the others into the popover.
  void fold();
  std::size_t fitting() const;

  Studio& studio_;
  QHBoxLayout* line_ = nullptr;
  QToolButton* more_ = nullptr;
  Popover* popover_ = nullptr;
  QVBoxLayout* rest_ = nullptr;                                        // of the popover
  std::vector<QWidget*> groups_;                                       // a control with its label each, in order
  std::vector<std::pair<const views::Control*, QWidget*>> boxes_;      // their widgets alone
  const views::View* view_ = nullptr;                                  // the view these controls belong to
  std::vector<std::function<void(const Settings& options)>> showing_;  // one per control: shows its value
  // On a small screen, an unset control for words alone gives its line to the map.
  bool gives_way() const;

  bool hidden_ = false;
  bool filling_ = false;
};

}  // namespace locus::workbench
