// FindField: a text to find, a token or a cell to go to. Enter: the next, Shift+Enter: the one before.
#pragma once

#include <QLineEdit>

#include "app/workbench/state/studio.h"

namespace locus::workbench {

class FindField : public QLineEdit {
  Q_OBJECT

 public:
  FindField(Studio& studio, QWidget* parent);
  // As wide as what it says while it is empty: typing moves nothing beside it.
  QSize sizeHint() const override;
  // The column whose tokens numbers count.
  void set_column(std::size_t column) { column_ = column; }

 Q_SIGNALS:
  void failed(const QString& message);
  void left();  // Esc: the canvas takes the keyboard

 protected:
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void go_to(const QString& wanted, bool backwards);

  Studio& studio_;
  std::size_t column_ = 0;
};

}  // namespace locus::workbench
