// OptionsBar: the controls of the view below the canvas, in as many lines as they need: labels before them, sliders
// with their numbers, all reached and operated by keys.
#pragma once

#include <QWidget>
#include <functional>
#include <vector>

#include "app/workbench/studio.h"

namespace locus::workbench {

class FlowLayout;

class OptionsBar : public QWidget {
  Q_OBJECT

 public:
  OptionsBar(Studio& studio, QWidget* parent);

  // With the rest of what is around the figure.
  void set_hidden(bool hidden);

 protected:
  // Follows the window's height.
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void refresh();
  void rebuild();
  void set(const std::string& name, const SettingValue& value);
  QWidget* make(const views::Control& control);
  QWidget* make_slider(const views::Control& control, QWidget* group);

  Studio& studio_;
  FlowLayout* flow_ = nullptr;
  const views::View* view_ = nullptr;                                  // whose controls these are
  std::vector<std::function<void(const Settings& options)>> showing_;  // one a control: shows its value
  // A strip of words alone gives its line to the maps of a small screen, until one of them is set.
  bool gives_way() const;

  bool hidden_ = false;
  bool filling_ = false;
};

}  // namespace locus::workbench
