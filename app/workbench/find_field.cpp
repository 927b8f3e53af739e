#include "app/workbench/find_field.h"

#include <QKeyEvent>

#include "app/workbench/token_words.h"

namespace locus::workbench {

FindField::FindField(Studio& studio, QWidget* parent) : QLineEdit(parent), studio_(studio) {
  setObjectName(QStringLiteral("find"));
  setAccessibleName(QStringLiteral("Find in the text, or go to a token"));
  setPlaceholderText(QStringLiteral("find, 12 or 12,7"));
  setToolTip(
      QStringLiteral("A text to find, the number of a token, or a query and a key (Ctrl+F); Enter: the next, "
                     "Shift+Enter: the one before"));
  setClearButtonEnabled(true);
}

QSize FindField::sizeHint() const {
  constexpr int kBeside = 16;  // its frame, and a letter
  return {fontMetrics().horizontalAdvance(placeholderText()) + kBeside, QLineEdit::sizeHint().height()};
}

void FindField::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) {
    go_to(text(), event->modifiers().testFlag(Qt::ShiftModifier));
  } else if (event->key() == Qt::Key_Escape) {
    Q_EMIT left();
  } else {
    QLineEdit::keyPressEvent(event);
  }
}

void FindField::go_to(const QString& wanted, bool backwards) {
  const auto columns = studio_.columns();
  if (columns.empty() || wanted.isEmpty()) {
    return;
  }
  const auto target = find_target(*columns.front()->trace, wanted.toStdString(), studio_.state().query, backwards);
  if (target) {
    studio_.pin(target->query, target->key);
  } else {
    Q_EMIT failed(QStringLiteral("%1: not in the text, and no token of 0 to %2")
                      .arg(wanted)
                      .arg(columns.front()->trace->length() - 1));
  }
}

}  // namespace locus::workbench
