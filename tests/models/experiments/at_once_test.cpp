// Parts of an analysis at the same time: each once, whatever fails, and with the numbers of one after the other.
#include "models/experiments/at_once.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "models/api/analyses.h"
#include "models/engine/threads.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/paths.h"

namespace locus::models {
namespace {

class AtOnce : public testing::Test {
 protected:
  void TearDown() override { set_product_threads(before_); }
  const int before_ = product_threads();
};

TEST_F(AtOnce, EveryPartRunsOnceAndTheCallerAloneReports) {
  for (const int threads : {1, 2, 5}) {
    std::vector<std::atomic<int>> runs(40);
    const auto caller = std::this_thread::get_id();
    double last = 0;
    const Progress progress = [&](const ProgressReport& news) {
      EXPECT_EQ(std::this_thread::get_id(), caller);
      EXPECT_GE(news.fraction, last);
      last = news.fraction;
    };
    const auto part = [&](std::size_t n) -> Status {
      ++runs[n];
      return {};
    };
    EXPECT_TRUE(each_at_once(runs.size(), threads, part, progress).ok());
    for (const auto& each : runs) {
      EXPECT_EQ(each, 1);
    }
    EXPECT_LT(last, 1);
  }
  EXPECT_TRUE(each_at_once(0, 3, [](std::size_t) -> Status { return internal("there is none"); }, {}).ok());
}

TEST_F(AtOnce, AFailureStopsAndIsTheEarliestOneThatCame) {
  for (const int threads : {1, 2, 4}) {
    std::atomic<int> runs{0};
    const auto part = [&](std::size_t n) -> Status {
      ++runs;
      return n >= 3 ? Status(bad_input("part " + std::to_string(n))) : Status();
    };
    const Status status = each_at_once(1000, threads, part, {});
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().message, "part 3");  // which every thread takes before, or has taken when it fails
    EXPECT_LE(runs, 3 + threads);
  }
}

TEST_F(AtOnce, WhatAPartThrowsIsThrownByTheCaller) {
  for (const int threads : {1, 3}) {
    const auto part = [](std::size_t n) -> Status { return n == 7 ? throw std::runtime_error("seven") : Status(); };
    EXPECT_THROW(static_cast<void>(each_at_once(100, threads, part, {})), std::runtime_error);
  }
}

TEST_F(AtOnce, PartsThatRunTogetherHaveOneThreadEach) {
  set_product_threads(2);
  const auto threads_of_large_work = [] {
    const ThreadsFor large(100 * kSmallWorkMacs);
    return at::get_num_threads();
  };
  for (const int threads : {1, 2}) {
    const auto part = [&](std::size_t) -> Status {
      EXPECT_EQ(threads_of_large_work(), threads == 1 ? 2 : 1);
      return {};
    };
    EXPECT_TRUE(each_at_once(20, threads, part, {}).ok());
    EXPECT_EQ(threads_of_large_work(), 2);
  }
}

TEST_F(AtOnce, AsManyRunsAsThreadsWherePartsSuffice) {
  const auto model = test::open_model(test::source_dir() + "/assets/checkpoints/text-rope", OpenOptions());
  set_product_threads(1);
  EXPECT_EQ(runs_at_once(*model, 64, {}, 100), 1);
  set_product_threads(2);
  if (product_threads() == 2) {
    EXPECT_EQ(runs_at_once(*model, 64, {}, 100), 2);
    EXPECT_EQ(runs_at_once(*model, 64, {}, 1), 1);
    OpenOptions tight;
    const Estimate one = model->estimate(4096, {.all_logits = true});
    tight.memory_limit_mb = static_cast<std::int64_t>(1.5 * one.memory_mb + one.weights_mb);
    const auto limited = test::open_model(test::source_dir() + "/assets/checkpoints/text-rope", tight);
    EXPECT_EQ(runs_at_once(*limited, 4096, {.all_logits = true}, 100), 1);  // two would need more than is allowed
  }
}

// Bit for bit, on any kernels: every window runs on one thread either way.
TEST_F(AtOnce, ALengthCurveHasTheNumbersOfOneThread) {
  const auto model = test::open_model(test::source_dir() + "/assets/checkpoints/text-cope", OpenOptions());
  Input input;
  for (int n = 0; n < 40; ++n) {
    input.text = input.text.value_or("") + "The ship left the harbour before the light came. ";
  }
  const auto tokens = model->tokenize(input);
  ASSERT_TRUE(tokens.ok());
  std::vector<std::vector<LengthPoint>> curves;
  for (const int threads : {1, 2}) {
    set_product_threads(threads);
    auto curve = length_curve(*model, *tokens, {}, {}, {});
    ASSERT_TRUE(curve.ok()) << curve.error().describe();
    curves.push_back(*std::move(curve));
  }
  ASSERT_EQ(curves[0].size(), curves[1].size());
  for (std::size_t n = 0; n < curves[0].size(); ++n) {
    if (curves[0][n].length * 2 <= static_cast<std::int64_t>(tokens->size())) {  // two windows, or more
      EXPECT_EQ(curves[0][n].perplexity, curves[1][n].perplexity) << curves[0][n].length;
    }
  }
}

}  // namespace
}  // namespace locus::models
