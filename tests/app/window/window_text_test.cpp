// The text that a user opened is the text that is run, byte for byte.
#include "tests/support/window.h"

#include <QClipboard>
#include <QTextCursor>
#include <QWheelEvent>
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

// Attention in the text: the wheel scrolls what is longer than the canvas, Ctrl and the wheel size its type.
TEST_F(WindowText, TheWheelScrollsATintedTextAndSizesIt) {
  open("gentle");
  std::string text;
  for (int n = 0; n < 150; ++n) {
    text += "line " + std::to_string(n) + "\n";
  }
  window_->studio().set_text(text);
  session::ViewState state = window_->studio().state();
  state.view = "attention-text";
  state.query = 0;
  window_->studio().change(state);
  ASSERT_TRUE(settle());
  // A picture that waits for its figure has no panel.
  const auto place = [this] {
    const figure::Layout* layout = window_->canvas()->layout();
    return layout != nullptr && !layout->panels.empty() ? layout->panels.front() : figure::PanelLayout();
  };
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
