// The bundled session as a user finds it: every figure of the papers a click away, with the checkpoints it needs.
#include "tests/support/window.h"

#include <QAction>
#include <QListWidget>
#include <QMouseEvent>
#include <QPushButton>
#include <algorithm>

#include "app/session/portable.h"
#include "app/workbench/docks/figure_list.h"
#include "app/workbench/window/missing_dialog.h"
#include "tests/support/paths.h"

namespace locus::workbench {
namespace {

constexpr int kMaxClicks = 3;

class WindowFigures : public WindowTest {
 protected:
  void SetUp() override {
    opener_ = models::open;
    WindowTest::SetUp();
  }

  QListWidget& list() { return *window_->findChild<QListWidget*>(QStringLiteral("figures")); }

  // Presses and releases the left button on a row of the list.
  void click(int row) {
    QListWidgetItem* item = list().item(row);
    list().scrollToItem(item);
    const QPointF at = list().visualItemRect(item).center();
    for (const auto type : {QEvent::MouseButtonPress, QEvent::MouseButtonRelease}) {
      QMouseEvent event(type, at, list().viewport()->mapToGlobal(at), Qt::LeftButton,
                        type == QEvent::MouseButtonPress ? Qt::LeftButton : Qt::NoButton, Qt::NoModifier);
      QCoreApplication::sendEvent(list().viewport(), &event);
    }
    ++clicks_;
  }
  int row_of(const std::string& name) {
    for (int row = 0; row < list().count(); ++row) {
      if (list().item(row)->text().toStdString().rfind(name, 0) == 0) {
        return row;
      }
    }
    return -1;
  }

  int clicks_ = 0;
};

TEST_F(WindowFigures, EveryFigureOfThePapersIsAtMostThreeClicksAway) {
  const std::filesystem::path assets = std::filesystem::path(test::source_dir()) / "assets";
  window_->open_session(assets / "sessions/first-light.locus.json");
  ASSERT_TRUE(settle());
  EXPECT_EQ(window_->studio().checkpoints().all().size(), 1U);  // the others open with the figures that need them
  const std::vector<session::Bookmark> figures = window_->studio().sessions().document().figures();
  for (const char* const name :
       {"TAPE Fig. 7a", "TAPE Fig. 7b", "TAPE Fig. 8", "TAPE Table 8, ids", "CoPE Fig. 1", "CoPE Fig. 4", "CoPE Fig. 7",
        "TAPA Fig. 1", "SeqPE Fig. 2", "SeqPE Fig. 3", "Length curve"}) {
    SCOPED_TRACE(name);
    clicks_ = 0;
    const int row = row_of(name);
    ASSERT_GE(row, 0);
    click(row);
    ASSERT_TRUE(settle());
    EXPECT_LE(clicks_, kMaxClicks);
    const session::Bookmark& figure = figures[static_cast<std::size_t>(row)];
    EXPECT_FALSE(figure.about.empty());
    EXPECT_EQ(window_->studio().state().view, figure.state.view);
    session::Session one;
    one.bookmarks.push_back(figure);
    const auto missing = session::missing_checkpoints(one);
    if (!missing.empty()) {
      EXPECT_NE(window_->last_message().toStdString().find(missing.front().filename().string()), std::string::npos);
      continue;
    }
    ASSERT_NE(window_->studio().scheduler().figure(), nullptr) << window_->canvas()->content().message;
    EXPECT_EQ(window_->studio().scheduler().figure_state().view, figure.state.view);
    const auto shown = window_->studio().checkpoints().shown();
    ASSERT_EQ(shown.size(), figure.columns.size());
    for (const session::CheckpointEntry& wanted : figure.columns) {
      EXPECT_TRUE(std::any_of(shown.begin(), shown.end(), [&](const Checkpoint* column) {
        return column->entry.path.filename() == wanted.path.filename() && column->entry.overrides == wanted.overrides;
      })) << wanted.path;
    }
  }
}

TEST_F(WindowFigures, AFigureWhoseCheckpointIsNotThereSaysSo) {
  const auto folder = std::filesystem::path(config_.path().toStdString());
  session::Session session;
  session.input.text = "one two";
  session::Bookmark figure{"Far away", {}, {}, {{folder / "nowhere", {}, true}}, "what would be seen"};
  session.bookmarks.push_back(figure);
  ASSERT_TRUE(session::save_session(session, folder / "s.locus.json").ok());
  window_->open_session(folder / "s.locus.json");
  ASSERT_TRUE(settle());
  ASSERT_EQ(list().count(), 1);
  EXPECT_NE(list().item(0)->data(Qt::AccessibleDescriptionRole).toString().indexOf(QStringLiteral("nowhere")), -1);
  click(0);
  click(0);  // again is no second checkpoint
  ASSERT_TRUE(settle());
  EXPECT_NE(window_->last_message().indexOf(QStringLiteral("nowhere")), -1);
  EXPECT_NE(window_->canvas()->content().message.find("nowhere"), std::string::npos);
  // The button beside what is said helps with it, and goes with the message.
  auto* help = window_->findChild<QPushButton*>(QStringLiteral("help-with-it"));
  ASSERT_TRUE(help->isVisible());
  EXPECT_EQ(help->text(), QStringLiteral("Find it…"));
  help->click();
  auto* dialog = window_->findChild<MissingDialog*>();
  ASSERT_NE(dialog, nullptr);
  EXPECT_TRUE(dialog->isVisible());
  EXPECT_FALSE(help->isVisible());
  dialog->close();
  click(0);
  ASSERT_TRUE(settle());
  EXPECT_TRUE(help->isVisible());
  window_->studio().inputs().set_text("another text");
  EXPECT_FALSE(help->isVisible());
  EXPECT_EQ(window_->studio().checkpoints().all().size(), 1U);
}

// Beside its picture a figure has a name and two lines.
TEST_F(WindowFigures, ALongDescriptionIsInTheTooltip) {
  opener_ = open_fake;
  make_window();
  open("gentle");
  ASSERT_TRUE(settle());
  std::vector<session::Bookmark> figures{{"short", {}, {}, {}, "seen"}, {"long", {}, {}, {}, ""}};
  for (int n = 0; n < 80; ++n) {
    figures[1].about += "word" + std::to_string(n) + " ";
  }
  window_->studio().sessions().set_bookmarks(figures);
  ASSERT_EQ(list().count(), 2);
  QCoreApplication::processEvents();
  const int line = QFontMetrics(list().font()).height();
  for (int row = 0; row < 2; ++row) {
    const int height = list().visualItemRect(list().item(row)).height();
    EXPECT_GE(height, FigureDelegate::picture_size(FigureDelegate::Form::kList).height()) << row;
    EXPECT_GE(height, 5 * line / 2) << row;
    EXPECT_LE(height, 5 * line) << row;
  }
  EXPECT_EQ(list().item(1)->toolTip().toStdString(), figures[1].about);
}

// The papers' figures stand together; a session of one kind has no headings.
TEST_F(WindowFigures, FiguresStandBelowTheirPapers) {
  const std::vector<session::Bookmark> figures{
      {"TAPE Fig. 2", {}}, {"TAPE Fig. 5", {}}, {"CoPE Table 2", {}}, {"Needle", {}}, {"TAPES", {}}};
  EXPECT_EQ(headings_of(figures), (std::vector<QString>{"TAPE", "", "CoPE", "Tools", ""}));
  EXPECT_EQ(headings_of({{"a", {}}, {"b", {}}}), std::vector<QString>(2));
  const auto bundled =
      session::load_session(std::filesystem::path(test::source_dir()) / "assets/sessions/first-light.locus.json");
  ASSERT_TRUE(bundled.ok());
  QStringList headings;
  for (const QString& heading : headings_of(bundled->bookmarks)) {
    headings << heading;
  }
  headings.removeAll(QString());
  EXPECT_EQ(headings.join(QStringLiteral(" ")).toStdString(), "TAPE CoPE TAPA SeqPE Tools");  // each once
}

TEST_F(WindowFigures, ArrowKeysShowFiguresAndThoseHavePictures) {
  opener_ = open_fake;
  make_window();
  open("gentle");
  type("one two three");
  ASSERT_TRUE(settle());
  const auto keep = [this](const char* view) {
    session::ViewState state = window_->studio().state();
    session::show_view(state, view);
    window_->studio().change(state);
    ASSERT_TRUE(settle());
    window_->studio().sessions().add_bookmark(view);
  };
  keep("attention");
  keep("attention-grid");
  list().setFocus();
  press(&list(), Qt::Key_Up);
  press(&list(), Qt::Key_Home);
  EXPECT_TRUE(wait([this] { return window_->studio().state().view == "attention"; }));
  ASSERT_TRUE(settle());
  EXPECT_TRUE(wait([this] { return !list().item(0)->data(FigureDelegate::kPicture).value<QPixmap>().isNull(); }));
  press(&list(), Qt::Key_Down);
  EXPECT_TRUE(wait([this] { return window_->studio().state().view == "attention-grid"; }));
  ASSERT_TRUE(settle());
  for (int row = 0; row < 2; ++row) {
    ASSERT_TRUE(wait([&] { return !list().item(row)->data(FigureDelegate::kPicture).value<QPixmap>().isNull(); }))
        << row;
  }
}

TEST_F(WindowFigures, AKeptViewComesBackWithItsTextAndColumns) {
  opener_ = open_fake;
  make_window();
  open("gentle");
  open("steep");
  type("one two three");
  ASSERT_TRUE(settle());
  window_->studio().sessions().add_bookmark("Two");
  ASSERT_EQ(list().count(), 1);
  window_->studio().columns().set_shown(window_->studio().checkpoints().all()[1].id, false);
  window_->studio().inputs().set_text("other");
  ASSERT_TRUE(settle());
  EXPECT_EQ(window_->studio().checkpoints().shown().size(), 1U);
  click(0);
  ASSERT_TRUE(settle());
  EXPECT_EQ(window_->studio().checkpoints().shown().size(), 2U);
  EXPECT_EQ(window_->studio().input().text, "one two three");
}

// What is shown then is something else, which Update would put in its place.
TEST_F(WindowFigures, AFigureThatWasUndoneIsChosenNoMore) {
  opener_ = open_fake;
  make_window();
  open("gentle");
  type("one two three");
  ASSERT_TRUE(settle());
  window_->studio().sessions().add_bookmark("One");
  window_->studio().sessions().add_bookmark("Other");
  auto* update = window_->findChild<QAction*>(QStringLiteral("figure-update"));
  EXPECT_FALSE(update->isEnabled());
  click(0);
  ASSERT_TRUE(settle());
  EXPECT_EQ(list().currentRow(), 0);
  EXPECT_TRUE(update->isEnabled());
  session::ViewState state = window_->studio().state();
  state.layer = 2;
  window_->studio().change(state);
  window_->studio().undo();  // of what was done since
  ASSERT_TRUE(settle());
  EXPECT_EQ(list().currentRow(), 0);
  window_->studio().undo();  // of the figure
  ASSERT_TRUE(settle());
  EXPECT_EQ(list().currentRow(), -1);
  EXPECT_FALSE(update->isEnabled());
  click(1);
  ASSERT_TRUE(settle());
  EXPECT_EQ(list().currentRow(), 1);
  EXPECT_TRUE(update->isEnabled());
  window_->studio().undo();
  window_->studio().undo();  // of keeping it
  ASSERT_TRUE(settle());
  EXPECT_EQ(list().count(), 1);
  EXPECT_EQ(list().currentRow(), -1);
  EXPECT_FALSE(update->isEnabled());
}

}  // namespace
}  // namespace locus::workbench
