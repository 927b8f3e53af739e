// Out of the window and in again: exported files reopen, and what goes to the clipboard says what is shown.
#include "tests/support/window.h"

#include <QClipboard>
#include <QComboBox>
#include <QDialog>
#include <QDoubleSpinBox>
#include <QLabel>
#include <QMimeData>
#include <QRegularExpression>
#include <QSettings>

#include "app/session/recipe.h"
#include "app/workbench/export/export.h"
#include "app/workbench/export/export_dialog.h"
#include "core/base/atomic_file.h"
#include "renderers/paper/paper.h"
#include "tests/support/paths.h"

namespace locus::workbench {
namespace {

class WindowExport : public WindowTest {
 protected:
  void SetUp() override {
    WindowTest::SetUp();
    for (const char* name : {"gentle", "steep", "hidden"}) {
      std::filesystem::create_directories(folder() / name);
      session::CheckpointEntry entry;
      entry.path = folder() / name;
      entry.shown = std::string(name) != "hidden";
      window_->studio().column_actions().open(entry);
    }
    type("one two three");
    ASSERT_TRUE(settle());
  }
  std::filesystem::path folder() const { return files_.path().toStdString(); }
  std::filesystem::path write(const char* name, bool data = false) {
    auto job = shown_job(window_->studio());
    EXPECT_TRUE(job.ok());
    std::optional<bool> written;
    const Contents contents = data ? Contents::kNumbers : Contents::kFigure;
    submit_export(window_->studio(), *std::move(job), folder() / name, contents,
                  [&](const auto& files) { written = files.ok(); });
    EXPECT_TRUE(wait([&] { return written.has_value(); }));
    EXPECT_TRUE(written.value_or(false)) << name;
    return folder() / name;
  }
  void trigger(const char* action) { window_->findChild<QAction*>(QLatin1String(action))->trigger(); }
  QString copied(const char* action) {
    QApplication::clipboard()->setText(QStringLiteral("before"));
    trigger(action);
    wait([] { return QApplication::clipboard()->text() != QStringLiteral("before"); });
    return QApplication::clipboard()->text();
  }

  QTemporaryDir files_;
};

TEST_F(WindowExport, NothingThatIsOpenIsOverwritten) {
  const auto weights = folder() / "gentle" / "model.safetensors";
  ASSERT_TRUE(write_file(weights, "weights").ok());
  for (const char* name : {"figure.png", "numbers.npy"}) {
    std::filesystem::create_symlink(weights, folder() / name);
    auto job = shown_job(window_->studio());
    ASSERT_TRUE(job.ok());
    const Contents contents = std::string(name) == "numbers.npy" ? Contents::kNumbers : Contents::kFigure;
    std::optional<Error> error;
    submit_export(window_->studio(), *std::move(job), folder() / name, contents,
                  [&](const auto& files) { error = files.ok() ? internal("it was written") : files.error(); });
    ASSERT_TRUE(wait([&] { return error.has_value(); }));
    EXPECT_EQ(error->code, ErrorCode::kUsage) << error->describe();
    EXPECT_EQ(*read_file(weights, 100), "weights");
  }
}

TEST_F(WindowExport, DroppedFiguresAndRecipesOpenWhatTheyShow) {
  session::ViewState state = window_->studio().state();
  state.layer = 2;
  state.head = 3;
  state.scale.colormap = "magma";
  window_->studio().change(state);
  ASSERT_TRUE(settle());
  const std::vector<std::filesystem::path> files = {write("map.png"), write("map.svg"), write("map.pdf"),
                                                    write("map.html"), write("map.csv", true)};
  for (std::filesystem::path file : files) {
    file += file.extension() == ".csv" ? ".recipe.json" : "";
    window_->studio().inputs().set_text("something else");
    session::ViewState other = window_->studio().state();
    other.layer = 0;
    other.head = 1;
    other.view = "heads";
    other.scale.colormap.clear();
    window_->studio().change(other);
    ASSERT_TRUE(settle());
    Q_EMIT window_->canvas()->dropped({QString::fromStdString(file.string())});
    ASSERT_TRUE(settle()) << file;
    EXPECT_EQ(window_->studio().state().view, "attention") << file;
    EXPECT_EQ(window_->studio().state().layer, 2) << file;
    EXPECT_EQ(window_->studio().state().head, 3) << file;
    EXPECT_EQ(window_->studio().state().scale.colormap, "magma") << file;
    EXPECT_EQ(window_->studio().input().text, "one two three") << file;
    EXPECT_EQ(window_->studio().checkpoints().shown().size(), 2U) << file;
    window_->studio().undo();
    ASSERT_TRUE(settle());
    EXPECT_EQ(window_->studio().state().view, "heads") << file;
    EXPECT_EQ(window_->studio().input().text, "something else") << file;
  }
}

TEST_F(WindowExport, WhatIsNotShownIsNoPartOfARecipe) {
  const auto job = shown_job(window_->studio());
  ASSERT_TRUE(job.ok());
  ASSERT_EQ(job->recipe.session.checkpoints.size(), 2U);
  EXPECT_EQ(job->recipe.session.checkpoints[1].path.filename(), "steep");
  EXPECT_EQ(to_json(job->recipe).find("hidden"), std::string::npos);
}

TEST_F(WindowExport, NamesHaveLayerAndHeadAndFilesTheirFolderAndFormat) {
  session::ViewState state = window_->studio().state();
  state.layer = 2;
  state.head = views::kMean;
  window_->studio().change(state);
  ASSERT_TRUE(settle());
  EXPECT_EQ(figures::suggested_name(*shown_job(window_->studio())), "gentle-attention-l2-mean");
  session::show_view(state, "heads");  // of all layers and heads
  window_->studio().change(state);
  ASSERT_TRUE(settle());
  EXPECT_EQ(figures::suggested_name(*shown_job(window_->studio())), "gentle-heads");
  EXPECT_EQ(file_like({}, "map", "pdf").toStdString(), "map.pdf");
  const QString folder = files_.path();
  EXPECT_EQ(file_like(folder + "/before.svg", "map", "pdf"), folder + QStringLiteral("/map.svg"));
  EXPECT_EQ(file_like("/no/such/folder/before.svg", "map", "pdf").toStdString(), "map.svg");
}

TEST_F(WindowExport, TheClipboardHasPictureDrawingWordsAndLatex) {
  trigger("copy-figure");
  ASSERT_TRUE(wait([] { return QApplication::clipboard()->mimeData()->hasFormat(QStringLiteral("image/svg+xml")); }));
  EXPECT_FALSE(QApplication::clipboard()->image().isNull());
  EXPECT_TRUE(QApplication::clipboard()->mimeData()->data(QStringLiteral("image/svg+xml")).contains("<svg"));
  const QString words = copied("copy-command");
  EXPECT_TRUE(words.startsWith(QStringLiteral("locus figure attention "))) << words.toStdString();
  EXPECT_TRUE(words.contains(QStringLiteral("--text 'one two three'"))) << words.toStdString();
  const QString latex = copied("copy-latex");
  EXPECT_TRUE(latex.contains(QStringLiteral("\\includegraphics[width=174mm]{gentle-attention-l0-h0.pdf}")))
      << latex.toStdString();
  EXPECT_TRUE(latex.contains(QStringLiteral("layer 0, head 0: gentle, steep."))) << latex.toStdString();
  EXPECT_TRUE(
      QRegularExpression(QStringLiteral("”\\. Recipe [0-9a-f]{12} \\(Locus [0-9.]+\\)\\.\\}")).match(latex).hasMatch())
      << latex.toStdString();
}

// The bundled checkpoints: files are written by the program's own opener.
TEST_F(WindowExport, EveryFigureOfTheSessionIsWrittenWithItsRecipe) {
  const auto rope = std::filesystem::path(test::source_dir()) / "assets/checkpoints/text-rope";
  session::Bookmark figure{"A map", {}, {}, {{rope, {}, true}}, {}};
  figure.input.emplace();
  figure.input->text = "one two three";
  figure.state.layer = 1;
  session::Bookmark grid = figure;
  grid.name = "All heads";
  grid.state.view = "attention-grid";
  session::Bookmark same = figure;
  same.state.layer = 2;
  window_->studio().sessions().set_bookmarks({figure, grid, same});
  std::vector<std::filesystem::path> written;
  bool done = false;
  export_all(window_->studio(), folder() / "all", [&](const Result<std::vector<std::filesystem::path>>& files) {
    ASSERT_TRUE(files.ok()) << files.error().describe();
    written = *files;
    done = true;
  });
  ASSERT_TRUE(wait([&] { return done; }));
  const std::vector<std::string> names = {"a-map", "all-heads", "a-map-2"};
  const std::vector<std::string> endings = {".png", ".pdf", ".html"};
  ASSERT_EQ(written.size(), endings.size() * names.size());
  for (std::size_t n = 0; n < written.size(); ++n) {
    EXPECT_EQ(written[n].filename(), names[n / 3] + endings[n % 3]);
    const auto text = paper::read_recipe(written[n]);
    ASSERT_TRUE(text.ok()) << written[n];
    const auto recipe = session::parse_recipe(*text, written[n].string());
    ASSERT_TRUE(recipe.ok()) << written[n];
    EXPECT_EQ(recipe->session.state.layer, n / 3 == 2 ? 2 : 1) << written[n];
    EXPECT_EQ(recipe->session.state.view, n / 3 == 1 ? "attention-grid" : "attention") << written[n];
  }
  ASSERT_TRUE(settle());
}

TEST_F(WindowExport, TheDialogKnowsJournalsAndShowsTheTrueSize) {
  double millimetres = 0;
  QTimer look;
  const auto dialog = [this] { return window_->findChild<QDialog*>(QStringLiteral("export-figure-dialog")); };
  QObject::connect(&look, &QTimer::timeout, &look, [&] {
    auto* preview = dialog() == nullptr ? nullptr : dialog()->findChild<QLabel*>(QStringLiteral("preview"));
    auto* journal = dialog() == nullptr ? nullptr : dialog()->findChild<QComboBox*>(QStringLiteral("journal"));
    if (journal != nullptr && journal->currentText() != QStringLiteral("IEEE column") && millimetres == 0) {
      journal->setCurrentText(QStringLiteral("IEEE column"));
      Q_EMIT journal->activated(journal->currentIndex());
    } else if (preview != nullptr && !preview->pixmap().isNull()) {
      millimetres = preview->pixmap().deviceIndependentSize().width() / preview->screen()->physicalDotsPerInch() * 25.4;
      if (std::abs(millimetres - 88.9) < 1) {
        if (journal->currentText() == QStringLiteral("IEEE column")) {
          EXPECT_DOUBLE_EQ(dialog()->findChild<QDoubleSpinBox*>(QStringLiteral("width-mm"))->value(), 88.9);
          journal->setCurrentText(QStringLiteral("IEEE page"));
          Q_EMIT journal->activated(journal->currentIndex());
        }
      } else if (std::abs(millimetres - 181) < 1) {
        // All of it is seen.
        EXPECT_GE(preview->parentWidget()->width(), preview->width());
        EXPECT_TRUE(preview->screen()->availableGeometry().contains(dialog()->geometry()));
        dialog()->reject();
      }
    }
  });
  look.start(50);
  trigger("export-figure");
  EXPECT_NEAR(millimetres, 181, 1);
  ASSERT_TRUE(settle());
}

TEST_F(WindowExport, SizesAreThoseOfTheLastTime) {
  QSettings settings(QString::fromStdString((folder() / "s.ini").string()), QSettings::IniFormat);
  session::PaperState paper;
  paper.width_mm = 82.6;
  paper.text_pt = 9;
  paper.legend = false;
  keep_paper(settings, paper);
  const session::PaperState again = kept_paper(settings);
  EXPECT_EQ(again.width_mm, 82.6);
  EXPECT_EQ(again.text_pt, 9);
  EXPECT_FALSE(again.legend);
  EXPECT_TRUE(again.titles);
}

}  // namespace
}  // namespace locus::workbench
