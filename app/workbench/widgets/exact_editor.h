// ExactEditor: a text editor whose text is bytes; what was not edited stays as it was, byte for byte.
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
  // Replaces everything. The editor's own undo comes back to what was there when `undoable`.
  void set_bytes(const std::string& bytes, bool undoable = false);

  // A range of bytes, tinted.
  struct Mark {
    std::size_t begin = 0;
    std::size_t end = 0;
    QColor color;
  };
  // The first is scrolled to, unless the editor has the keyboard.
  void set_marks(const std::vector<Mark>& marks);

  // What so many lines of its font take, with the frame.
  int height_of_lines(int lines) const;
  // The editor is never lower than these.
  void set_least_lines(int lines) { least_lines_ = lines; }
  QSize minimumSizeHint() const override;

 protected:
  bool event(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  // Copied and pasted text is the real one, not what stands for it.
  QMimeData* createMimeDataFromSelection() const override;
  void insertFromMimeData(const QMimeData* source) override;

 private:
  void keep_text_in_sight();

  int least_lines_ = 1;
  bool scrolling_ = false;
};

}  // namespace locus::workbench
