// OptionsBar: the controls of the view below the canvas in one line, labels before them, all reached and operated by
// keys. Those that do not fit into the line are behind "More…", in a popover that takes no room from the figure. What
// instruments of the canvas set as well comes last.
#pragma once

#include <QWidget>
#include <functional>
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

  // With the rest of what is around the figure.
  void set_hidden(bool hidden);
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 protected:
  void changeEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  // Follows the window's height.
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void refresh();
  void rebuild();
  Settings present_options() const;
  void set(const views::Control& control, const SettingValue& value);
  bool is_brushed(const views::Control& control) const;  // set on the figure
  // Puts as many controls into the line as it holds, the others into the popover.
  void fold();
  std::size_t fitting() const;

  Studio& studio_;
  QHBoxLayout* line_ = nullptr;
  QToolButton* more_ = nullptr;
  Popover* popover_ = nullptr;
  QVBoxLayout* rest_ = nullptr;                                        // of it
  std::vector<QWidget*> groups_;                                       // a control with its label each, in their order
  const views::View* view_ = nullptr;                                  // whose controls these are
  std::vector<std::function<void(const Settings& options)>> showing_;  // one per control: shows its value
  // A strip of words alone gives its line to the maps of a small screen, until one of them is set.
  bool gives_way() const;

  bool hidden_ = false;
  bool filling_ = false;
};

}  // namespace locus::workbench
