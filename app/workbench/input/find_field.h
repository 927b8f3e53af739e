// FindField: finds a text, a token or a cell. Enter goes to the next match, Shift+Enter to the previous one.
#pragma once

#include <QLineEdit>

#include "app/workbench/state/studio.h"

namespace locus::workbench {

class FindField : public QLineEdit {
  Q_OBJECT

 public:
  FindField(Studio& studio, QWidget* parent);
  // Wide enough for its placeholder, independent of what is typed.
  QSize sizeHint() const override;
  // Chooses the column that token numbers refer to.
  void set_column(std::size_t column) { column_ = column; }

 Q_SIGNALS:
  void failed(const QString& message);
  void left();  // Esc: the keyboard goes to the canvas

 protected:
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void go_to(const QString& wanted, bool backwards);

  Studio& studio_;
  std::size_t column_ = 0;
};

}  // namespace locus::workbench
