// The open checkpoints: which of them are compared, and a description of each.
#pragma once

#include <QDockWidget>
#include <QHash>

#include "app/workbench/state/studio.h"

class QToolButton;
class QTreeWidget;
class QTreeWidgetItem;

namespace locus::workbench {

class CheckpointsDock : public QDockWidget {
  Q_OBJECT

 public:
  CheckpointsDock(Studio& studio, QWidget* parent);
  // Height that shows all its rows.
  int usual_height() const;
  // Why the chosen checkpoint cannot be run with other settings, or edited.
  Status can_vary() const;
  Status can_edit() const;
  // Open the dialogs of the chosen checkpoint.
  void ask_what_if();
  void ask_edits();
  void ask_own_text();

 Q_SIGNALS:
  void open_requested();

 private:
  void refresh();
  void fit_columns();
  void add_item(const Checkpoint& checkpoint, bool expanded);
  void item_changed(QTreeWidgetItem* item);
  int selected_id() const;
  void show_menu(const QPoint& at);

  Studio& studio_;
  QTreeWidget* tree_ = nullptr;
  QToolButton* remove_ = nullptr;
  QToolButton* what_if_ = nullptr;
  QToolButton* edits_ = nullptr;
  QHash<int, bool> expanded_;  // by the user
  bool filling_ = false;
};

}  // namespace locus::workbench
