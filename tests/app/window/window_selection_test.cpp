// Selection is one thing: what is pointed at or chosen anywhere is shown everywhere.
#include "tests/support/window.h"

#include <QDockWidget>
#include <QLabel>
#include <QLineEdit>
#include <QMouseEvent>
#include <QScrollBar>
#include <QSplitter>
#include <QTableWidget>

#include "app/workbench/input/token_strip.h"
#include "app/workbench/widgets/exact_editor.h"

namespace locus::workbench {
namespace {

class WindowSelection : public WindowTest {
 protected:
  ExactEditor& editor() {
    return *static_cast<ExactEditor*>(window_->findChild<QPlainTextEdit*>(QStringLiteral("editor")));
  }
  TokenStrip& strip() { return *window_->findChild<TokenStrip*>(); }
  QLineEdit& find() { return *window_->findChild<QLineEdit*>(QStringLiteral("find")); }
  void point_at(double key, double query) {
    figure::Hit hit;
    hit.x = key + 0.5;
    hit.y = query + 0.5;
    Q_EMIT window_->canvas()->hovered(hit);
  }
  std::vector<viewport::Outline> outlines() { return window_->canvas()->content().outlines; }
  std::string marked(int n) { return editor().extraSelections().value(n).cursor.selectedText().toStdString(); }
  session::ViewState state() { return window_->studio().state(); }
};

// A strip of one row shows that row alone, wherever it is scrolled to.
TEST_F(WindowSelection, NothingOfOtherRowsIsSeenBesideARowOfTheStrip) {
  window_->resize(1200, 800);
  open("gentle");
  window_->studio().inputs().set_text(std::string(300, 'a'));
  ASSERT_TRUE(settle());
  window_->findChild<QDockWidget*>(QStringLiteral("input-dock"))->findChild<QSplitter*>()->setSizes({10'000, 0});
  ASSERT_TRUE(wait([this] { return strip().height() == strip().minimumHeight(); })) << strip().height();
  ASSERT_GT(strip().verticalScrollBar()->maximum(), 0);
  const auto edges = [this] {
    const QImage seen = strip().viewport()->grab().toImage();
    const QColor paper = strip().palette().color(QPalette::Base);
    int other = 0;
    for (const int y : {0, 1, seen.height() - 2, seen.height() - 1}) {
      for (int x = 0; x < seen.width(); ++x) {
        other += seen.pixelColor(x, y) == paper ? 0 : 1;
      }
    }
    return other;
  };
  for (const int token : {0, 100, 150, 200, 299}) {
    window_->studio().pin(token);
    window_->studio().point({token, views::kNone});  // which scrolls there
    ASSERT_TRUE(settle());
    EXPECT_EQ(edges(), 0) << token;
  }
  strip().verticalScrollBar()->setValue(strip().verticalScrollBar()->maximum());
  EXPECT_EQ(edges(), 0);
}

TEST_F(WindowSelection, ACellThatIsPointedAtIsSeenInTheTextAndTheStrip) {
  open("gentle");
  type("one two three");
  ASSERT_TRUE(settle());
  point_at(2, 8);
  EXPECT_EQ(window_->studio().pointed(), (Pointed{8, 2}));
  ASSERT_EQ(editor().extraSelections().size(), 2);
  EXPECT_EQ(marked(0), "t");
  EXPECT_EQ(editor().extraSelections()[0].cursor.selectionStart(), 8);
  EXPECT_EQ(marked(1), "e");
  Q_EMIT window_->canvas()->left();
  EXPECT_TRUE(editor().extraSelections().isEmpty());
}

TEST_F(WindowSelection, ATokenOfTheStripIsSeenOnEveryMap) {
  open("gentle");
  open("steep");
  type("one two three");
  ASSERT_TRUE(settle());
  Q_EMIT strip().hovered(4);
  ASSERT_EQ(outlines().size(), 2U);
  EXPECT_EQ(outlines()[0].panel, 0U);
  EXPECT_EQ(outlines()[1].panel, 1U);
  EXPECT_EQ(outlines()[1].y.low, 4);
  EXPECT_TRUE(outlines()[0].cross);
  EXPECT_EQ(marked(0), "t");
  Q_EMIT strip().hovered(-1);
  EXPECT_TRUE(outlines().empty());
  Q_EMIT strip().clicked(5);  // pinned: on both maps too
  ASSERT_TRUE(settle());
  ASSERT_EQ(outlines().size(), 2U);
  EXPECT_EQ(outlines()[1].y.low, 5);
}

TEST_F(WindowSelection, LongTextsAreScrolledToTheToken) {
  open("gentle");
  std::string text;
  for (int n = 0; n < 60; ++n) {
    text += "line " + std::to_string(n) + "\n";
  }
  window_->studio().inputs().set_text(text);
  ASSERT_TRUE(settle());
  window_->canvas()->requestActivate();
  EXPECT_EQ(strip().verticalScrollBar()->value(), 0);
  window_->studio().pin(static_cast<std::int64_t>(text.find("line 55")));
  EXPECT_GT(strip().verticalScrollBar()->value(), 0);
  EXPECT_GT(editor().verticalScrollBar()->value(), 30);
}

TEST_F(WindowSelection, TextIsFoundAndTokensAreGoneTo) {
  open("gentle");
  type("one two one two");
  ASSERT_TRUE(settle());
  press(window_->canvas(), Qt::Key_F, {}, Qt::ControlModifier);
  const auto enter = [&](const char* text, Qt::KeyboardModifiers modifiers = {}) {
    find().setText(QLatin1String(text));
    press(&find(), Qt::Key_Return, {}, modifiers);
  };
  enter("two");
  EXPECT_EQ(state().query, 4);
  enter("two");
  EXPECT_EQ(state().query, 12);
  enter("two", Qt::ShiftModifier);
  EXPECT_EQ(state().query, 4);
  enter("9");
  EXPECT_EQ(state().query, 9);
  EXPECT_EQ(state().key, views::kNone);
  enter("9,3");
  EXPECT_EQ(state().query, 9);
  EXPECT_EQ(state().key, 3);
  enter("nowhere");
  EXPECT_EQ(state().query, 9);
  EXPECT_NE(window_->last_message().indexOf(QStringLiteral("nowhere")), -1);
}

TEST_F(WindowSelection, TheInspectorShowsTheWordsAroundTheCell) {
  open("gentle");
  type("what is your name");
  ASSERT_TRUE(settle());
  point_at(5, 9);
  ASSERT_TRUE(settle());
  const QString words = window_->findChild<QLabel*>(QStringLiteral("context"))->text();
  EXPECT_NE(words.indexOf(QStringLiteral("what is y<b>o</b>ur name")), -1) << words.toStdString();
  EXPECT_NE(words.indexOf(QStringLiteral("what <b>i</b>s your name")), -1) << words.toStdString();
}

TEST_F(WindowSelection, AQueryWithoutAKeyIsInTheInspectorWithItsWords) {
  open("gentle");
  type("what is your name");
  ASSERT_TRUE(settle());
  const auto row = [this] {
    return window_->findChild<QTableWidget*>(QStringLiteral("cell"))->item(0, 0)->text().toStdString();
  };
  const auto words = [this] { return window_->findChild<QLabel*>(QStringLiteral("context"))->text(); };
  EXPECT_EQ(row(), "point at a cell");
  window_->studio().pin(8);
  ASSERT_TRUE(settle());
  EXPECT_EQ(row(), "8  “y”");
  EXPECT_NE(words().indexOf(QStringLiteral("what is <b>y</b>our name")), -1) << words().toStdString();
  Q_EMIT strip().hovered(5);
  EXPECT_EQ(row(), "5  “i”");
  Q_EMIT strip().hovered(-1);
  EXPECT_EQ(row(), "8  “y”");
  window_->studio().pin(views::kNone);
  ASSERT_TRUE(settle());
  EXPECT_EQ(row(), "point at a cell");
}

TEST_F(WindowSelection, ATokenOfATintedTextIsTheKeyOfTheShownQuery) {
  open("gentle");
  type("what is your name");
  session::ViewState state = window_->studio().state();
  state.view = "attention-text";
  state.query = 12;
  window_->studio().change(state);
  ASSERT_TRUE(settle());
  figure::Hit hit;
  hit.token = 5;
  Q_EMIT window_->canvas()->hovered(hit);
  ASSERT_TRUE(settle());
  const auto tooltip = [this] {
    std::string all;
    for (const std::string& line : window_->canvas()->content().tooltip.lines) {
      all += line + "\n";
    }
    return all;
  };
  EXPECT_TRUE(wait([&] { return tooltip().find("weight") != std::string::npos; })) << tooltip();
  EXPECT_NE(tooltip().find("\nquery 12"), std::string::npos) << tooltip();
  EXPECT_EQ(tooltip().find("attention weight "), 0U) << tooltip();
  EXPECT_NE(tooltip().find("key 5"), std::string::npos) << tooltip();
  window_->studio().pin(9);  // the pointer rests, the text is tinted by another query
  ASSERT_TRUE(settle());
  EXPECT_TRUE(wait([&] { return tooltip().find("\nquery 9") != std::string::npos; })) << tooltip();
  ASSERT_EQ(window_->studio().scheduler().cells().size(), 1U);
  EXPECT_EQ(window_->studio().scheduler().cells().front().query, 9);
  EXPECT_EQ(window_->studio().scheduler().cells().front().key, 5);
}

// Where one query's attention tints a picture or a text, what is pointed at is its key.
TEST_F(WindowSelection, AnImagesPatchIsInspectedAsAKeyOfTheQuery) {
  open("eyes");
  const QString file = config_.path() + QStringLiteral("/picture.png");
  QImage picture(20, 12, QImage::Format_RGB32);
  picture.fill(Qt::green);
  ASSERT_TRUE(picture.save(file));
  window_->open_path(file.toStdString());
  session::ViewState state = window_->studio().state();
  state.view = "attention-image";
  state.layer = 1;
  state.head = 2;
  window_->studio().change(state);
  ASSERT_TRUE(settle());
  figure::Hit hit;
  hit.x = 2.5;
  hit.y = 1.5;  // patch 7, behind the class token
  Q_EMIT window_->canvas()->hovered(hit);
  ASSERT_TRUE(settle());
  ASSERT_EQ(window_->studio().scheduler().cells().size(), 1U);
  EXPECT_EQ(window_->studio().scheduler().cells().front().query, 0);
  EXPECT_EQ(window_->studio().scheduler().cells().front().key, 8);
  window_->studio().pin(3);
  Q_EMIT window_->canvas()->left();
  Q_EMIT window_->canvas()->hovered(hit);
  ASSERT_TRUE(settle());
  ASSERT_EQ(window_->studio().scheduler().cells().size(), 1U);
  EXPECT_EQ(window_->studio().scheduler().cells().front().query, 3);
  EXPECT_EQ(window_->studio().scheduler().cells().front().key, 8);
  Q_EMIT window_->canvas()->left();
  ASSERT_TRUE(settle());
  EXPECT_TRUE(window_->studio().scheduler().cells().empty());
}

}  // namespace
}  // namespace locus::workbench
