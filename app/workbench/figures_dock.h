// The figures of the session: each a name and a line, one click away.
#pragma once

#include <QDockWidget>

#include "app/workbench/studio.h"

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
  void add_item(const Bookmark& bookmark);
  void choose(const QListWidgetItem* item);

  Studio& studio_;
  QListWidget* list_ = nullptr;
  std::vector<Bookmark> shown_;
};

}  // namespace locus::workbench
