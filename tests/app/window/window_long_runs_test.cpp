// Long work in the window: what would take long is asked for, what runs says how far it is and shows its first layers,
// and Cancel brings back what was there.
#include <QAbstractButton>
#include <QLabel>
#include <QListWidget>
#include <QPushButton>
#include <QTreeWidget>
#include <ctime>
#include <fstream>

#include "app/workbench/input/input_dock.h"
#include "app/workbench/input/input_files.h"
#include "app/workbench/input/token_strip.h"
#include "tests/support/window.h"

namespace locus::workbench {
namespace {

// A second a token, as it says; in truth as long as `hold` has it, with a layer each time `layers_done` is raised.
class SlowModel final : public models::Model {
 public:
  const models::ModelInfo& info() const override { return model_.info(); }
  double macs(std::int64_t length) const override { return static_cast<double>(length); }
  Result<std::vector<models::TokenInfo>> tokenize(const models::Input& input) const override {
    return model_.tokenize(input);
  }
  models::Estimate estimate(std::int64_t length, const models::RunOptions& /*options*/) const override {
    models::Estimate estimate;
    estimate.time_ms = 1000.0 * static_cast<double>(length);
    estimate.memory_mb = static_cast<double>(length);
    estimate.available_mb = 1000;
    return estimate;
  }
  Result<std::shared_ptr<const models::Trace>> run(const models::Input& input, const models::RunOptions& options,
                                                   StopToken stop, const Progress& progress) const override {
    if (input.ids) {
      return bad_input("it reads texts");  // nobody times it
    }
    ++started;
    for (std::int64_t layer = 0; layer < 3; ++layer) {
      report(progress, static_cast<double>(layer) / 3, "layer " + std::to_string(layer + 1) + " of 3");
      while (hold && layers_done <= layer) {
        if (stop.stop_requested()) {
          return cancelled();
        }
        if (options.pause) {
          options.pause();
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      if (options.early && layer < 2) {
        test::FakeShape shape = shape_;
        shape.layers = layer + 1;
        options.early(std::make_shared<test::FakeTrace>(shape, input.text.value_or("")));
      }
    }
    return model_.run(input, options, std::move(stop), {});
  }

  static inline std::atomic<int> started = 0;
  static inline std::atomic<bool> hold = false;
  static inline std::atomic<int> layers_done = 0;

 private:
  static test::FakeShape named() {
    test::FakeShape shape;
    shape.name = "slow";
    return shape;
  }
  test::FakeShape shape_ = named();
  test::FakeModel model_{shape_};
};

class WindowLongRuns : public WindowTest {
 protected:
  void SetUp() override {
    SlowModel::started = 0;
    SlowModel::hold = false;
    SlowModel::layers_done = 0;
    opener_ = [](const std::filesystem::path& path, const models::OpenOptions& /*options*/, const StopToken& stop,
                 const Progress& progress) -> Result<std::shared_ptr<const models::Model>> {
      if (path.filename() == "slow") {
        return std::shared_ptr<const models::Model>(std::make_shared<SlowModel>());
      }
      return open_fake(path, {}, stop, progress);
    };
    WindowTest::SetUp();
  }
  QWidget* bar() { return window_->findChild<QWidget*>(QStringLiteral("question")); }
  void click(const char* name) { window_->findChild<QAbstractButton*>(QLatin1String(name))->click(); }
  const viewport::CanvasContent& content() { return window_->canvas()->content(); }
  std::string shown_text() { return window_->studio().checkpoints().shown().front()->trace->text(); }
};

TEST_F(WindowLongRuns, WhatWouldTakeLongIsAskedForAndTypingGoesOn) {
  open("slow");
  window_->studio().inputs().set_text("short");
  ASSERT_TRUE(settle());
  EXPECT_FALSE(bar()->isVisible());
  EXPECT_EQ(SlowModel::started, 1);
  // Above a minute: nothing runs, and the map stays, dimmed.
  const std::string text(200, 'a');
  window_->studio().inputs().set_text(text);
  ASSERT_TRUE(settle());
  EXPECT_EQ(SlowModel::started, 1);
  ASSERT_TRUE(bar()->isVisible());
  EXPECT_EQ(window_->findChild<QLabel*>(QStringLiteral("question-says"))->text().toStdString(),
            "200 tokens take about 3 min and 200 MB.");
  ASSERT_TRUE(wait([this] { return content().dim; }));
  EXPECT_NE(content().message.find("200 tokens take about 3 min"), std::string::npos) << content().message;
  EXPECT_NE(content().figure, nullptr);
  // Who types goes on: the question follows the text, and goes with it.
  auto* editor = window_->findChild<QPlainTextEdit*>(QStringLiteral("editor"));
  editor->moveCursor(QTextCursor::End);
  type("b");
  ASSERT_TRUE(wait([this] {
    return window_->findChild<QLabel*>(QStringLiteral("question-says"))->text().startsWith(QStringLiteral("201"));
  }));
  window_->studio().inputs().set_text("shorter");
  ASSERT_TRUE(settle());
  EXPECT_FALSE(bar()->isVisible());
  EXPECT_FALSE(content().dim);
  EXPECT_EQ(shown_text(), "shorter");
}

TEST_F(WindowLongRuns, TheThreeAnswers) {
  open("slow");
  window_->studio().inputs().set_text("short");
  ASSERT_TRUE(settle());
  const std::string text(200, 'a');
  // No: what was shown stays.
  window_->studio().inputs().set_text(text);
  ASSERT_TRUE(settle());
  click("question-cancel");
  ASSERT_TRUE(settle());
  EXPECT_FALSE(bar()->isVisible());
  EXPECT_EQ(SlowModel::started, 1);
  EXPECT_EQ(shown_text(), "short");
  EXPECT_FALSE(content().dim);
  EXPECT_NE(content().figure, nullptr);
  EXPECT_NE(content().note.find("R starts it again"), std::string::npos) << content().note;
  // Again, and yes; a little more of it is not asked for again.
  window_->studio().columns().runs().run_cancelled();
  ASSERT_TRUE(settle());
  ASSERT_TRUE(bar()->isVisible());
  click("question-run");
  ASSERT_TRUE(settle());
  EXPECT_FALSE(bar()->isVisible());
  EXPECT_EQ(shown_text(), text);
  EXPECT_EQ(content().note, "");
  window_->studio().inputs().set_text(text + "b");
  ASSERT_TRUE(settle());
  EXPECT_FALSE(bar()->isVisible());
  EXPECT_EQ(shown_text(), text + "b");
  // Its first tokens, as many as take ten seconds at most; undo brings the rest back, and asks again.
  window_->studio().inputs().set_text(std::string(4000, 'c'));
  ASSERT_TRUE(settle());
  ASSERT_TRUE(bar()->isVisible());
  EXPECT_EQ(window_->findChild<QPushButton*>(QStringLiteral("question-first"))->text().toStdString(), "First 8 tokens");
  click("question-first");
  ASSERT_TRUE(settle());
  EXPECT_FALSE(bar()->isVisible());
  EXPECT_EQ(shown_text(), std::string(8, 'c'));
  window_->studio().undo();
  ASSERT_TRUE(settle());
  EXPECT_EQ(window_->studio().input().text, std::string(4000, 'c'));
  EXPECT_TRUE(bar()->isVisible());
}

TEST_F(WindowLongRuns, HalfOfTheMemoryIsAskedForToo) {
  open("slow");
  const models::RunOptions run;
  const SlowModel model;
  const auto tokens = [&](std::int64_t count) {
    models::Input input;
    input.text = std::string(static_cast<std::size_t>(count), 'x');
    return *model.tokenize(input);
  };
  RunLimits limits;
  limits.time_ms = limits.short_run_ms = 1e9;
  EXPECT_FALSE(question_of(model, {}, tokens(500), run, model.estimate(500, run), {}, limits));
  const auto asked = question_of(model, {}, tokens(501), run, model.estimate(501, run), {}, limits);
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->first, 256);
  EXPECT_EQ(asked->first_bytes, 256);
}

TEST_F(WindowLongRuns, ALongRunShowsItsFirstLayerAndCancelBringsBackWhatWasThere) {
  open("slow");
  window_->studio().inputs().set_text("short");
  ASSERT_TRUE(settle());
  session::ViewState state = window_->studio().state();
  state.layer = 2;
  window_->studio().change(state);
  ASSERT_TRUE(settle());
  const auto before = content().figure;
  EXPECT_NE(title().find("layer 2"), std::string::npos) << title();

  SlowModel::hold = true;
  window_->studio().inputs().set_text("a text of thirty letters or so");
  ASSERT_TRUE(wait([this] { return content().dim; }));
  EXPECT_EQ(content().figure, before);  // until another is there
  EXPECT_NE(content().message.find("Running slow"), std::string::npos) << content().message;
  EXPECT_NE(content().message.find("layer 1 of 3"), std::string::npos) << content().message;
  EXPECT_NE(content().message.find("left"), std::string::npos) << content().message;
  auto* cancel = window_->findChild<QAbstractButton*>(QStringLiteral("cancel"));
  ASSERT_TRUE(wait([&] { return cancel->isVisible(); }));
  const QPoint place = cancel->mapTo(window_.get(), QPoint(0, 0));

  SlowModel::layers_done = 1;
  ASSERT_TRUE(wait([this] { return window_->studio().scheduler().is_early(); }));
  EXPECT_NE(title().find("layer 0"), std::string::npos) << title();
  EXPECT_FALSE(content().dim);
  EXPECT_EQ(content().message, "");
  EXPECT_NE(content().note.find("layer 2 of 3"), std::string::npos) << content().note;
  EXPECT_FALSE(content().home.has_value());  // its cells are none of the columns'
  EXPECT_EQ(window_->studio().state().layer, 2);
  EXPECT_EQ(cancel->mapTo(window_.get(), QPoint(0, 0)), place);
  // What is of the run before is grey.
  const auto* strip = window_->findChild<TokenStrip*>(QStringLiteral("token-strip"));
  const auto* predictions = window_->findChild<QWidget*>(QStringLiteral("predictions"));
  EXPECT_TRUE(strip->is_old());
  EXPECT_FALSE(predictions->isEnabled());

  cancel->click();
  ASSERT_TRUE(settle());
  EXPECT_FALSE(window_->studio().scheduler().is_early());
  EXPECT_FALSE(strip->is_old());
  EXPECT_TRUE(predictions->isEnabled());
  EXPECT_EQ(shown_text(), "short");
  EXPECT_NE(title().find("layer 2"), std::string::npos) << title();
  EXPECT_FALSE(content().dim);

  SlowModel::layers_done = 3;
  window_->studio().columns().runs().run_cancelled();
  ASSERT_TRUE(settle());
  EXPECT_EQ(shown_text(), "a text of thirty letters or so");
  EXPECT_EQ(content().note, "");
}

// Columns of two inputs are never mixed: one that has run goes back with the one that was stopped.
TEST_F(WindowLongRuns, ColumnsGoBackTogether) {
  open("gentle");
  open("slow");
  window_->studio().inputs().set_text("short");
  ASSERT_TRUE(settle());
  SlowModel::hold = true;
  window_->studio().inputs().set_text("longer");
  ASSERT_TRUE(wait([] { return SlowModel::started == 2; }));
  window_->studio().cancel();
  ASSERT_TRUE(settle());
  ASSERT_EQ(window_->studio().checkpoints().shown().size(), 2U);
  for (const Checkpoint* column : window_->studio().checkpoints().shown()) {
    EXPECT_EQ(column->trace->text(), "short") << column->name;
  }
  SlowModel::hold = false;
  window_->studio().columns().runs().run_cancelled();
  ASSERT_TRUE(settle());
  for (const Checkpoint* column : window_->studio().checkpoints().shown()) {
    EXPECT_EQ(column->trace->text(), "longer") << column->name;
  }
}

TEST_F(WindowLongRuns, JobsAreListedAndCancelledOneByOne) {
  open("slow");
  SlowModel::hold = true;
  window_->studio().inputs().set_text("a text");
  ASSERT_TRUE(wait([] { return SlowModel::started == 1; }));
  click("show-jobs");
  auto* list = window_->findChild<QTreeWidget*>(QStringLiteral("job-list"));
  ASSERT_TRUE(wait([&] { return list->topLevelItemCount() == 1; }));
  EXPECT_EQ(list->topLevelItem(0)->text(0).toStdString(), "Running slow");
  EXPECT_TRUE(list->topLevelItem(0)->text(1).startsWith(QStringLiteral("layer 1 of 3")));
  auto* cancel = list->findChild<QPushButton*>(QStringLiteral("cancel-job"));
  ASSERT_NE(cancel, nullptr);
  cancel->click();
  ASSERT_TRUE(settle());
  ASSERT_TRUE(wait(
      [&] { return list->topLevelItemCount() > 0 && list->topLevelItem(0)->text(1) == QStringLiteral("cancelled"); }));
  window_->findChild<QWidget*>(QStringLiteral("jobs"))->hide();
}

TEST_F(WindowLongRuns, AFileThatIsNoTextSaysSo) {
  const std::filesystem::path file = std::filesystem::path(config_.path().toStdString()) / "data.txt";
  const std::string bytes(
      "\x7f"
      "ELF\0\0\x01\x02",
      8);
  std::ofstream(file, std::ios::binary) << bytes;
  open("gentle");
  const auto before = window_->studio().input();
  window_->open_path(file);
  EXPECT_EQ(window_->studio().input(), before);
  EXPECT_NE(window_->last_message().indexOf(QStringLiteral("expected a text, found a zero byte at 4")), -1)
      << window_->last_message().toStdString();
  click("help-with-it");  // all the same
  EXPECT_EQ(window_->studio().input().text, bytes);
  // Strange bytes in a short text, other letters and tabs are a text; a page of bytes is none.
  EXPECT_EQ(why_no_text("a\x01"
                        "b\x02\xff"),
            "");
  std::string page;
  for (int n = 1; n < 1000; ++n) {
    page += static_cast<char>(n % 255 + 1);
  }
  EXPECT_NE(why_no_text(page).find("bytes that are no characters"), std::string::npos) << why_no_text(page);
  std::ofstream(file, std::ios::binary | std::ios::trunc) << "naïve Ωμέγα\ttext\n";
  window_->open_path(file);
  EXPECT_EQ(window_->studio().input().text, "naïve Ωμέγα\ttext\n");
}

TEST_F(WindowLongRuns, ASessionOfTwoThousandFiguresOpensAndIsKeptAtOnce) {
  session::Session session;
  const std::filesystem::path folder = config_.path().toStdString();
  for (const char* name : {"gentle", "steep", "gone"}) {
    if (std::string(name) != "gone") {
      std::filesystem::create_directories(folder / name);
    }
    session.checkpoints.push_back({});
    session.checkpoints.back().path = folder / name;
    session.checkpoints.back().shown = std::string(name) == "gentle";
  }
  session.input.text = "one two three";
  for (int n = 0; n < 2000; ++n) {
    session::Bookmark figure;
    figure.name = "Figure " + std::to_string(n);
    figure.about = "What is seen there: " + std::string(60, static_cast<char>('a' + n % 26));
    figure.columns = session.checkpoints;
    figure.input = session.input;
    figure.state.layer = n % 3;
    session.bookmarks.push_back(std::move(figure));
  }
  const auto file = folder / "many.locus.json";
  ASSERT_TRUE(session::save_session(session, file).ok());
  const double before = test::thread_ms();
  ASSERT_TRUE(window_->open_session(file));
  ASSERT_TRUE(settle());
  const auto* list = window_->findChild<QListWidget*>(QStringLiteral("figures"));
  ASSERT_EQ(list->count(), 2000);
  wait([] { return false; }, 2500);  // the journal has been written
  const double opened = test::thread_ms();
  // Drawing of frames is part of it.
  EXPECT_LT(opened - before, 5000 * kSlower) << "ms to open";
  window_->studio().inputs().set_text("one two");
  ASSERT_TRUE(settle());
  wait([] { return false; }, 2500);
  EXPECT_LT(test::thread_ms() - opened, 2000 * kSlower) << "ms to type a letter";
  RecordProperty("open_ms", static_cast<int>(opened - before));
}

}  // namespace
}  // namespace locus::workbench
