// The command that is copied from the window runs: of every view, on every kind of checkpoint, whatever was shown
// before.
#include <gtest/gtest.h>

#include <QFile>
#include <QImage>
#include <QTemporaryDir>
#include <filesystem>
#include <string>
#include <vector>

#include "app/session/command_words.h"
#include "app/workbench/export/clipboard.h"
#include "app/workbench/export/export.h"
#include "app/workbench/state/studio.h"
#include "tests/support/event_loop.h"
#include "tests/support/paths.h"
#include "tests/support/run_locus.h"

namespace locus::workbench {
namespace {

class CopiedCommands : public test::EventLoopTest {
 protected:
  static std::filesystem::path family(const char* name) {
    return std::filesystem::path(test::source_dir()) / "tests/golden/families" / name;
  }
  std::string file(const char* name) const { return folder_.filePath(QLatin1String(name)).toStdString(); }
  int open(const std::filesystem::path& path) {
    session::CheckpointEntry entry;
    entry.path = path;
    return studio_.column_actions().open(entry);
  }
  bool settle() {
    return wait([this] { return studio_.settled(); });
  }
  static models::Input ids() {
    models::Input input;
    input.ids = {5, 9, 13, 2, 7, 44, 60, 3};
    return input;
  }
  // An encoder–decoder was shown, on its cross side, with what its decoder has read.
  void show_an_encoder_decoder() {
    models::Input both = ids();
    both.decoder_ids = {0, 4, 8};
    studio_.inputs().set_input(both);
    t5_ = open(family("t5"));
    ASSERT_TRUE(settle());
    session::ViewState state = studio_.state();
    state.side = models::Side::kCross;
    state.query = 2;
    state.key = 6;
    studio_.change(state);
    ASSERT_TRUE(settle());
  }
  // Each view that these columns have: how many there were.
  int run_every_view() {
    int views = 0;
    for (const views::View* view : views::views()) {
      SCOPED_TRACE(view->info().name);
      session::ViewState state = studio_.state();
      state.view = view->info().name;
      studio_.change(state);
      EXPECT_TRUE(settle());
      if (studio_.scheduler().error() || studio_.checkpoints().shown().empty()) {
        continue;
      }
      auto words = shown_command(studio_);
      EXPECT_TRUE(words.ok());
      if (!words.ok()) {
        continue;
      }
      EXPECT_EQ(*(words->end() - 2), "--out");
      words->erase(words->end() - 2, words->end());
      words->insert(words->end(), {"--data", file("again.csv")});
      const auto outcome = testing_support::run_locus(*words);
      EXPECT_EQ(outcome.status, 0) << outcome.err << "\n" << session::shell_line(*words);
      ++views;
    }
    return views;
  }

  QTemporaryDir folder_;
  Studio studio_{StudioOptions{}};
  int t5_ = 0;
};

TEST_F(CopiedCommands, OfADecoderRun) {
  show_an_encoder_decoder();
  studio_.columns().set_shown(t5_, false);
  open(std::filesystem::path(test::source_dir()) / "assets/checkpoints/text-rope");
  models::Input text;
  text.text = "one two one two";
  text.decoder_ids = {0, 4, 8};
  studio_.inputs().set_input(text);
  ASSERT_TRUE(settle());
  EXPECT_GT(run_every_view(), 10);
}

TEST_F(CopiedCommands, OfAnEncoderRun) {
  show_an_encoder_decoder();
  studio_.columns().set_shown(t5_, false);
  open(family("roberta"));
  ASSERT_TRUE(settle());
  EXPECT_GT(run_every_view(), 5);
}

TEST_F(CopiedCommands, OfAnEncoderDecoderRunOnEverySide) {
  show_an_encoder_decoder();
  for (const models::Side side : {models::Side::kCross, models::Side::kEncoder, models::Side::kDecoder}) {
    SCOPED_TRACE(to_text(side));
    session::ViewState state = studio_.state();
    state.side = side;
    state.query = state.key = views::kNone;
    studio_.change(state);
    ASSERT_TRUE(settle());
    EXPECT_GT(run_every_view(), 0);
  }
}

TEST_F(CopiedCommands, OfAnImageModelRun) {
  show_an_encoder_decoder();
  studio_.columns().set_shown(t5_, false);
  QImage picture(40, 40, QImage::Format_RGB32);
  picture.fill(Qt::darkGreen);
  ASSERT_TRUE(picture.save(QString::fromStdString(file("picture.png"))));
  open(family("deit"));
  models::Input input;
  input.image = file("picture.png");
  studio_.inputs().set_input(input);
  ASSERT_TRUE(settle());
  EXPECT_GT(run_every_view(), 5);
}

// A trace brings its own input, whatever is typed.
TEST_F(CopiedCommands, OfATraceRun) {
  const std::string trace = file("own.safetensors");
  const auto made = testing_support::run_locus(
      {"run", family("roberta").string(), "--ids", "5,9,13,2,7", "--trace", trace, "--keep", "all"});
  ASSERT_EQ(made.status, 0) << made.err;
  show_an_encoder_decoder();
  studio_.columns().set_shown(t5_, false);
  open(trace);
  ASSERT_TRUE(settle());
  ASSERT_FALSE(studio_.checkpoints().shown().empty());
  EXPECT_GT(run_every_view(), 3);
}

TEST_F(CopiedCommands, OfEditedColumnsSayTheEditOrThatOnlyARecipeCan) {
  const int id = open(std::filesystem::path(test::source_dir()) / "assets/checkpoints/text-rope");
  studio_.inputs().set_text("one two one two");
  ASSERT_TRUE(settle());
  studio_.column_actions().change_edits(id, {*models::parse_edit("head 0.1 zero", 0)});
  ASSERT_TRUE(settle());
  const auto words = shown_command(studio_);
  ASSERT_TRUE(words.ok()) << words.error().describe();
  const auto flag = std::find(words->begin(), words->end(), "--edit");
  ASSERT_NE(flag, words->end());
  EXPECT_EQ(*(flag + 1), "head 0.1 zero");
  session::CheckpointEntry plain = studio_.checkpoints().find(id)->entry;
  plain.edits.clear();
  studio_.column_actions().open(plain);
  ASSERT_TRUE(settle());
  EXPECT_EQ(shown_command(studio_).error().code, ErrorCode::kUnsupported);  // one edited, one not, no difference
  session::ViewState state = studio_.state();
  state.difference = true;
  studio_.change(state);
  ASSERT_TRUE(settle());
  auto both = shown_command(studio_);
  ASSERT_TRUE(both.ok()) << both.error().describe();
  both->erase(both->end() - 2, both->end());
  both->insert(both->end(), {"--data", file("difference.npy")});
  const auto outcome = testing_support::run_locus(*both);
  EXPECT_EQ(outcome.status, 0) << outcome.err << "\n" << session::shell_line(*both);
}

TEST_F(CopiedCommands, OfColumnsWithTheirOwnHeads) {
  open(std::filesystem::path(test::source_dir()) / "assets/checkpoints/text-rope");
  open(std::filesystem::path(test::source_dir()) / "assets/checkpoints/text-words-rope");
  studio_.inputs().set_text("one two one two");
  ASSERT_TRUE(settle());
  studio_.column_actions().set_own_head(1, views::HeadRef{1, 2});
  ASSERT_TRUE(settle());
  const auto words = shown_command(studio_);
  ASSERT_TRUE(words.ok()) << words.error().describe();
  const auto flag = std::find(words->begin(), words->end(), "--unlinked");
  ASSERT_NE(flag, words->end());
  EXPECT_EQ(*(flag + 1), "-1,0,1,2");
}

// What the recipe of a figure says is of the columns that it shows.
TEST_F(CopiedCommands, RecipesSayNothingOfWhatIsNotShown) {
  show_an_encoder_decoder();
  studio_.columns().set_shown(t5_, false);
  open(family("roberta"));
  ASSERT_TRUE(settle());
  const auto job = shown_job(studio_);
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(job->recipe.session.state.side, models::Side::kDecoder);
  EXPECT_FALSE(job->recipe.session.input.decoder_ids);
  EXPECT_EQ(to_json(job->recipe).find("cross"), std::string::npos);
  EXPECT_EQ(latex_of(*job).find("cross"), std::string::npos);
  EXPECT_NE(latex_of(*job, "head 0.1 reads the first token: 62 % of its weight")
                .find(" head 0.1 reads the first token: 62 \\% of its weight. "),
            std::string::npos);
}

}  // namespace
}  // namespace locus::workbench
