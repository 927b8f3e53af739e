#include "app/workbench/input/find_field.h"

#include <QKeyEvent>
#include <algorithm>

#include "app/views/shared/alignment.h"
#include "app/workbench/widgets/build.h"
#include "app/workbench/work/token_words.h"

namespace locus::workbench {

FindField::FindField(Studio& studio, QWidget* parent) : QLineEdit(parent), studio_(studio) {
  give_name(this, "find", QStringLiteral("Find in the text, or go to a token"));
  setPlaceholderText(QStringLiteral("find, 12 or 12,7"));
  setToolTip(
      QStringLiteral("A text to find, the number of a token, or a query and a key (Ctrl+F); Enter: the next match, "
                     "Shift+Enter: the previous match"));
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
  const views::ViewInput input = studio_.view_input();
  if (input.columns.empty() || wanted.isEmpty()) {
    return;
  }
  const views::Column& column = input.columns[std::min(column_, input.columns.size() - 1)];
  const auto target = find_target(*column.trace, wanted.toStdString(), views::query_of(input, column), backwards);
  if (target) {
    studio_.pin(views::token_at(input, column, target->query).value_or(views::Token()),
                views::key_at(input, column, target->key).value_or(views::Token()));
  } else {
    Q_EMIT failed(QStringLiteral("%1: not found in the text, and not a token number from 0 to %2")
                      .arg(wanted)
                      .arg(column.trace->length() - 1));
  }
}

}  // namespace locus::workbench
