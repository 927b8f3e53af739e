#include "app/workbench/work/live_input.h"

#include <gtest/gtest.h>

#include "tests/support/event_loop.h"

namespace locus::workbench {
namespace {

namespace live_input_suite {

class LiveInput : public test::EventLoopTest {
 protected:
  LiveInput() {
    QObject::connect(&input_, &workbench::LiveInput::due, &input_, [this] { ++due_; });
    QObject::connect(&input_, &workbench::LiveInput::changed, &input_, [this] { ++changed_; });
  }
  workbench::LiveInput input_{20};
  int due_ = 0;
  int changed_ = 0;
};

TEST_F(LiveInput, WhatIsTypedRunsOnceTheTypistPauses) {
  EXPECT_TRUE(input_.empty());
  for (const char* text : {"a", "ab", "abc"}) {
    input_.type(text);
  }
  EXPECT_EQ(changed_, 3);
  EXPECT_EQ(due_, 0);
  EXPECT_TRUE(input_.waiting());
  ASSERT_TRUE(wait([this] { return due_ > 0; }));
  EXPECT_EQ(due_, 1);
  EXPECT_FALSE(input_.waiting());
  input_.type("abc");  // the same
  EXPECT_FALSE(input_.waiting());
  EXPECT_EQ(changed_, 3);
}

TEST_F(LiveInput, AnotherInputRunsAtOnceAndEndsTheWait) {
  input_.type("typed");
  models::Input other;
  other.image = "picture.png";
  input_.set(other);
  EXPECT_EQ(due_, 1);
  EXPECT_FALSE(input_.waiting());
  EXPECT_FALSE(input_.empty());
  input_.put({});
  EXPECT_EQ(due_, 1);
  EXPECT_TRUE(input_.empty());
}

TEST_F(LiveInput, TypingKeepsTheFramesThatAreTakenOfAVideo) {
  models::Input input;
  input.text = "x<video>";
  input.videos = {"clip.mp4"};
  input.video_frames.fps = 1;
  input_.set(input);
  input_.type("xy<video>");
  EXPECT_EQ(input_.value().video_frames, input.video_frames);
  input_.type("xy");
  EXPECT_TRUE(input_.value().video_frames.empty());
  models::Input ids;
  ids.ids = std::vector<std::int64_t>{1, 9, 2};
  ids.videos = {"clip.mp4"};
  ids.video_frames.count = 8;
  input_.set(ids);
  const models::Input more = input_.with_ids({1, 9, 2, 3}, 8, 9);
  EXPECT_EQ(more.videos, ids.videos);
  EXPECT_EQ(more.video_frames, ids.video_frames);
  const models::Input none = input_.with_ids({1, 2, 3}, 8, 9);
  EXPECT_TRUE(none.videos.empty());
  EXPECT_TRUE(none.video_frames.empty());
}

TEST_F(LiveInput, TypingKeepsTheStartPosition) {
  models::Input input;
  input.text = "x";
  input.position_start = 40;
  input_.set(input);
  input_.type("xy");
  EXPECT_EQ(input_.value().position_start, 40);
  input_.flush();
  EXPECT_EQ(due_, 2);
  input_.flush();
  EXPECT_EQ(due_, 2);
}

// With a pause that no test waits for.
TEST_F(LiveInput, WhatShowsQuicklyRunsWithoutAPauseAndWhatIsSlowAfterOne) {
  workbench::LiveInput input(1'000'000);
  int due = 0;
  QObject::connect(&input, &workbench::LiveInput::due, &input, [&] { ++due; });
  input.type("a");
  wait([] { return false; }, 50);
  EXPECT_EQ(due, 0);   // nothing is known yet
  input.note_work(0);  // on the input before
  input.flush();
  input.type("b");
  wait([] { return false; }, 50);
  EXPECT_EQ(due, 1);
  input.flush();
  input.note_work(workbench::LiveInput::kQuickMs / 2);
  for (const char* text : {"ab", "abc"}) {  // keys that arrive together run once
    input.type(text);
  }
  EXPECT_EQ(due, 2);
  ASSERT_TRUE(wait([&] { return due > 2; }));
  EXPECT_EQ(due, 3);
  input.note_work(2 * workbench::LiveInput::kQuickMs);
  input.note_work(0);  // another figure of the same input
  input.type("abcd");
  wait([] { return false; }, 50);
  EXPECT_EQ(due, 3);
  EXPECT_TRUE(input.waiting());
}

}  // namespace live_input_suite
}  // namespace
}  // namespace locus::workbench
