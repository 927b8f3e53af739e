#include "app/workbench/work/worker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/waits.h"

namespace locus::workbench {
namespace {

using namespace std::chrono_literals;

// Drains until everything submitted has been delivered or dropped.
bool settle(Worker& worker) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(test::kLimitMs);
  while (std::chrono::steady_clock::now() < end) {
    worker.drain();
    if (worker.idle()) {
      return true;
    }
    std::this_thread::sleep_for(1ms);
  }
  return false;
}

// Holds the worker until open() is called or the job is stopped.
class Gate {
 public:
  void open() { open_ = true; }
  void wait_until_entered() const {
    while (!entered_) {
      std::this_thread::sleep_for(100us);
    }
  }
  Result<int> pass(const StopToken& stop) {
    entered_ = true;
    while (!open_ && !stop.stop_requested()) {
      std::this_thread::sleep_for(100us);
    }
    return stop.stop_requested() ? Result<int>(cancelled()) : Result<int>(0);
  }

 private:
  std::atomic<bool> open_ = false;
  std::atomic<bool> entered_ = false;
};

std::shared_ptr<Gate> block(Worker& worker, Priority priority = Priority::kForward, std::string slot = "gate") {
  auto gate = std::make_shared<Gate>();
  worker.submit<int>(
      priority, std::move(slot), "waiting", [gate](StopToken stop, const Progress&) { return gate->pass(stop); },
      [](Result<int>) {});
  gate->wait_until_entered();
  return gate;
}

TEST(Worker, DeliversOnTheDrainingThreadOnly) {
  Worker worker([] {});
  std::thread::id ran;
  std::thread::id delivered;
  worker.submit<std::thread::id>(
      Priority::kForward, "a", "a",
      [](StopToken, const Progress&) -> Result<std::thread::id> { return std::this_thread::get_id(); },
      [&](Result<std::thread::id> id) {
        ran = id.value();
        delivered = std::this_thread::get_id();
      });
  ASSERT_TRUE(settle(worker));
  EXPECT_EQ(delivered, std::this_thread::get_id());
  EXPECT_NE(ran, delivered);
}

TEST(Worker, RunsByPriorityThenInOrder) {
  Worker worker([] {});
  const auto gate = block(worker);
  std::vector<std::string> order;
  const auto add = [&](Priority priority, const std::string& name) {
    worker.submit<std::string>(
        priority, name, name, [name](StopToken, const Progress&) -> Result<std::string> { return name; },
        [&](Result<std::string> result) { order.push_back(result.value()); });
  };
  add(Priority::kExact, "exact");
  add(Priority::kForward, "forward 1");
  add(Priority::kForward, "forward 2");
  add(Priority::kTile, "tile");
  add(Priority::kPreview, "preview");
  gate->open();
  ASSERT_TRUE(settle(worker));
  EXPECT_EQ(order, (std::vector<std::string>{"preview", "tile", "forward 1", "forward 2", "exact"}));
}

TEST(Worker, NewerJobOfASlotReplacesOlderWhetherWaitingOrRunning) {
  Worker worker([] {});
  const auto gate = block(worker, Priority::kForward, "run");  // runs, and is stopped by the next submit
  std::vector<int> delivered;
  std::atomic<int> ran = 0;
  for (int n = 1; n <= 50; ++n) {
    worker.submit<int>(
        Priority::kForward, "run", "run",
        [n, &ran](StopToken, const Progress&) -> Result<int> {
          ++ran;
          return n;
        },
        [&](Result<int> result) { delivered.push_back(result.value()); });
  }
  ASSERT_TRUE(settle(worker));
  EXPECT_EQ(delivered, std::vector<int>{50});
  EXPECT_LE(ran, 50);
}

TEST(Worker, DropsAFinishedResultThatIsStale) {
  Worker worker([] {});
  int delivered = 0;
  const auto add = [&](int n) {
    worker.submit<int>(
        Priority::kTile, "figure", "figure", [n](StopToken, const Progress&) -> Result<int> { return n; },
        [&](Result<int> result) { delivered = result.value(); });
  };
  add(1);
  while (worker.state().busy) {  // until 1 has finished; it is not drained
    std::this_thread::yield();
  }
  add(2);
  ASSERT_TRUE(settle(worker));
  EXPECT_EQ(delivered, 2);
}

// Two results are delivered by one drain(); the first handler submits or drops the second's slot.
TEST(Worker, ADeliveryMakesTheOthersOfItsBatchStale) {
  for (const bool dropped : {false, true}) {
    Worker worker([] {});
    std::vector<std::string> delivered;
    const auto add = [&](const std::string& slot, const std::string& name, std::function<void()> then) {
      worker.submit<std::string>(
          Priority::kTile, slot, name, [name](StopToken, const Progress&) -> Result<std::string> { return name; },
          [&delivered, then](Result<std::string> result) {
            delivered.push_back(result.value());
            then();
          });
    };
    const auto gate = block(worker);
    add("run", "run", [&] {
      if (dropped) {
        worker.drop("figure");
      } else {
        add("figure", "new figure", [] {});
      }
    });
    add("figure", "old figure", [] {});
    gate->open();
    while (worker.state().busy) {  // until all have finished; none is drained
      std::this_thread::yield();
    }
    ASSERT_TRUE(settle(worker));
    const std::vector<std::string> wanted =
        dropped ? std::vector<std::string>{"run"} : std::vector<std::string>{"run", "new figure"};
    EXPECT_EQ(delivered, wanted);
  }
}

TEST(Worker, SlotsDoNotDisturbEachOther) {
  Worker worker([] {});
  int sum = 0;
  for (int n = 1; n <= 4; ++n) {
    worker.submit<int>(
        Priority::kTile, "slot " + std::to_string(n), "", [n](StopToken, const Progress&) -> Result<int> { return n; },
        [&](Result<int> result) { sum += result.value(); });
  }
  ASSERT_TRUE(settle(worker));
  EXPECT_EQ(sum, 10);
}

TEST(Worker, CancelReachesRunningAndWaitingJobsAndIsDelivered) {
  Worker worker([] {});
  auto gate = std::make_shared<Gate>();
  std::vector<ErrorCode> codes;
  const auto note = [&](Result<int> result) {
    codes.push_back(result.ok() ? ErrorCode::kInternal : result.error().code);
  };
  worker.submit<int>(
      Priority::kForward, "running", "", [gate](StopToken stop, const Progress&) { return gate->pass(stop); }, note);
  gate->wait_until_entered();
  worker.submit<int>(
      Priority::kForward, "waiting", "", [](StopToken, const Progress&) -> Result<int> { return 1; }, note);
  worker.cancel_all();
  ASSERT_TRUE(settle(worker));
  EXPECT_EQ(codes, (std::vector<ErrorCode>{ErrorCode::kCancelled, ErrorCode::kCancelled}));
}

TEST(Worker, DropDeliversNothing) {
  Worker worker([] {});
  const auto gate = block(worker);
  bool delivered = false;
  worker.submit<int>(
      Priority::kForward, "gone", "", [](StopToken, const Progress&) -> Result<int> { return 1; },
      [&](Result<int>) { delivered = true; });
  worker.drop("gone");
  gate->open();
  ASSERT_TRUE(settle(worker));
  EXPECT_FALSE(delivered);
}

TEST(Worker, ExceptionsBecomeErrorsAndTheWorkerLivesOn) {
  Worker worker([] {});
  std::vector<Error> errors;
  const auto note = [&](Result<int> result) { errors.push_back(result.error()); };
  worker.submit<int>(
      Priority::kForward, "memory", "", [](StopToken, const Progress&) -> Result<int> { throw std::bad_alloc(); },
      note);
  worker.submit<int>(
      Priority::kForward, "bug", "",
      [](StopToken, const Progress&) -> Result<int> { throw std::runtime_error("a bug"); }, note);
  ASSERT_TRUE(settle(worker));
  ASSERT_EQ(errors.size(), 2U);
  EXPECT_EQ(errors[0].code, ErrorCode::kTooLarge);
  EXPECT_EQ(errors[1].code, ErrorCode::kInternal);
  EXPECT_EQ(errors[1].message, "a bug");
  int value = 0;
  worker.submit<int>(
      Priority::kForward, "after", "", [](StopToken, const Progress&) -> Result<int> { return 7; },
      [&](Result<int> result) { value = result.value(); });
  ASSERT_TRUE(settle(worker));
  EXPECT_EQ(value, 7);
}

TEST(Worker, StateNamesTheJobAndItsProgress) {
  std::atomic<int> woken = 0;
  Worker worker([&] { ++woken; });
  auto gate = std::make_shared<Gate>();
  worker.submit<int>(
      Priority::kForward, "a", "running text-rope",
      [gate](StopToken stop, const Progress& progress) {
        report(progress, 0.5, "layer 2 of 4");
        return gate->pass(stop);
      },
      [](Result<int>) {});
  gate->wait_until_entered();
  const Worker::State state = worker.state();
  EXPECT_TRUE(state.busy);
  EXPECT_EQ(state.what, "running text-rope");
  EXPECT_EQ(state.progress.what, "layer 2 of 4");
  EXPECT_DOUBLE_EQ(state.progress.fraction, 0.5);
  gate->open();
  ASSERT_TRUE(settle(worker));
  EXPECT_FALSE(worker.state().busy);
  EXPECT_GE(woken, 2);  // the report and the result
}

TEST(Worker, AStepIsAsOldAsTheWorkItBelongsTo) {
  Worker worker([] {});
  const auto gate = block(worker);
  const auto since = Worker::Clock::now() - 10s;
  double running_ms = 0;
  worker.submit<int>(
      Priority::kExact, "figure", "drawing",
      [&](StopToken, const Progress&) -> Result<int> {
        running_ms = worker.state().elapsed_ms;
        return 1;
      },
      [](Result<int>) {}, since);
  EXPECT_LT(worker.state().elapsed_ms, 10'000);  // what runs comes before what waits
  gate->open();
  ASSERT_TRUE(settle(worker));
  EXPECT_GE(running_ms, 10'000);
  EXPECT_FALSE(worker.state().busy);
}

// Tasks of this process.
std::size_t count_threads() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

TEST(Worker, ClosingStopsWhatRunsAndForgetsWhatWaits) {
  std::atomic<bool> ran = false;
  const std::size_t threads = count_threads();
  {
    Worker worker([] {});
    const auto gate = block(worker);
    worker.submit<int>(
        Priority::kForward, "waiting", "",
        [&ran](StopToken, const Progress&) -> Result<int> {
          ran = true;
          return 1;
        },
        [](Result<int>) {});
  }
  EXPECT_FALSE(ran);
  // A joined thread leaves the list a moment after it ends; so may one of an earlier test that was counted.
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(test::kLimitMs);
  while (count_threads() > threads && std::chrono::steady_clock::now() < end) {
    std::this_thread::yield();
  }
  EXPECT_LE(count_threads(), threads);
}

// A long job rests between its parts: what is more urgent runs there, within it, and the rest waits.
TEST(Worker, UrgentJobsRunWithinAJobThatRests) {
  Worker worker([] {});
  std::atomic<int> previews = 0;
  std::atomic<bool> began = false;
  std::atomic<bool> submitted = false;
  std::atomic<int> seen = -1;
  std::vector<std::string> delivered;
  const auto note = [&](const char* name) {
    return [&delivered, name](const Result<int>& result) {
      delivered.push_back(std::string(name) + (result.ok() ? "" : " failed"));
    };
  };
  worker.submit<int>(
      Priority::kForward, "long", "long",
      [&](const StopToken&, const Progress&) -> Result<int> {
        began = true;
        while (!submitted) {
          std::this_thread::sleep_for(100us);
        }
        worker.tell([&] { delivered.emplace_back("news"); });
        worker.rest();
        seen = previews.load();
        return 1;
      },
      note("long"));
  while (!began) {
    std::this_thread::sleep_for(100us);
  }
  worker.submit<int>(
      Priority::kForward, "other", "other", [](const StopToken&, const Progress&) -> Result<int> { return 2; },
      note("other"));
  worker.submit<int>(
      Priority::kTile, "tile", "tile", [&](const StopToken&, const Progress&) -> Result<int> { return ++previews; },
      note("tile"));
  submitted = true;
  ASSERT_TRUE(settle(worker));
  EXPECT_EQ(seen, 1);
  EXPECT_EQ(delivered, (std::vector<std::string>{"news", "tile", "long", "other"}));
}

// What is stopped is the job that is meant, whichever runs within which; news of a job that was replaced are not told.
TEST(Worker, StopsTheOuterJobWhileAnotherRunsWithinIt) {
  Worker worker([] {});
  std::atomic<bool> outer_stopped = false;
  std::atomic<bool> inner_stopped = true;
  std::atomic<bool> inner_runs = false;
  std::atomic<bool> go_on = false;
  std::atomic<bool> outer_runs = false;
  bool told = false;
  worker.submit<int>(
      Priority::kForward, "outer", "outer",
      [&](const StopToken& stop, const Progress&) -> Result<int> {
        outer_runs = true;
        while (!inner_runs) {
          worker.rest();
        }
        worker.tell([&] { told = true; });
        outer_stopped = stop.stop_requested();
        return cancelled();
      },
      [](const Result<int>&) {});
  while (!outer_runs) {
    std::this_thread::sleep_for(100us);
  }
  worker.submit<int>(
      Priority::kTile, "inner", "inner",
      [&](const StopToken& stop, const Progress&) -> Result<int> {
        inner_runs = true;
        while (!go_on) {
          std::this_thread::sleep_for(100us);
        }
        inner_stopped = stop.stop_requested();
        return 1;
      },
      [](const Result<int>&) {});
  while (!inner_runs) {
    std::this_thread::sleep_for(100us);
  }
  EXPECT_EQ(worker.state().what, "outer");  // what takes long
  ASSERT_EQ(worker.list().size(), 2U);
  worker.drop("outer");
  go_on = true;
  ASSERT_TRUE(settle(worker));
  EXPECT_TRUE(outer_stopped);
  EXPECT_FALSE(inner_stopped);
  EXPECT_FALSE(told);
}

TEST(Worker, ListsWhatRunsWhatWaitsAndWhatFailed) {
  Worker worker([] {});
  const auto gate = block(worker);
  const auto add = [&](const std::string& name, bool fails) {
    worker.submit<int>(
        Priority::kForward, name, name,
        [fails](const StopToken&, const Progress&) -> Result<int> { return fails ? Result<int>(usage("no")) : 1; },
        [](const Result<int>&) {});
  };
  add("fails", true);
  add("cancelled", false);
  add("", false);
  using State = Worker::Listed::State;
  auto list = worker.list();
  ASSERT_EQ(list.size(), 3U);  // what has no name is nobody's business
  EXPECT_EQ(list[0].state, State::kRunning);
  EXPECT_EQ(list[1].what, "fails");
  EXPECT_EQ(list[2].state, State::kWaiting);
  worker.cancel_job(list[2].number);
  gate->open();
  ASSERT_TRUE(settle(worker));
  list = worker.list();
  std::erase_if(list, [](const Worker::Listed& each) { return each.what == "waiting"; });  // listed when it took long
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].what, "fails");
  EXPECT_EQ(list[0].state, State::kFailed);
  EXPECT_EQ(list[1].what, "cancelled");
  EXPECT_EQ(list[1].state, State::kCancelled);
}

}  // namespace
}  // namespace locus::workbench
