// Two tokenizers side by side: each column shows its own tokens, and what is chosen is a part of the text.
#include "tests/support/window.h"

#include <QLineEdit>
#include <QPainter>

#include "app/workbench/input/token_strip.h"
#include "app/workbench/widgets/exact_editor.h"

namespace locus::workbench {
namespace {

// "letters" has a token a byte, "pairs" one of two bytes.
class WindowTokenizers : public WindowTest {
 protected:
  void open_both() {
    open("letters");
    open("pairs");
    type("one two three");
    ASSERT_TRUE(settle());
    ASSERT_EQ(studio().checkpoints().shown().size(), 2U);
  }
  Studio& studio() { return window_->studio(); }
  TokenStrip& strip() { return *window_->findChild<TokenStrip*>(); }
  ExactEditor& editor() {
    return *static_cast<ExactEditor*>(window_->findChild<QPlainTextEdit*>(QStringLiteral("editor")));
  }
  void key(Qt::Key key) {
    press(window_->canvas(), key);
    ASSERT_TRUE(settle());
  }
  // Rows of the crosses on the maps, by their panels; −1: none.
  std::vector<double> marked_rows() {
    std::vector<double> rows(studio().checkpoints().shown().size(), -1);
    for (const auto& outline : window_->canvas()->content().outlines) {
      if (outline.panel < rows.size()) {
        rows[outline.panel] = outline.y.low;
      }
    }
    return rows;
  }
  std::vector<std::string> titles() {
    std::vector<std::string> list;
    for (const auto& panel : studio().scheduler().figure()->panels) {
      list.push_back(panel.title);
    }
    return list;
  }
};

TEST_F(WindowTokenizers, TheStripMarksTheTokenOfItsOwnColumn) {
  open_both();
  studio().pin(8);  // "t" of "three"
  ASSERT_TRUE(settle());
  EXPECT_EQ(strip().pinned(), 8);
  EXPECT_EQ(marked_rows(), (std::vector<double>{8, 4}));
  key(Qt::Key_2);
  EXPECT_EQ(strip().pinned(), 4);
  Q_EMIT strip().clicked(2);  // "tw", of which the letters have read the "w"
  ASSERT_TRUE(settle());
  EXPECT_EQ(strip().pinned(), 2);
  EXPECT_EQ(studio().state().query.text, (views::TokenText{{4, 6}, 0}));
  EXPECT_EQ(studio().state().query, 5);
  EXPECT_EQ(marked_rows(), (std::vector<double>{5, 2}));
  EXPECT_EQ(editor().extraSelections().value(0).cursor.selectedText().toStdString(), "tw");
  key(Qt::Key_1);
  EXPECT_EQ(strip().pinned(), 5);
}

TEST_F(WindowTokenizers, WhatIsPointedAtIsItsPartOfTheTextEverywhere) {
  open_both();
  key(Qt::Key_2);
  Q_EMIT strip().hovered(2);
  EXPECT_EQ(marked_rows(), (std::vector<double>{5, 2}));
  EXPECT_EQ(editor().extraSelections().value(0).cursor.selectedText().toStdString(), "tw");
  EXPECT_EQ(strip().pointed(), 2);
}

TEST_F(WindowTokenizers, APinStaysWhereItIsInTheTextWhicheverColumnIsFirst) {
  open_both();
  const int letters = studio().checkpoints().shown()[0]->id;
  studio().pin(8, 5);
  ASSERT_TRUE(settle());
  studio().columns().set_shown(letters, false);
  ASSERT_TRUE(settle());
  EXPECT_EQ(studio().state().query, 4);
  EXPECT_EQ(studio().state().query.text, (views::TokenText{{8, 9}, 0}));
  EXPECT_EQ(studio().state().key, 2);
  EXPECT_EQ(strip().pinned(), 4);
  studio().columns().set_shown(letters, true);
  ASSERT_TRUE(settle());
  EXPECT_EQ(studio().state().query, 8);
  EXPECT_EQ(studio().state().key, 5);
}

TEST_F(WindowTokenizers, TextInsertedBeforeItMovesAPinAndItsUndo) {
  open_both();
  studio().pin(4);
  ASSERT_TRUE(settle());
  studio().pin(8);
  ASSERT_TRUE(settle());
  editor().moveCursor(QTextCursor::Start);
  editor().insertPlainText(QStringLiteral("so, "));
  EXPECT_TRUE(wait([this] {
    return studio().checkpoints().shown().size() == 2 && studio().checkpoints().shown()[0]->trace->length() == 17;
  }));
  ASSERT_TRUE(settle());
  EXPECT_EQ(studio().state().query, 12);
  EXPECT_EQ(studio().sessions().session().state.query.text, (views::TokenText{{12, 13}, 0}));
  studio().undo();
  ASSERT_TRUE(settle());
  EXPECT_EQ(studio().state().query, 8);  // "t" of "two", which was 4
  studio().inputs().set_text("so, one");
  ASSERT_TRUE(settle());
  EXPECT_FALSE(studio().state().query.chosen());
}

// A number that is typed counts the tokens that are seen.
TEST_F(WindowTokenizers, NumbersCountTheTokensOfTheChosenColumn) {
  open_both();
  key(Qt::Key_2);
  auto& find = *window_->findChild<QLineEdit*>(QStringLiteral("find"));
  find.setText(QStringLiteral("3,1"));
  press(&find, Qt::Key_Return);
  ASSERT_TRUE(settle());
  EXPECT_EQ(strip().pinned(), 3);
  EXPECT_EQ(marked_rows()[1], 3);
  EXPECT_EQ(studio().state().key.text, (views::TokenText{{2, 4}, 0}));
}

TEST_F(WindowTokenizers, EveryColumnHasAxesOfItsOwnInFullSizeWithWords) {
  open_both();
  const auto panels = [this] { return window_->canvas()->figure()->panels; };
  ASSERT_EQ(panels().size(), 2U);
  EXPECT_EQ(panels()[0].x.view, (figure::Interval{0, 13}));
  EXPECT_EQ(panels()[1].x.view, (figure::Interval{0, 7}));
  EXPECT_EQ(panels()[1].y.view, (figure::Interval{7, 0}));
  ASSERT_NE(panels()[1].x.cell_names, nullptr);
  EXPECT_EQ(panels()[1].x.cell_names->at(2), "tw");
  // Zoomed in, both show the same words.
  session::ViewState state = studio().state();
  state.camera = views::Camera{{4, 8}, {8, 4}};
  studio().change(state);
  ASSERT_TRUE(settle());
  EXPECT_EQ(panels()[0].x.view, (figure::Interval{4, 8}));
  EXPECT_EQ(panels()[1].x.view, (figure::Interval{2, 4}));
  EXPECT_EQ(panels()[1].y.view, (figure::Interval{4, 2}));
}

// ---- what belongs to a column goes with it

TEST_F(WindowTokenizers, AColumnsOwnHeadIsItsCheckpoints) {
  open("gentle");
  open("steep");
  open("third");
  type("one two three");
  ASSERT_TRUE(settle());
  const int first = studio().checkpoints().shown()[0]->id;
  const int second = studio().checkpoints().shown()[1]->id;
  studio().column_actions().set_own_head(1, views::HeadRef{2, 3});
  ASSERT_TRUE(settle());
  EXPECT_EQ(titles()[1], "steep ⚮ layer 2, head 3");
  studio().columns().set_shown(first, false);
  ASSERT_TRUE(settle());
  EXPECT_EQ(titles(), (std::vector<std::string>{"steep ⚮ layer 2, head 3", "third · layer 0, head 0"}));
  studio().columns().set_shown(second, false);
  ASSERT_TRUE(settle());
  EXPECT_EQ(titles(), (std::vector<std::string>{"third · layer 0, head 0"}));  // it is not handed on
  studio().columns().set_shown(second, true);
  ASSERT_TRUE(settle());
  EXPECT_EQ(titles()[0], "steep ⚮ layer 2, head 3");
}

TEST_F(WindowTokenizers, AHeadOfItsOwnIsAStepForUndo) {
  open("gentle");
  open("steep");
  type("one two three");
  ASSERT_TRUE(settle());
  studio().column_actions().set_own_head(1, views::HeadRef{2, 1});
  ASSERT_TRUE(settle());
  studio().undo();
  ASSERT_TRUE(settle());
  EXPECT_EQ(titles()[1], "steep · layer 0, head 0");
  studio().redo();
  ASSERT_TRUE(settle());
  EXPECT_EQ(titles()[1], "steep ⚮ layer 2, head 1");
}

TEST_F(WindowTokenizers, TheReferenceTheChosenColumnAndPartnersGoWithTheirColumns) {
  open("gentle");
  open("steep");
  open("third");
  type("one two three");
  ASSERT_TRUE(settle());
  key(Qt::Key_2);
  session::ViewState state = studio().state();
  state.difference = true;
  state.reference = 1;
  state.layer = 1;
  state.partners = {{1, 0}, {0, 3}, {2, 2}};
  studio().change(state);
  ASSERT_TRUE(settle());
  studio().columns().set_shown(studio().checkpoints().shown()[0]->id, false);
  ASSERT_TRUE(settle());
  EXPECT_EQ(studio().state().reference, 0);
  EXPECT_EQ(studio().checkpoints().shown()[0]->name, "steep");
  EXPECT_EQ(studio().state().partners, (std::vector<views::HeadRef>{{0, 3}, {2, 2}}));
  EXPECT_EQ(studio().state().layer, 0);
  EXPECT_EQ(studio().state().head, 3);
  key(Qt::Key_U);  // the chosen one is steep still
  EXPECT_EQ(studio().checkpoints().shown()[0]->entry.own, (views::HeadRef{0, 3}));
  EXPECT_FALSE(studio().checkpoints().shown()[1]->entry.own);
}

// The figure of a session that was written when heads were said by place.
TEST_F(WindowTokenizers, FiguresOfOlderFilesGiveTheirHeadsToTheColumns) {
  open("gentle");
  open("steep");
  type("one two three");
  ASSERT_TRUE(settle());
  session::Bookmark figure = studio().sessions().present("old");
  figure.columns.clear();
  figure.state.unlinked = {{views::kNone, 0}, {1, 2}};
  studio().sessions().show(figure);
  ASSERT_TRUE(settle());
  EXPECT_EQ(titles()[1], "steep ⚮ layer 1, head 2");
}

}  // namespace
}  // namespace locus::workbench
