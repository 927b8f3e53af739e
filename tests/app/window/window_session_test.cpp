// What leaves the window and comes back: sessions and figures.
#include "tests/support/window.h"

#include <QDialog>
#include <QPointer>

#include "app/session/portable.h"
#include "app/workbench/export/export.h"
#include "app/workbench/window/missing_dialog.h"
#include "renderers/paper/paper.h"

namespace locus::workbench {
namespace {

class WindowSession : public WindowTest {};

TEST_F(WindowSession, ClosingAndOpeningAgainRestoresTheView) {
  const auto folder = std::filesystem::path(config_.path().toStdString()) / "steep";
  std::filesystem::create_directory(folder);
  open(folder.c_str());
  type("abc abc");
  ASSERT_TRUE(settle());
  press(window_->canvas(), Qt::Key_Down);
  ASSERT_TRUE(settle());
  window_->close();
  make_window();
  window_->open_first();
  ASSERT_TRUE(settle());
  EXPECT_EQ(title(), "steep · layer 1, head 0");
  EXPECT_EQ(window_->studio().input().text, "abc abc");
}

TEST_F(WindowSession, TheFigureIsExportedWithItsRecipe) {
  open("gentle");
  type("one two");
  ASSERT_TRUE(settle());
  const auto file = std::filesystem::path(config_.path().toStdString()) / "figure.svg";
  auto job = shown_job(window_->studio());
  ASSERT_TRUE(job.ok()) << job.error().describe();
  job->recipe.paper = {84, 300, false};
  job->recipe.session.state.head = views::kAll;
  std::vector<std::filesystem::path> files;
  submit_export(window_->studio(), *std::move(job), file, Contents::kFigure, [&](const auto& written) {
    ASSERT_TRUE(written.ok()) << written.error().describe();
    files = *written;
  });
  ASSERT_TRUE(settle());
  ASSERT_EQ(files.size(), 4U);
  EXPECT_EQ(files[3].filename(), "figure-l0-h3.svg");
  const auto recipe = paper::read_recipe(files[3]);
  ASSERT_TRUE(recipe.ok()) << recipe.error().describe();
  const auto parsed = session::parse_recipe(*recipe, files[3].string());
  ASSERT_TRUE(parsed.ok()) << parsed.error().describe();
  EXPECT_EQ(parsed->session.state.head, 3);
  EXPECT_EQ(parsed->session.input.text, "one two");
}

TEST_F(WindowSession, ASavedSessionOpensAgain) {
  const auto folder = std::filesystem::path(config_.path().toStdString());
  std::filesystem::create_directory(folder / "steep");
  open((folder / "steep").c_str());
  type("one two");
  session::ViewState state = window_->studio().state();
  state.view = "attention-text";
  state.head = 2;
  window_->studio().change(state);
  ASSERT_TRUE(settle());
  const auto file = folder / "kept.locus.json";
  ASSERT_TRUE(session::save_session(window_->studio().sessions().session(), file).ok());
  window_.reset();
  make_window();
  window_->open_path(file);
  ASSERT_TRUE(settle());
  EXPECT_EQ(title(), "steep · layer 0, head 2");
  EXPECT_EQ(window_->studio().state().view, "attention-text");
  EXPECT_EQ(window_->studio().input().text, "one two");
}

TEST_F(WindowSession, AMissingCheckpointIsAskedForAndTheRestWorks) {
  const auto folder = std::filesystem::path(config_.path().toStdString());
  std::filesystem::create_directories(folder / "here" / "steep");
  std::filesystem::create_directories(folder / "here" / "gentle");
  open((folder / "here" / "steep").c_str());
  open((folder / "here" / "gentle").c_str());
  type("one two");
  ASSERT_TRUE(settle());
  ASSERT_TRUE(session::save_session(window_->studio().sessions().session(), folder / "here" / "kept.locus.json").ok());
  std::filesystem::create_directories(folder / "there");
  std::filesystem::rename(folder / "here" / "kept.locus.json", folder / "there" / "kept.locus.json");
  std::filesystem::rename(folder / "here" / "gentle", folder / "there" / "gentle");
  std::filesystem::rename(folder / "here" / "steep", folder / "lost");
  window_->open_path(folder / "there" / "kept.locus.json");
  const QPointer<QDialog> dialog = window_->findChild<QDialog*>(QStringLiteral("missing-checkpoints"));
  ASSERT_FALSE(dialog.isNull());
  EXPECT_TRUE(dialog->isVisible());
  ASSERT_TRUE(settle());
  const auto missing = session::missing_checkpoints(window_->studio().sessions().session());
  ASSERT_EQ(missing.size(), 1U);  // the other lies beside the session now
  EXPECT_EQ(window_->studio().checkpoints().shown().size(), 1U);
  Q_EMIT static_cast<MissingDialog*>(dialog.data())
      ->located(QString::fromStdString(missing[0].string()), QString::fromStdString((folder / "lost").string()));
  ASSERT_TRUE(settle());
  EXPECT_EQ(window_->studio().checkpoints().shown().size(), 2U);
  EXPECT_TRUE(session::missing_checkpoints(window_->studio().sessions().session()).empty());
  EXPECT_TRUE(wait([&] { return dialog.isNull(); }));  // nothing is missing any more
}

}  // namespace
}  // namespace locus::workbench
