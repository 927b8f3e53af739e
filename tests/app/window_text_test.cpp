// The text that a user opened is the text that is run, byte for byte.
#include "tests/support/window.h"

#include <QClipboard>
#include <QTextCursor>
#include <fstream>

namespace locus::workbench {
namespace {

class WindowText : public WindowTest {
 protected:
  QPlainTextEdit& editor() { return *window_->findChild<QPlainTextEdit*>(QStringLiteral("editor")); }
  std::string text() { return window_->studio().input().text.value_or("(none)"); }
  void open_text(const std::string& bytes) {
    const auto file = std::filesystem::path(config_.path().toStdString()) / "opened.txt";
    std::ofstream(file, std::ios::binary) << bytes;
    window_->open_path(file);
  }
  // The cursor before that text, as the editor shows it.
  void go_to(const QString& shown) {
    const QTextCursor found = editor().document()->find(shown);
    ASSERT_FALSE(found.isNull());
    QTextCursor cursor = editor().textCursor();
    cursor.setPosition(found.selectionStart());
    editor().setTextCursor(cursor);
  }
};

const std::string kEvery =
    "no\u00A0break\r\nline\u2028separator\u2029paragraph\rlone\ttab \x01\x0B\x1B\x7F picture \u240D byte \xFF "
    "middle\n\nend\r\n";

TEST_F(WindowText, AnEditInTheMiddleKeepsAllOtherBytes) {
  open("gentle");
  open_text(kEvery);
  ASSERT_TRUE(settle());
  EXPECT_EQ(text(), kEvery);
  EXPECT_EQ(window_->studio().columns().front()->trace->text(), kEvery);
  go_to(QStringLiteral("middle"));
  press(&editor(), Qt::Key_X, QStringLiteral("x"));
  ASSERT_TRUE(settle());
  std::string wanted = kEvery;
  wanted.insert(wanted.find("middle"), "x");
  EXPECT_EQ(text(), wanted);
  press(&editor(), Qt::Key_Backspace);
  EXPECT_EQ(text(), kEvery);
  // What is deleted and brought back is what it was.
  editor().selectAll();
  press(&editor(), Qt::Key_Delete);
  EXPECT_EQ(text(), "");
  editor().undo();
  EXPECT_EQ(text(), kEvery);
}

TEST_F(WindowText, CopyAndPasteKeepBytesToo) {
  const std::string part = "a\u00A0b\r\nc\u2028d\x01";
  open_text(part);
  editor().selectAll();
  editor().copy();
  EXPECT_EQ(QApplication::clipboard()->text().toStdString(), part);
  editor().moveCursor(QTextCursor::End);
  editor().paste();
  EXPECT_EQ(text(), part + part);
}

TEST_F(WindowText, ShiftAndReturnIsALineFeed) {
  open_text("ab");
  go_to(QStringLiteral("b"));
  press(&editor(), Qt::Key_Return, QStringLiteral("\r"), Qt::ShiftModifier);
  EXPECT_EQ(text(), "a\nb");
}

}  // namespace
}  // namespace locus::workbench
