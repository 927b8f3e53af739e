// OptionsBar: the controls of the view below the canvas in one line, labels before them, all reached and operated by
// keys: what has the focus is scrolled into the line. "More…" unfolds them to as many lines as they need, at most a
// quarter of the window. What instruments of the canvas set as well comes last.
#pragma once

#include <QScrollArea>
#include <QWidget>
#include <functional>
#include <vector>

#include "app/workbench/studio/studio.h"

class QToolButton;

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
  Settings present_options() const;
  void set(const std::string& name, const SettingValue& value);
  QWidget* make(const views::Control& control);
  QWidget* make_number(const views::Control& control, QWidget* group);
  bool is_brushed(const views::Control& control) const;  // set on the figure
  void fold();

  Studio& studio_;
  QScrollArea* scroll_ = nullptr;
  QWidget* body_ = nullptr;
  QToolButton* more_ = nullptr;
  FlowLayout* flow_ = nullptr;                                         // of it
  const views::View* view_ = nullptr;                                  // whose controls these are
  std::vector<std::function<void(const Settings& options)>> showing_;  // one per control: shows its value
  // A strip of words alone gives its line to the maps of a small screen, until one of them is set.
  bool gives_way() const;

  bool hidden_ = false;
  bool filling_ = false;
};

}  // namespace locus::workbench
