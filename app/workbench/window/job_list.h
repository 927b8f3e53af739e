// JobButton: a button of the status bar that opens the list of jobs: waiting, running and finished ones with their
// times, and Cancel for unfinished ones.
#pragma once

#include <QDialog>
#include <QTimer>
#include <QToolButton>

#include "app/workbench/state/studio.h"

class QTreeWidget;
class QTreeWidgetItem;

namespace locus::workbench {

class JobList : public QDialog {
  Q_OBJECT

 public:
  JobList(Studio& studio, QWidget* parent);

  // Updates the list from the worker.
  void refresh();

 protected:
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;

 private:
  void fill(QTreeWidgetItem* item, const Worker::Listed& job);

  Studio& studio_;
  QTreeWidget* tree_;
  QTimer clock_;  // runs while the list is visible
};

class JobButton : public QToolButton {
  Q_OBJECT

 public:
  JobButton(Studio& studio, QWidget* parent);

 private:
  void open();

  Studio& studio_;
  JobList* list_ = nullptr;  // created on first use
};

}  // namespace locus::workbench
