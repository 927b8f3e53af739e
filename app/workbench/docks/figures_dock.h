// The figures of the session: name and description each; a click shows one. They can be renamed, replaced by what is
// shown, moved and deleted.
#pragma once

#include <QDockWidget>
#include <QTimer>

#include "app/workbench/docks/figure_list.h"
#include "app/workbench/state/studio.h"

class QListWidget;
class QListWidgetItem;

namespace locus::workbench {

class FiguresDock : public QDockWidget {
  Q_OBJECT

 public:
  FiguresDock(Studio& studio, QWidget* parent);
  // Where the pictures of the figures come from; show_pictures() asks for them again.
  void set_pictures(FigurePicture picture);
  void show_pictures();

 Q_SIGNALS:
  void keep_requested();                                        // asks to add the present view as a figure
  void missing(const QString& name, const QStringList& paths);  // checkpoints of the chosen figure were not found
  void filled(bool any);                                        // it has its first figure, or its last is gone

 protected:
  void changeEvent(QEvent* event) override;
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  void refresh();
  // Without figures the panel is as high as its button.
  void fold_empty();
  void enable_tools();
  void follow_undo();
  static QListWidgetItem* make_item(const session::Bookmark& bookmark, const QStringList& missing);
  void choose(const QListWidgetItem* item);
  // Actions on the chosen figure, each a step for undo().
  QWidget* make_tools(QWidget* body);
  void rename(const QListWidgetItem* item);
  void update_chosen();
  void move_chosen(int by);
  void erase_chosen();
  void set(std::vector<session::Bookmark> figures, int chosen);

  Studio& studio_;
  FigurePicture picture_;
  QTimer resting_;
  QListWidget* list_ = nullptr;
  QList<QAction*> of_chosen_;
  QList<QWidget*> buttons_of_chosen_;
  std::vector<session::Bookmark> shown_;
  bool filling_ = false;
  std::size_t chosen_at_ = 0;  // number of undo steps after the figure was chosen
};

}  // namespace locus::workbench
