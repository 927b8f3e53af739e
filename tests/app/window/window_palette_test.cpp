// Everything by its name: the palette; menus at a place of the map and of the tokens; keys wherever one is.
#include "tests/support/window.h"

#include <QCheckBox>
#include <QClipboard>
#include <QCoreApplication>
#include <QKeyEvent>
#include <QLineEdit>
#include <QListWidget>
#include <QMenu>
#include <QPlainTextEdit>
#include <QScrollArea>
#include <QScrollBar>
#include <QSpinBox>

#include "app/workbench/widgets/manual_window.h"
#include "app/workbench/window/atlas_dialog.h"
#include "app/workbench/window/command_palette.h"
#include "app/workbench/window/palette_sources.h"

namespace locus::workbench {
namespace {

class WindowPalette : public WindowTest {
 protected:
  void open_two() {
    open("gentle");
    open("steep");
    type("one two three");
    ASSERT_TRUE(settle());
  }
  // Types into the palette and takes the first that is found.
  void command(const char* words) {
    press(window_->canvas(), Qt::Key_K, {}, Qt::ControlModifier);
    auto* line = window_->findChild<QLineEdit*>(QStringLiteral("palette-line"));
    ASSERT_NE(line, nullptr);
    line->setText(QLatin1String(words));
    auto* list = window_->findChild<QListWidget*>(QStringLiteral("palette-list"));
    ASSERT_GT(list->count(), 0) << words;
    press(line, Qt::Key_Return);
    wait([this] { return window_->findChild<QDialog*>(QStringLiteral("palette")) == nullptr; });
    ASSERT_TRUE(settle());
  }
  QAction* menu_action(const char* menu, const char* name) {
    auto* found = window_->findChild<QMenu*>(QLatin1String(menu));
    return found == nullptr ? nullptr : found->findChild<QAction*>(QLatin1String(name));
  }
  figure::Hit cell(std::size_t panel) {
    figure::Hit hit;
    hit.panel = panel;
    hit.x = 4.5;
    hit.y = 6.5;
    return hit;
  }
};

TEST_F(WindowPalette, FindsWordsAtTheirBeginningsFirst) {
  const std::vector<Command> list = {
      {"Layer 21", {}, {}}, {"Layer 2", {}, {}}, {"View: Attention", {}, {}}, {"Figure: an overlayer 2", {}, {}}};
  EXPECT_EQ(found_commands(list, QStringLiteral("lay 2")), (std::vector<std::size_t>{1, 0, 3}));
  EXPECT_EQ(found_commands(list, QStringLiteral("ATT")), (std::vector<std::size_t>{2}));
  EXPECT_EQ(found_commands(list, QString()).size(), 4U);
  EXPECT_TRUE(found_commands(list, QStringLiteral("layer attention")).empty());
}

TEST_F(WindowPalette, ReachesViewsHeadsOptionsFiguresAndCheckpoints) {
  open_two();
  command("layer 2");
  EXPECT_EQ(window_->studio().state().layer, 2);
  command("head 3");
  EXPECT_EQ(window_->studio().state().head, 3);
  command("view position dot product");
  EXPECT_EQ(window_->studio().state().view, "pe-dot-product");
  command("option cosine");
  const Settings options = window_->studio().state().options.at("pe-dot-product");
  EXPECT_TRUE(*options.boolean("cosine", false));
  window_->studio().sessions().add_bookmark("Seen before");
  command("view: attention");
  command("figure seen");
  EXPECT_EQ(window_->studio().state().view, "pe-dot-product");
  command("checkpoint steep");
  EXPECT_EQ(window_->studio().checkpoints().shown().size(), 1U);
  command("input ruler");
  EXPECT_TRUE(window_->findChild<QCheckBox*>(QStringLiteral("show-ruler"))->isChecked());
}

TEST_F(WindowPalette, FindsWhatTheBarAndTheColoursSetByNameAndAlias) {
  open_two();
  const auto& state = window_->studio().state();
  command("position contribution");
  EXPECT_EQ(state.quantity, models::Quantity::kContribution);
  command("quantity logit");
  EXPECT_EQ(state.quantity, models::Quantity::kLogit);
  command("gamma");
  EXPECT_EQ(state.scale.transfer, figure::Transfer::kGamma);
  command("difference");
  EXPECT_TRUE(state.difference);
  command("reference gentle");
  EXPECT_EQ(state.reference, 0);
  command("ignore-first");
  EXPECT_TRUE(state.ignore_first);
  command("magma");
  EXPECT_EQ(state.scale.colormap, "magma");
  command("percentile");
  EXPECT_EQ(window_->focusWidget()->objectName(), QStringLiteral("scale.percentile"));
  command("attention-grid");  // a view by its name on the command line
  EXPECT_EQ(state.view, "attention-grid");
}

TEST_F(WindowPalette, FindsAHeadByItsNumbers) {
  open_two();
  command("head 2.3");
  EXPECT_EQ(window_->studio().state().layer, 2);
  EXPECT_EQ(window_->studio().state().head, 3);
  command("1.0");
  EXPECT_EQ(window_->studio().state().layer, 1);
  EXPECT_EQ(window_->studio().state().head, 0);
  command("view: heads");
  command("layer 2 head 1");  // in a view that shows one
  EXPECT_EQ(window_->studio().state().view, "attention");
  EXPECT_EQ(window_->studio().state().layer, 2);
  EXPECT_EQ(window_->studio().state().head, 1);
  const auto beyond = head_commands(window_->studio(), QStringLiteral("head 7.1"));
  ASSERT_EQ(beyond.size(), 1U);
  EXPECT_FALSE(beyond.front().available);
  EXPECT_EQ(beyond.front().hint.toStdString(), "there are layers 0 to 2 of heads 0 to 3");
  EXPECT_TRUE(head_commands(window_->studio(), QStringLiteral("heads")).empty());
}

TEST_F(WindowPalette, OpensWhatIfAndEdits) {
  open_two();
  for (const auto& [words, dialog] : {std::pair("what if", "what-if"), std::pair("edit: edits", "edits")}) {
    command(words);
    EXPECT_TRUE(wait([&, name = dialog] { return window_->findChild<QDialog*>(QLatin1String(name)) != nullptr; }))
        << dialog;
    for (QDialog* each : window_->findChildren<QDialog*>()) {
      each->close();
    }
    ASSERT_TRUE(settle());
  }
}

TEST_F(WindowPalette, WordsOfTheNameComeBeforeOthers) {
  const std::vector<Command> list = {{"Show = weight", {}, {}, "scale"}, {"Scale = log", {}, {}, {}}};
  EXPECT_EQ(found_commands(list, QStringLiteral("scale")), (std::vector<std::size_t>{1, 0}));
}

TEST_F(WindowPalette, SaysThatNothingIsFound) {
  press(window_->canvas(), Qt::Key_K, {}, Qt::ControlModifier);
  auto* line = window_->findChild<QLineEdit*>(QStringLiteral("palette-line"));
  ASSERT_NE(line, nullptr);
  line->setText(QStringLiteral("nobody calls it so"));
  const auto* list = window_->findChild<QListWidget*>(QStringLiteral("palette-list"));
  ASSERT_EQ(list->count(), 1);
  EXPECT_FALSE(list->item(0)->flags().testFlag(Qt::ItemIsEnabled));
  press(line, Qt::Key_Return);  // does nothing
  EXPECT_NE(window_->findChild<QDialog*>(QStringLiteral("palette")), nullptr);
}

// Views that the columns cannot have are listed, behind all others, with the reason and the way out.
TEST_F(WindowPalette, SaysWhyAViewCannotBeShown) {
  open_two();
  press(window_->canvas(), Qt::Key_K, {}, Qt::ControlModifier);
  auto* line = window_->findChild<QLineEdit*>(QStringLiteral("palette-line"));
  ASSERT_NE(line, nullptr);
  const auto* list = window_->findChild<QListWidget*>(QStringLiteral("palette-list"));
  const std::string before = window_->studio().state().view;
  for (const char* name : {"needle", "mean map", "loss by position"}) {
    line->setText(QLatin1String(name));
    ASSERT_GT(list->count(), 0) << name;
    const QString text = list->item(0)->text();
    EXPECT_TRUE(text.contains(QLatin1String(name), Qt::CaseInsensitive)) << text.toStdString();
    EXPECT_TRUE(text.contains(QStringLiteral("needs an atlas"))) << text.toStdString();
    EXPECT_TRUE(text.contains(QStringLiteral("Enter: Make an atlas"))) << text.toStdString();
    EXPECT_EQ(list->horizontalScrollBar()->maximum(), 0) << name;  // it is read whole
    const int width = list->fontMetrics().horizontalAdvance(text);
    EXPECT_GE(list->visualItemRect(list->item(0)).height(),
              (width / list->viewport()->width() + 1) * list->fontMetrics().height())
        << name;
  }
  press(line, Qt::Key_Return);
  EXPECT_EQ(window_->studio().state().view, before);
  EXPECT_TRUE(wait([this] { return window_->findChild<QDialog*>(QStringLiteral("palette")) == nullptr; }));
  EXPECT_TRUE(wait([this] { return window_->findChild<AtlasDialog*>() != nullptr; }));
  window_->findChild<AtlasDialog*>()->close();
  const std::vector<Command> commands = {{"Needle", "why", {}, {}, false}, {"Needles", {}, {}, {}}};
  EXPECT_EQ(found_commands(commands, QStringLiteral("needle")), (std::vector<std::size_t>{1, 0}));
}

TEST_F(WindowPalette, AMaskedCellHasNoValueToCopy) {
  open_two();
  figure::Hit hit = cell(0);
  hit.x = 7.5;
  hit.y = 2.5;
  Q_EMIT window_->canvas()->context_requested(hit, QPoint(100, 100));
  EXPECT_EQ(menu_action("canvas-menu", "copy-value"), nullptr);
  EXPECT_NE(menu_action("canvas-menu", "pin"), nullptr);
}

TEST_F(WindowPalette, TheMapsMenuCopiesPinsComparesAndOpensElsewhere) {
  open_two();
  Q_EMIT window_->canvas()->context_requested(cell(1), QPoint(100, 100));
  ASSERT_NE(menu_action("canvas-menu", "copy-value"), nullptr);
  menu_action("canvas-menu", "copy-value")->trigger();
  const auto& map = std::get<figure::HeatMap>(window_->studio().scheduler().figure()->panels[1].layers.front());
  EXPECT_FLOAT_EQ(QApplication::clipboard()->text().toFloat(), map.field->at(6, 4));
  menu_action("canvas-menu", "copy-box")->trigger();
  EXPECT_EQ(QApplication::clipboard()->text().toStdString(), window_->canvas()->content().tooltip.text());
  EXPECT_TRUE(QApplication::clipboard()->text().startsWith(QStringLiteral("attention weight ")));
  menu_action("canvas-menu", "pin")->trigger();
  EXPECT_EQ(window_->studio().state().query, 6);
  EXPECT_EQ(window_->studio().state().key, 4);
  menu_action("canvas-menu", "compare")->trigger();
  EXPECT_TRUE(window_->studio().state().difference);
  EXPECT_EQ(window_->studio().state().reference, 1);
  menu_action("canvas-menu", "unlink")->trigger();
  EXPECT_TRUE(window_->studio().checkpoints().shown()[1]->entry.own);
  menu_action("canvas-menu", "open-in-distance-profile")->trigger();
  EXPECT_EQ(window_->studio().state().view, "distance-profile");
  window_->findChild<QMenu*>(QStringLiteral("canvas-menu"))->close();
  EXPECT_TRUE(wait([this] { return window_->findChild<QMenu*>(QStringLiteral("canvas-menu")) == nullptr; }));
  ASSERT_TRUE(settle());
}

TEST_F(WindowPalette, TheMenuKeyOpensTheMenuOfThePinnedCell) {
  open_two();
  window_->studio().pin(6, 4);
  ASSERT_TRUE(settle());
  press(window_->canvas(), Qt::Key_Menu);
  ASSERT_NE(menu_action("canvas-menu", "pin"), nullptr);
  menu_action("canvas-menu", "pin")->trigger();
  EXPECT_EQ(window_->studio().state().query, views::kNone);
}

TEST_F(WindowPalette, TheTokensMenuCopiesAndPins) {
  open_two();
  window_->studio().pin(5);
  auto* strip = window_->findChild<QWidget*>(QStringLiteral("token-strip"));
  QContextMenuEvent menu(QContextMenuEvent::Keyboard, QPoint(0, 0), QPoint(100, 100));
  QCoreApplication::sendEvent(strip, &menu);
  ASSERT_NE(menu_action("token-menu", "copy-token"), nullptr);
  menu_action("token-menu", "copy-token")->trigger();
  EXPECT_EQ(QApplication::clipboard()->text(), QStringLiteral("w"));
  menu_action("token-menu", "copy-id")->trigger();
  EXPECT_EQ(QApplication::clipboard()->text(), QStringLiteral("119"));
  menu_action("token-menu", "in-text")->trigger();
  EXPECT_EQ(window_->studio().state().view, "attention-text");
  EXPECT_EQ(window_->studio().state().query, 5);
  ASSERT_TRUE(settle());
}

TEST_F(WindowPalette, AQuestionMarkShowsTheKeysWhereverNothingIsTyped) {
  open_two();
  const auto seen = [this] {
    const auto* manual = window_->findChild<ManualWindow*>();
    return manual != nullptr && manual->isVisible();
  };
  press(window_->findChild<QPlainTextEdit*>(QStringLiteral("editor")), Qt::Key_Question, QStringLiteral("?"));
  press(window_->findChild<QLineEdit*>(QStringLiteral("find")), Qt::Key_Question, QStringLiteral("?"));
  EXPECT_FALSE(seen());
  EXPECT_TRUE(QString::fromStdString(window_->studio().input().text.value_or("")).endsWith(QLatin1Char('?')));
  for (const char* name : {"layer", "checkpoints", "token-strip", "difference", "figures"}) {
    press(window_->findChild<QWidget*>(QLatin1String(name)), Qt::Key_Question, QStringLiteral("?"));
    EXPECT_TRUE(seen()) << name;
    if (auto* manual = window_->findChild<ManualWindow*>()) {
      manual->close();
      ASSERT_TRUE(wait([&] { return !seen(); })) << name;
    }
  }
  ASSERT_TRUE(settle());
}

// The key of the list is the window's while a text is typed too, where editors delete the rest of a line.
TEST_F(WindowPalette, OpensFromTheEditors) {
  for (const char* name : {"editor", "ids-editor"}) {
    auto* editor = window_->findChild<QPlainTextEdit*>(QLatin1String(name));
    QKeyEvent asked(QEvent::ShortcutOverride, Qt::Key_K, Qt::ControlModifier);
    QCoreApplication::sendEvent(editor, &asked);
    EXPECT_FALSE(asked.isAccepted()) << name;
    QKeyEvent other(QEvent::ShortcutOverride, Qt::Key_A, Qt::ControlModifier);
    other.ignore();
    QCoreApplication::sendEvent(editor, &other);
    EXPECT_TRUE(other.isAccepted()) << name;
  }
}

}  // namespace
}  // namespace locus::workbench
