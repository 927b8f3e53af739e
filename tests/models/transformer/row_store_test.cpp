// Rows that runs take over: equal to copies, never written while somebody looks at them, and how many are copied.
#include "models/transformer/row_store.h"

#include <gtest/gtest.h>

#include <random>

namespace locus {
namespace {

using transformer::ContinuedRows;
using transformer::RowStore;

constexpr std::int64_t kWidth = 3;

// A run of two tensors, as a layer has them.
struct Rows {
  at::Tensor key;     // (1, 2, T, 3)
  at::Tensor hidden;  // (1, T, 3)
  std::shared_ptr<RowStore> store;
  std::int64_t copied = 0;

  std::int64_t length() const { return hidden.size(1); }
};

Rows first(std::int64_t length) {
  return {at::randn({1, 2, length, kWidth}), at::randn({1, length, kWidth}), nullptr};
}

Rows next(const Rows& past, std::int64_t count, std::int64_t added, bool finished = true) {
  ContinuedRows rows(past.store, count, count + added);
  Rows run;
  run.copied = rows.copied();
  run.key = rows.join({0, 0}, past.key, at::randn({1, 2, added, kWidth}), 2);
  run.hidden = rows.join({0, 1}, past.hidden, at::randn({1, added, kWidth}), 1);
  run.store = finished ? rows.finish() : nullptr;
  return run;
}

bool continues(const Rows& run, const at::Tensor& key, const at::Tensor& hidden, std::int64_t count) {
  return run.key.narrow(2, 0, count).equal(key.narrow(2, 0, count)) &&
         run.hidden.narrow(1, 0, count).equal(hidden.narrow(1, 0, count));
}

TEST(RowStore, AnAppendedTokenCopiesNothingAfterTheFirstRun) {
  const Rows whole = first(100);
  Rows run = next(whole, 100, 1);
  EXPECT_EQ(run.copied, 100);
  EXPECT_TRUE(continues(run, whole.key, whole.hidden, 100));
  for (int n = 0; n < 20; ++n) {
    const Rows after = next(run, run.length(), 1);
    EXPECT_EQ(after.copied, 0);
    EXPECT_EQ(after.key.data_ptr(), run.key.data_ptr());  // the same buffer, one row more
    EXPECT_TRUE(continues(after, run.key, run.hidden, run.length()));
    run = after;
  }
}

TEST(RowStore, AReplacedLastTokenCopiesOnlyWhatDiffersOnceTheRunBeforeIsGone) {
  Rows older = next(first(200), 200, 1);
  Rows run = next(older, 200, 1);
  EXPECT_EQ(run.copied, 200);  // the only store is looked at: a second one is made
  older = {};
  for (int n = 0; n < 20; ++n) {
    const at::Tensor key = run.key.clone();
    const at::Tensor hidden = run.hidden.clone();
    const std::int64_t length = run.length();
    const Rows after = next(run, length - 1, 1 + n % 2);
    EXPECT_LE(after.copied, 2) << n;
    EXPECT_TRUE(continues(after, key, hidden, length - 1));
    EXPECT_TRUE(run.key.equal(key) && run.hidden.equal(hidden));
    run = after;
  }
}

TEST(RowStore, WhatIsLookedAtIsNeverWritten) {
  std::mt19937 random(3);
  const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(n)); };
  struct Kept {
    Rows run;
    at::Tensor key;
    at::Tensor hidden;
  };
  std::vector<Kept> kept;
  const Rows start = first(40);
  kept.push_back({start, start.key.clone(), start.hidden.clone()});
  for (int step = 0; step < 400; ++step) {
    // From any run that is still there, so that branches of one past meet; some never finish.
    const Kept past = kept[static_cast<std::size_t>(below(static_cast<std::int64_t>(kept.size())))];
    const std::int64_t count = below(3) == 0 ? 1 + below(past.run.length()) : past.run.length() - below(2);
    const bool finished = below(4) != 0;
    const Rows run = next(past.run, std::max<std::int64_t>(count, 1), 1 + below(5), finished);
    ASSERT_TRUE(continues(run, past.key, past.hidden, std::max<std::int64_t>(count, 1))) << step;
    if (finished) {
      kept.push_back({run, run.key.clone(), run.hidden.clone()});
    }
    for (const Kept& each : kept) {
      ASSERT_TRUE(each.run.key.equal(each.key) && each.run.hidden.equal(each.hidden)) << step;
    }
    if (kept.size() > 5) {
      kept.erase(kept.begin() + below(static_cast<std::int64_t>(kept.size())));
    }
  }
}

TEST(RowStore, TensorsThatARunDidNotKeepAreCopiedAgain) {
  const Rows whole = first(50);
  const Rows both = next(whole, 50, 1);
  ContinuedRows without(both.store, 51, 52);
  Rows keys;
  keys.key = without.join({0, 0}, both.key, at::randn({1, 2, 1, kWidth}), 2);
  EXPECT_FALSE(without.join({0, 1}, at::Tensor(), at::Tensor(), 1).defined());
  keys.store = without.finish();
  ContinuedRows again(keys.store, 52, 53);
  const at::Tensor hidden = at::randn({1, 52, kWidth});
  const at::Tensor joined = again.join({0, 1}, hidden, at::randn({1, 1, kWidth}), 1);
  EXPECT_TRUE(joined.narrow(1, 0, 52).equal(hidden));
}

TEST(RowStore, GrowsWhenItIsFull) {
  Rows run = next(first(10), 10, 1);
  std::int64_t copies = 0;
  for (int n = 0; n < 300; ++n) {
    const Rows after = next(run, run.length(), 1);
    copies += after.copied > 0 ? 1 : 0;
    run = after;
  }
  EXPECT_EQ(run.length(), 311);
  EXPECT_LE(copies, 5);
  EXPECT_LT(run.store->bytes(), std::size_t{2} * 311 * 3 * kWidth * sizeof(float));
}

}  // namespace
}  // namespace locus
