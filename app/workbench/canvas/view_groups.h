// ViewGroups: the five groups of views as buttons with icons; each opens the list of its views, and that of the present
// view is pressed.
#pragma once

#include <QWidget>
#include <vector>

#include "app/workbench/state/studio.h"

class QMenu;
class QToolButton;

namespace locus::workbench {

class ViewGroups : public QWidget {
  Q_OBJECT

 public:
  ViewGroups(Studio& studio, QWidget* parent);

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void refresh();
  void draw_icons();
  void fill(views::Group group, QMenu& menu);

  Studio& studio_;
  std::vector<QToolButton*> buttons_;  // in the order of the groups
};

}  // namespace locus::workbench
