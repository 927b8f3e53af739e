// The text that a user opened is the text that is run, byte for byte.
#include "tests/support/window.h"

#include <QAction>
#include <QClipboard>
#include <QScrollBar>
#include <QTextCursor>
#include <QWheelEvent>
#include <cstdlib>
#include <fstream>

#include "app/workbench/widgets/exact_editor.h"

namespace locus::workbench {
namespace {

constexpr int kWord = 40;  // pixels that the letters of a short word have at least

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
  // Pixels of the editor that are neither paper nor the shades between paper and letters.
  static int letters(QPlainTextEdit& shown) {
    const QImage seen = shown.viewport()->grab().toImage();
    const int paper = shown.palette().color(QPalette::Base).lightness();
    int count = 0;
    for (int y = 0; y < seen.height(); ++y) {
      for (int x = 0; x < seen.width(); ++x) {
        count += std::abs(seen.pixelColor(x, y).lightness() - paper) > 128 ? 1 : 0;
      }
    }
    return count;
  }
  void pull_to(int width, int height) {
    window_->resize(width, height);
    ASSERT_TRUE(wait([&] { return window_->size() == QSize(width, height); }));
    wait([] { return false; }, 200);
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
  EXPECT_EQ(window_->studio().checkpoints().shown().front()->trace->text(), kEvery);
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

// A click on a cell scrolls the text to its token; what is typed over all of it begins above that line.
TEST_F(WindowText, WhatIsTypedOverAScrolledTextIsSeen) {
  window_->findChild<QAction*>(QStringLiteral("text-below"))->trigger();  // where the text is low
  pull_to(1000, 700);
  open("gentle");
  for (const std::string& between : {std::string("\n"), std::string(" ")}) {
    std::string text;
    for (int n = 0; n < 25; ++n) {
      text += "a line of words" + between;
    }
    open_text(text);
    ASSERT_TRUE(settle());
    window_->canvas()->requestActivate();
    editor().clearFocus();
    window_->studio().pin({static_cast<std::int64_t>(text.size()) - 4, {}}, {0, {}});
    ASSERT_TRUE(settle());
    EXPECT_GT(editor().verticalScrollBar()->value(), 0);
    ASSERT_FALSE(editor().extraSelections().isEmpty());
    const QRect token = editor().cursorRect(editor().extraSelections().front().cursor);
    EXPECT_TRUE(editor().viewport()->rect().contains(token)) << token.top() << " to " << token.bottom();
    EXPECT_GT(letters(editor()), kWord);
    editor().setFocus();
    editor().selectAll();
    type("whole");
    ASSERT_TRUE(settle());
    wait([] { return false; }, 50);
    EXPECT_EQ(this->text(), "whole");
    EXPECT_GT(letters(editor()), kWord) << (between == " ");
    window_->studio().pin({}, {});
  }
}

// A wider editor has fewer lines: the last ones stay in sight, and keys find the cursor.
TEST_F(WindowText, TheTextIsSeenAsTheWindowGrowsAndShrinks) {
  window_->findChild<QAction*>(QStringLiteral("text-below"))->trigger();  // where the text is low
  open("gentle");
  QPlainTextEdit& shown = editor();
  const QString word = QStringLiteral("letters ");
  for (const int lines : {3, 5, 8}) {
    pull_to(1000, 700);
    shown.setFocus();
    shown.selectAll();
    const int columns = shown.viewport()->width() / shown.fontMetrics().averageCharWidth();
    shown.insertPlainText(word.repeated(lines * columns / static_cast<int>(word.size())));
    shown.moveCursor(QTextCursor::End);
    ASSERT_TRUE(settle());
    ASSERT_GT(shown.verticalScrollBar()->value(), 0);
    for (const int width : {1590, 1000, 1300, 1590}) {
      pull_to(width, width == 1300 ? 900 : 700);
      EXPECT_GT(letters(shown), kWord) << lines << " lines at " << width;
      for (const auto place : {QTextCursor::Start, QTextCursor::End}) {
        shown.moveCursor(place);
        EXPECT_GT(letters(shown), kWord) << lines << " lines at " << width;
        EXPECT_TRUE(shown.viewport()->rect().intersects(shown.cursorRect())) << lines << " lines at " << width;
      }
    }
  }
}

// A line is in sight whatever height the editor has, less than a line's included.
TEST_F(WindowText, ALineIsInSightInAnEditorOfAnyHeight) {
  ExactEditor low(nullptr);
  for (int height = 8; height < 60; height += 3) {
    low.setFixedSize(200, height);
    low.show();
    low.set_bytes("one\ntwo\nthree\nfour");
    low.moveCursor(QTextCursor::End);
    low.verticalScrollBar()->setValue(low.verticalScrollBar()->maximum());
    EXPECT_LT(low.verticalScrollBar()->value(), 4) << height;
    low.selectAll();
    press(&low, Qt::Key_W, QStringLiteral("w"));
    EXPECT_EQ(low.verticalScrollBar()->maximum(), 0) << height;
    EXPECT_GE(low.cursorRect().top(), 0) << height;
    EXPECT_LT(low.cursorRect().top(), low.fontMetrics().lineSpacing()) << height;
  }
}

// Attention in the text: the wheel scrolls what is longer than the canvas, Ctrl and the wheel size its type.
TEST_F(WindowText, TheWheelScrollsATintedTextAndSizesIt) {
  open("gentle");
  std::string text;
  for (int n = 0; n < 150; ++n) {
    text += "line " + std::to_string(n) + "\n";
  }
  window_->studio().inputs().set_text(text);
  session::ViewState state = window_->studio().state();
  state.view = "attention-text";
  state.query = 0;
  window_->studio().change(state);
  ASSERT_TRUE(settle());
  ASSERT_TRUE(wait([&] { return place().lines > place().lines_seen && place().first_line == 0; }));
  const auto turn = [&](int delta, Qt::KeyboardModifiers keys) {
    const QPointF at =
        QPointF(place().plot.center_x(), place().plot.center_y()) / window_->canvas()->devicePixelRatio();
    QWheelEvent wheel(at, window_->canvas()->mapToGlobal(at), {}, QPoint(0, delta), Qt::NoButton, keys,
                      Qt::NoScrollPhase, false);
    QCoreApplication::sendEvent(window_->canvas(), &wheel);
    ASSERT_TRUE(settle());
  };
  for (int n = 0; n < 5; ++n) {
    turn(-120, {});
    ASSERT_TRUE(wait([&] { return place().first_line >= n + 1; })) << n;
  }
  const double size = place().token_size;
  turn(120, Qt::ControlModifier);
  ASSERT_TRUE(wait([&] { return place().token_size > 1.1 * size; })) << place().token_size;
  turn(-120 * 1000, {});
  ASSERT_TRUE(wait([&] { return place().first_line == place().lines - place().lines_seen; }));
  turn(120 * 1000, {});
  EXPECT_TRUE(wait([&] { return place().first_line == 0; }));
}

}  // namespace
}  // namespace locus::workbench
