// The card of a head: where it is clicked, by its key and by its name; what it measures on request; how it goes.
#include "tests/support/window.h"

#include <QClipboard>
#include <QDockWidget>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPushButton>
#include <QTreeWidget>

#include "app/session/command_words.h"
#include "app/workbench/docks/head_dock.h"
#include "app/workbench/export/clipboard.h"
#include "app/workbench/work/fingerprints.h"
#include "tests/support/bundled.h"

namespace locus::workbench {
namespace {

class WindowHeadCard : public WindowTest {
 protected:
  void SetUp() override {
    opener_ = models::open;
    WindowTest::SetUp();
    add("text-rope");
    window_->studio().inputs().set_text("ROMEO:\nMy name is Romeo; my name, my name is hateful to myself.\n");
    show("attention-grid");
  }
  void add(const char* name) {
    session::CheckpointEntry entry;
    entry.path = std::filesystem::path(test::source_dir()) / "assets/checkpoints" / name;
    window_->studio().column_actions().open(entry);
    ASSERT_TRUE(settle());
  }
  void show(const char* view) {
    session::ViewState state = window_->studio().state();
    session::show_view(state, view);
    window_->studio().change(state);
    ASSERT_TRUE(settle());
  }
  void click(double x, double y, std::size_t panel = 0) {
    figure::Hit hit;
    hit.panel = panel;
    hit.x = x;
    hit.y = y;
    Q_EMIT window_->canvas()->clicked(hit);
  }
  HeadDock& card() { return *window_->findChild<HeadDock*>(QStringLiteral("head-dock")); }
  QString text(const char* label) { return card().findChild<QLabel*>(QLatin1String(label))->text(); }
  bool filled() {
    return wait([this] { return !text("head-shares").isEmpty() && text("head-previous") != QStringLiteral("…"); });
  }
};

TEST_F(WindowHeadCard, AClickOnAHeadShowsItsCardAndEscGivesThePlaceBack) {
  EXPECT_FALSE(card().is_seen());
  click(2.5, 1.5);
  ASSERT_TRUE(wait([this] { return card().is_seen(); }));
  EXPECT_EQ(text("head-title"), QStringLiteral("Head 1.2 of text-rope"));
  ASSERT_TRUE(filled());
  const views::Column column = window_->studio().view_input().columns.front();
  const auto print = window_->studio().fingerprints().of(column, 1, 2);
  ASSERT_TRUE(print && print->ok());
  EXPECT_EQ(text("head-previous"), QString::fromStdString(share_text((*print)->previous)));
  EXPECT_EQ(text("head-induction"), QString::fromStdString(share_text((*print)->induction)));
  EXPECT_TRUE(text("head-distance").endsWith(QStringLiteral(" tokens")));
  EXPECT_TRUE(text("head-shares").contains(QStringLiteral("head 1.2 looks at ")));
  EXPECT_TRUE(text("head-pairs").contains(QStringLiteral("rotary pairs")));
  EXPECT_TRUE(text("head-reads-0").endsWith(QStringLiteral("×)")));
  EXPECT_FALSE(card().findChild<QLabel*>(QStringLiteral("head-picture"))->pixmap().isNull());

  // It follows the chosen head.
  press(window_->canvas(), Qt::Key_Right);
  ASSERT_TRUE(wait([this] { return text("head-title") == QStringLiteral("Head 1.3 of text-rope"); }));
  ASSERT_TRUE(settle());
  press(window_->canvas(), Qt::Key_Escape);
  ASSERT_TRUE(wait([this] { return !card().is_seen(); }));
  ASSERT_TRUE(settle());
}

TEST_F(WindowHeadCard, APinnedCellGoesBeforeTheCard) {
  show("attention");
  auto* action = window_->findChild<QAction*>(QStringLiteral("head-card"));
  ASSERT_NE(action, nullptr);
  action->trigger();
  ASSERT_TRUE(wait([this] { return card().is_seen(); }));
  click(3.5, 6.5);  // a cell is no head
  ASSERT_TRUE(window_->studio().state().query.chosen());
  press(window_->canvas(), Qt::Key_Escape);
  EXPECT_FALSE(window_->studio().state().query.chosen());
  EXPECT_TRUE(card().is_seen());
  press(&card(), Qt::Key_Escape);
  EXPECT_FALSE(card().is_seen());
  click(3.5, 6.5);
  EXPECT_FALSE(card().is_seen());
  ASSERT_TRUE(settle());
}

TEST_F(WindowHeadCard, TheTableAndThePlaneOfPlaceAndWordShowIt) {
  show("heads");
  click(1.5, 5.5);
  ASSERT_TRUE(wait([this] { return card().is_seen(); }));
  const session::ViewState state = window_->studio().state();
  EXPECT_EQ(state.view, "heads");
  EXPECT_EQ(text("head-title"), QStringLiteral("Head %1.%2 of text-rope").arg(state.layer).arg(state.head));
  ASSERT_TRUE(settle());
  card().hide();
  show("addressing");
  const views::ViewInput input = window_->studio().view_input();
  views::Selection head;
  head.layer = 2;
  head.head = 1;
  const auto places = window_->studio().view().places(input, head);
  ASSERT_FALSE(places.empty());
  click((places[0].x.low + places[0].x.high) / 2, (places[0].y.low + places[0].y.high) / 2);
  ASSERT_TRUE(wait([this] { return card().is_seen(); }));
  EXPECT_TRUE(text("head-title").startsWith(QStringLiteral("Head ")));
  ASSERT_TRUE(settle());
}

TEST_F(WindowHeadCard, ThePaletteFindsTheCardOfAHead) {
  press(window_->canvas(), Qt::Key_K, {}, Qt::ControlModifier);
  auto* line = window_->findChild<QLineEdit*>(QStringLiteral("palette-line"));
  ASSERT_NE(line, nullptr);
  line->setText(QStringLiteral("head 2.1"));
  auto* list = window_->findChild<QListWidget*>(QStringLiteral("palette-list"));
  ASSERT_GT(list->count(), 1);
  press(line, Qt::Key_Down);
  press(line, Qt::Key_Return);
  ASSERT_TRUE(wait([this] { return card().is_seen(); }));
  EXPECT_EQ(text("head-title"), QStringLiteral("Head 2.1 of text-rope"));
  ASSERT_TRUE(settle());
}

TEST_F(WindowHeadCard, TheEffectAndHeadsLikeItAreMeasuredOnRequest) {
  add("text-alibi");
  click(2.5, 1.5);
  ASSERT_TRUE(filled());
  EXPECT_TRUE(text("head-effect").isEmpty());
  card().findChild<QPushButton*>(QStringLiteral("head-measure"))->click();
  ASSERT_TRUE(wait([this] { return text("head-effect").startsWith(QStringLiteral("loss ")); }));
  EXPECT_TRUE(text("head-effect").contains(QStringLiteral(" nats a token [")));

  auto* list = card().findChild<QTreeWidget*>(QStringLiteral("head-alike"));
  card().findChild<QPushButton*>(QStringLiteral("head-find"))->click();
  ASSERT_TRUE(wait([list] { return list->topLevelItemCount() == 2; }));
  EXPECT_EQ(list->topLevelItem(0)->text(0), QStringLiteral("by maps: text-rope"));
  EXPECT_EQ(list->topLevelItem(1)->text(0), QStringLiteral("by maps: text-alibi"));
  EXPECT_EQ(list->topLevelItem(1)->childCount(), 5);
  EXPECT_TRUE(text("head-alike-said").contains(QStringLiteral("Jensen–Shannon")));
  // A head of another column is shown there, the card's stays.
  Q_EMIT list->itemActivated(list->topLevelItem(1)->child(0), 0);
  ASSERT_TRUE(settle());
  const views::ViewInput input = window_->studio().view_input();
  ASSERT_TRUE(input.columns[1].own.has_value());
  EXPECT_EQ(list->topLevelItem(1)->child(0)->text(0),
            QStringLiteral("head %1.%2").arg(input.columns[1].own->layer).arg(input.columns[1].own->head));
  EXPECT_EQ(text("head-title"), QStringLiteral("Head 1.2 of text-rope"));
}

TEST_F(WindowHeadCard, TheCommandDrawsItsMap) {
  click(2.5, 1.5);
  ASSERT_TRUE(filled());
  card().findChild<QPushButton*>(QStringLiteral("head-copy"))->click();
  const auto words = head_command(window_->studio(), 0, {1, 2});
  ASSERT_TRUE(words.ok());
  EXPECT_EQ(QApplication::clipboard()->text(), QString::fromStdString(session::shell_line(*words)));
  const auto has = [&](const char* flag, const char* value) {
    const auto found = std::find(words->begin(), words->end(), flag);
    return found != words->end() && found + 1 != words->end() && *(found + 1) == value;
  };
  EXPECT_EQ((*words)[1], "attention");
  EXPECT_TRUE(has("--layer", "1"));
  EXPECT_TRUE(has("--head", "2"));
}

TEST_F(WindowHeadCard, WithoutAHeadItSaysHowToChooseOne) {
  session::ViewState state = window_->studio().state();
  session::show_view(state, "attention");
  state.head = views::kMean;
  window_->studio().change(state);
  ASSERT_TRUE(settle());
  window_->findChild<QAction*>(QStringLiteral("head-card"))->trigger();
  ASSERT_TRUE(wait([this] { return card().is_seen(); }));
  EXPECT_EQ(text("head-title"), QStringLiteral("No head is chosen"));
  EXPECT_TRUE(text("head-missing").contains(QStringLiteral("mean of all heads")));
  press(window_->canvas(), Qt::Key_Right);
  ASSERT_TRUE(wait([this] { return text("head-title") == QStringLiteral("Head 0.0 of text-rope"); }));
  ASSERT_TRUE(settle());
}

}  // namespace
}  // namespace locus::workbench
