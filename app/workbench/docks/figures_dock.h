// The figures of the session: each a name and a line, one click away. They can be renamed, replaced by what is shown,
// moved and deleted.
#pragma once

#include <QDockWidget>

#include "app/workbench/state/studio.h"

class QListWidget;
class QListWidgetItem;

namespace locus::workbench {

class FiguresDock : public QDockWidget {
  Q_OBJECT

 public:
  FiguresDock(Studio& studio, QWidget* parent);

 Q_SIGNALS:
  void keep_requested();                                        // the present view as a figure of the session
  void missing(const QString& name, const QStringList& paths);  // a figure was chosen whose checkpoints are not there

 private:
  void refresh();
  void enable_tools();
  void follow_undo();
  static QListWidgetItem* make_item(const session::Bookmark& bookmark, const QStringList& missing);
  void choose(const QListWidgetItem* item);
  // What can be done to the chosen figure; undo() brings back what was there.
  QWidget* make_tools(QWidget* body);
  void rename(const QListWidgetItem* item);
  void update_chosen();
  void move_chosen(int by);
  void erase_chosen();
  void set(std::vector<session::Bookmark> figures, int chosen);

  Studio& studio_;
  QListWidget* list_ = nullptr;
  QList<QAction*> of_chosen_;
  std::vector<session::Bookmark> shown_;
  bool filling_ = false;
  std::size_t chosen_at_ = 0;  // the steps that could be undone once the figure was chosen
};

}  // namespace locus::workbench
