// Tasks of unequal length over all threads: every one once, at the same time, stopped between two.
#include "core/attention/tasks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

namespace locus::attention {
namespace {

struct NoScratch {};

class Tasks : public ::testing::Test {
 protected:
  void SetUp() override { at::set_num_threads(2); }
  void TearDown() override { at::set_num_threads(before_); }

 private:
  int before_ = at::get_num_threads();
};

TEST_F(Tasks, EachOneIsDoneOnce) {
  std::vector<std::atomic<int>> done(1000);
  const Status status =
      run_tasks<NoScratch>(1000, {}, [&](std::int64_t task, NoScratch&) { ++done[static_cast<std::size_t>(task)]; });
  EXPECT_TRUE(status);
  EXPECT_TRUE(std::all_of(done.begin(), done.end(), [](const std::atomic<int>& n) { return n == 1; }));
}

// Each of two tasks waits for the other one: on one thread the first would wait in vain.
TEST_F(Tasks, TwoRunAtTheSameTime) {
  std::atomic<int> begun = 0;
  std::atomic<int> met = 0;
  const Status status = run_tasks<NoScratch>(2, {}, [&](std::int64_t, NoScratch&) {
    ++begun;
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (begun < 2 && std::chrono::steady_clock::now() < patience) {
      std::this_thread::yield();
    }
    met += begun == 2 ? 1 : 0;
  });
  EXPECT_TRUE(status);
  EXPECT_EQ(met, 2);
}

TEST_F(Tasks, AStopIsSeenBeforeTheNextTask) {
  std::stop_source stop;
  std::atomic<int> done = 0;
  const Status status = run_tasks<NoScratch>(1000, stop.get_token(), [&](std::int64_t, NoScratch&) {
    ++done;
    stop.request_stop();
  });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kCancelled);
  EXPECT_LE(done, 2);  // one a thread
}

}  // namespace
}  // namespace locus::attention
