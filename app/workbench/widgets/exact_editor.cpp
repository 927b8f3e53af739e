#include "app/workbench/widgets/exact_editor.h"

#include <QAbstractTextDocumentLayout>
#include <QKeyEvent>
#include <QMimeData>
#include <QScrollBar>
#include <QTextBlock>
#include <QTextCursor>
#include <QTextLayout>
#include <algorithm>
#include <cmath>

#include "app/workbench/widgets/exact_text.h"
#include "app/workbench/widgets/qt_text.h"

namespace locus::workbench {

ExactEditor::ExactEditor(QWidget* parent) : QPlainTextEdit(parent) {
  // Qt's own slot is connected already: the scroll bar has its new range when this one runs.
  connect(document()->documentLayout(), &QAbstractTextDocumentLayout::documentSizeChanged, this,
          &ExactEditor::keep_text_in_sight);
}

std::string ExactEditor::bytes() const {
  return to_bytes(document()->toRawText());
}

std::size_t ExactEditor::caret() const {
  return to_bytes(document()->toRawText().left(textCursor().position())).size();
}

std::size_t ExactEditor::byte_at(const QPoint& place) const {
  QTextCursor there = cursorForPosition(place);
  if (const QRect caret = cursorRect(there); place.x() < caret.left() && !there.atBlockStart()) {
    there.movePosition(QTextCursor::PreviousCharacter);  // the nearest caret stands behind the character
  }
  return to_bytes(document()->toRawText().left(there.position())).size();
}

void ExactEditor::set_caret(std::size_t byte) {
  const std::string text = bytes();
  QTextCursor there(document());
  there.setPosition(
      static_cast<int>(to_document(std::string_view(text).substr(0, std::min(byte, text.size()))).size()));
  setTextCursor(there);
}

void ExactEditor::set_bytes(const std::string& bytes, bool undoable) {
  if (!undoable) {
    setPlainText(to_document(bytes));
    return;
  }
  const std::size_t before = caret();
  QTextCursor all(document());
  all.select(QTextCursor::Document);
  all.insertText(to_document(bytes));
  set_caret(before);
}

void ExactEditor::set_marks(const std::vector<Mark>& marks) {
  QList<QTextEdit::ExtraSelection> selections;
  const std::string text = marks.empty() ? std::string() : bytes();
  for (const Mark& mark : marks) {
    if (mark.end > text.size() || mark.begin >= mark.end) {
      continue;
    }
    QTextEdit::ExtraSelection selection;
    selection.format.setBackground(mark.color);
    selection.cursor = QTextCursor(document());
    // A token may end within a character, the halves of which are more than the whole.
    const qsizetype last = document()->characterCount() - 1;
    const qsizetype begin = to_document(std::string_view(text).substr(0, mark.begin)).size();
    const qsizetype length = to_document(std::string_view(text).substr(mark.begin, mark.end - mark.begin)).size();
    selection.cursor.setPosition(static_cast<int>(std::min(begin, last)));
    selection.cursor.setPosition(static_cast<int>(std::min(begin + length, last)), QTextCursor::KeepAnchor);
    selections << selection;
  }
  setExtraSelections(selections);
  if (!selections.isEmpty() && !hasFocus()) {
    const QRect place = cursorRect(selections.front().cursor);
    const bool seen = place.top() >= 0 && place.bottom() <= viewport()->height();
    if (!seen) {
      const QTextCursor& cursor = selections.front().cursor;
      const QTextLine line = cursor.block().layout()->lineForTextPosition(cursor.positionInBlock());
      const int number = cursor.block().firstLineNumber() + (line.isValid() ? line.lineNumber() : 0);
      const int before = verticalScrollBar()->pageStep() > 1 ? 1 : 0;  // a line above it, where more than one is seen
      verticalScrollBar()->setValue(std::max(0, number - before));
    }
  }
}

// A text that has fewer lines than before, because it was replaced or the editor is wider, may end above the line that
// Qt takes for the first one in sight; and where not even one line has its room, Qt scrolls past the last one. It would
// paint nothing then, whatever is typed. The scroll bar, limited to the lines, is right about the first one.
void ExactEditor::keep_text_in_sight() {
  if (scrolling_) {
    return;
  }
  scrolling_ = true;  // finding lines lays them out, which changes the document's size again
  verticalScrollBar()->setMaximum(std::min(verticalScrollBar()->maximum(), document()->lineCount() - 1));
  scrollContentsBy(0, 0);
  scrolling_ = false;
}

int ExactEditor::height_of_lines(int lines) const {
  const int line =
      std::max(fontMetrics().lineSpacing(), static_cast<int>(std::ceil(QFontMetricsF(font()).lineSpacing())));
  const int margins = 2 * static_cast<int>(std::ceil(document()->documentMargin()));
  constexpr int kQts = 1;  // the pixel that Qt keeps free below the last line when it counts those that fit
  return lines * line + margins + 2 * frameWidth() + kQts;
}

QSize ExactEditor::minimumSizeHint() const {
  return {QPlainTextEdit::minimumSizeHint().width(), height_of_lines(least_lines_)};
}

void ExactEditor::resizeEvent(QResizeEvent* event) {
  QPlainTextEdit::resizeEvent(event);
  keep_text_in_sight();
}

// Ctrl+K is the window's list of commands; an editor would take it to delete the rest of the line.
bool ExactEditor::event(QEvent* event) {
  if (event->type() == QEvent::ShortcutOverride) {
    const auto* const key = static_cast<QKeyEvent*>(event);
    if (key->key() == Qt::Key_K && key->modifiers() == Qt::ControlModifier) {
      event->ignore();
      return false;
    }
  }
  return QPlainTextEdit::event(event);
}

void ExactEditor::keyPressEvent(QKeyEvent* event) {
  const bool enter = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
  if (enter && event->modifiers().testFlag(Qt::ShiftModifier)) {
    textCursor().insertBlock();  // a line feed like any other; Qt's would be a line separator, U+2028
    event->accept();
    return;
  }
  QPlainTextEdit::keyPressEvent(event);
}

QMimeData* ExactEditor::createMimeDataFromSelection() const {
  auto* data = new QMimeData;
  data->setText(qt(to_bytes(textCursor().selectedText())));
  return data;
}

void ExactEditor::insertFromMimeData(const QMimeData* source) {
  if (source->hasText()) {
    textCursor().insertText(to_document(source->text().toStdString()));
    ensureCursorVisible();
  }
}

}  // namespace locus::workbench
