// OptionsBar: the controls of the view below the canvas, in as many lines as they need, labels before them, sliders
// with their numbers, all reached and operated by keys. Of a low window they take a quarter and scroll, and never more
// than a line where there is no more.
#pragma once

#include <QScrollArea>
#include <QWidget>
#include <functional>
#include <vector>

#include "app/workbench/studio/studio.h"

namespace locus::workbench {

class FlowLayout;

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
  // Follows the window's height, and how many lines the controls have.
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void refresh();
  void rebuild();
  void set(const std::string& name, const SettingValue& value);
  QWidget* make(const views::Control& control);
  QWidget* make_slider(const views::Control& control, QWidget* group);

  Studio& studio_;
  QScrollArea* scroll_ = nullptr;
  QWidget* body_ = nullptr;
  FlowLayout* flow_ = nullptr;                                         // of it
  const views::View* view_ = nullptr;                                  // whose controls these are
  std::vector<std::function<void(const Settings& options)>> showing_;  // one per control: shows its value
  // A strip of words alone gives its line to the maps of a small screen, until one of them is set.
  bool gives_way() const;

  bool hidden_ = false;
  bool filling_ = false;
};

}  // namespace locus::workbench
