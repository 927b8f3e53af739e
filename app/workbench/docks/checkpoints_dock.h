// The open checkpoints: which of them are compared, and a description of each.
#pragma once

#include <QDockWidget>
#include <QHash>

#include "app/workbench/state/studio.h"

class QPushButton;
class QTreeWidget;
class QTreeWidgetItem;

namespace locus::workbench {

class CheckpointsDock : public QDockWidget {
  Q_OBJECT

 public:
  CheckpointsDock(Studio& studio, QWidget* parent);

 Q_SIGNALS:
  void open_requested();

 private:
  void refresh();
  void fit_columns();
  void add_item(const Checkpoint& checkpoint, bool expanded);
  void item_changed(QTreeWidgetItem* item);
  int selected_id() const;
  void show_menu(const QPoint& at);
  // Adds a column of the same checkpoint with a text of its own.
  void ask_own_text(int id);

  Studio& studio_;
  QTreeWidget* tree_ = nullptr;
  QPushButton* remove_ = nullptr;
  QPushButton* what_if_ = nullptr;
  QPushButton* edits_ = nullptr;
  QHash<int, bool> expanded_;  // by the user
  bool filling_ = false;
};

}  // namespace locus::workbench
