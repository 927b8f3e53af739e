#include "app/workbench/work/figure_scheduler.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "app/workbench/work/columns.h"
#include "core/base/work_time.h"
#include "tests/support/event_loop.h"
#include "tests/support/fake_model.h"
#include "tests/support/paths.h"

namespace locus::workbench {
namespace {
namespace figure_scheduler_suite {

class FigureScheduler : public test::EventLoopTest {
 protected:
  FigureScheduler() {
    QObject::connect(&columns_.runs(), &CheckpointRuns::started, &scheduler_, &workbench::FigureScheduler::hold);
    QObject::connect(&columns_, &Columns::extent_changed, &scheduler_, [this] {
      scheduler_.update();
      scheduler_.update_cells();
    });
    QObject::connect(&input_, &LiveInput::due, &columns_.runs(), &CheckpointRuns::run_all);
    QObject::connect(&scheduler_, &workbench::FigureScheduler::changed, &scheduler_, [this] { ++changed_; });
  }
  static Result<std::shared_ptr<const models::Model>> open_fake(const std::filesystem::path& path,
                                                                const models::OpenOptions&, const StopToken&,
                                                                const Progress&) {
    test::FakeShape shape;
    shape.name = path.filename().string();
    return std::shared_ptr<const models::Model>(std::make_shared<test::FakeModel>(shape));
  }
  void open(const char* name) {
    session::CheckpointEntry entry;
    entry.path = name;
    columns_.open(entry);
  }
  void type(const char* text) {
    models::Input input;
    input.text = text;
    input_.set(input);
  }
  bool settle() {
    return wait([this] {
      worker_.drain();
      return worker_.idle() && !scheduler_.pending();
    });
  }

  History history_;
  LiveInput input_{1};
  Worker worker_{[] {}};
  Columns columns_{worker_, input_, "cpu", open_fake};
  workbench::FigureScheduler scheduler_{worker_, columns_.list(), history_, 1e-9};
  int changed_ = 0;
};

TEST_F(FigureScheduler, TheFigureFollowsTheRunsAndTheState) {
  type("one two");
  open("gentle");
  ASSERT_TRUE(settle());
  ASSERT_NE(scheduler_.figure(), nullptr);
  EXPECT_EQ(scheduler_.figure()->panels.size(), 1U);
  session::ViewState state = history_.state();
  state.view = "heads";
  history_.set(state);
  scheduler_.update();
  ASSERT_TRUE(settle());
  EXPECT_EQ(scheduler_.figure_state().view, "heads");
}

// The time of a figure is that of its own work, however long other work kept it waiting.
TEST_F(FigureScheduler, WaitingForOtherWorkIsNoPartOfItsTime) {
  constexpr int kHeldMs = 300;
  type("one two");
  open("gentle");
  ASSERT_TRUE(settle());
  std::atomic<bool> released = false;
  worker_.submit<int>(
      Priority::kPreview, "held", "",
      [&](const StopToken&, const Progress&) -> Result<int> {
        while (!released) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return 0;
      },
      [](const Result<int>&) {});
  const WorkTime all;
  scheduler_.update();
  std::this_thread::sleep_for(std::chrono::milliseconds(kHeldMs));
  released = true;
  ASSERT_TRUE(settle());
  EXPECT_GT(scheduler_.drawing_ms(), 0);
  EXPECT_LE(scheduler_.drawing_ms(), all.ms() - kHeldMs);
  EXPECT_GT(columns_.list().all().front().run_ms, 0);
}

TEST_F(FigureScheduler, ColumnsOfTwoInputsAreNeverMixed) {
  type("one two");
  open("gentle");
  open("steep");
  ASSERT_TRUE(settle());
  changed_ = 0;
  type("three");
  scheduler_.update();  // while both run
  EXPECT_FALSE(scheduler_.pending());
  ASSERT_TRUE(settle());
  EXPECT_EQ(changed_, 1);
  for (const views::Column& column : scheduler_.view_input().columns) {
    EXPECT_EQ(column.trace->text(), "three");
  }
}

TEST_F(FigureScheduler, AViewThatHasNothingToShowSaysWhy) {
  type("one two");
  open("gentle");
  session::ViewState state;
  state.view = "gates";
  history_.set(state);
  ASSERT_TRUE(settle());
  EXPECT_EQ(scheduler_.figure(), nullptr);
  ASSERT_TRUE(scheduler_.error().has_value());
  EXPECT_EQ(scheduler_.error()->code, ErrorCode::kUnsupported);
}

// A measurement that takes long is seen in parts, and then whole.
TEST_F(FigureScheduler, AMeasurementShowsWhatItHas) {
  Columns columns{worker_, input_, "cpu",
                  [](const std::filesystem::path& path, const models::OpenOptions& options, const StopToken& stop,
                     const Progress& progress) { return models::open(path, options, stop, progress); }};
  QObject::connect(&input_, &LiveInput::due, &columns.runs(), &CheckpointRuns::run_all);
  workbench::FigureScheduler scheduler{worker_, columns.list(), history_, 1e-9, 0};
  session::ViewState state;
  state.view = "logit-lens";
  history_.set(state);
  type("one two");
  session::CheckpointEntry entry;
  entry.path = test::source_dir() + "/assets/checkpoints/text-rope";
  columns.open(entry);
  ASSERT_TRUE(wait([&] {
    worker_.drain();
    return worker_.idle() && !columns.list().shown().empty() && !columns.list().running();
  }));
  std::vector<std::string> notes;
  QObject::connect(&scheduler, &workbench::FigureScheduler::changed, &scheduler, [&] {
    ASSERT_NE(scheduler.figure(), nullptr);
    notes.push_back(scheduler.figure()->panels.front().note);
  });
  scheduler.update();
  ASSERT_TRUE(wait([&] {
    worker_.drain();
    return worker_.idle() && !scheduler.pending();
  }));
  ASSERT_EQ(notes.size(), 2U);  // the prediction, then the other rows, which a short text has at once
  EXPECT_EQ(notes.front().rfind("1 of 5 rows so far", 0), 0U) << notes.front();
  EXPECT_EQ(notes.back().find("so far"), std::string::npos) << notes.back();
}

TEST_F(FigureScheduler, TheInspectedCellIsThePointedAtOrThePinned) {
  type("one two");
  open("gentle");
  ASSERT_TRUE(settle());
  EXPECT_TRUE(scheduler_.cells().empty());
  scheduler_.inspect(4, 2);
  ASSERT_TRUE(settle());
  ASSERT_EQ(scheduler_.cells().size(), 1U);
  EXPECT_EQ(scheduler_.cells().front().query, 4);
  session::ViewState state = history_.state();
  state.query = 6;
  state.key = 1;
  history_.set(state);
  scheduler_.inspect_pinned();
  ASSERT_TRUE(settle());
  EXPECT_EQ(scheduler_.cells().front().query, 6);
  history_.set({});
  scheduler_.update_cells();
  EXPECT_TRUE(scheduler_.cells().empty());
}

TEST_F(FigureScheduler, TheLastCheckpointThatGoesTakesTheFigureWithIt) {
  type("one");
  open("gentle");
  ASSERT_TRUE(settle());
  ASSERT_NE(scheduler_.figure(), nullptr);
  columns_.clear();
  ASSERT_TRUE(settle());
  EXPECT_EQ(scheduler_.figure(), nullptr);
}

}  // namespace figure_scheduler_suite
}  // namespace
}  // namespace locus::workbench
