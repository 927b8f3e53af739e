// ExactEditor: a text editor of bytes: what is not edited stays the same, byte for byte.
#pragma once

#include <QColor>
#include <QPlainTextEdit>
#include <string>
#include <vector>

namespace locus::workbench {

class ExactEditor : public QPlainTextEdit {
  Q_OBJECT

 public:
  explicit ExactEditor(QWidget* parent);

  std::string bytes() const;
  std::size_t caret() const;  // in bytes
  void set_caret(std::size_t byte);
  // The byte of the character at a place of the viewport, or of the nearest one before it.
  std::size_t byte_at(const QPoint& place) const;
  // Replaces the text; `undoable`: as a step of the editor's own undo.
  void set_bytes(const std::string& bytes, bool undoable = false);

  // A tinted range of bytes.
  struct Mark {
    std::size_t begin = 0;
    std::size_t end = 0;
    QColor color;
  };
  // Tints ranges and scrolls to the first one, unless the editor has the keyboard.
  void set_marks(const std::vector<Mark>& marks);

  // Height of that many lines, including the frame.
  int height_of_lines(int lines) const;
  // Sets the minimum height in lines.
  void set_least_lines(int lines) { least_lines_ = lines; }
  QSize minimumSizeHint() const override;

 protected:
  bool event(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  // Clipboard contents are the real text, without stand-ins.
  QMimeData* createMimeDataFromSelection() const override;
  void insertFromMimeData(const QMimeData* source) override;

 private:
  void keep_text_in_sight();

  int least_lines_ = 1;
  bool scrolling_ = false;
};

}  // namespace locus::workbench
