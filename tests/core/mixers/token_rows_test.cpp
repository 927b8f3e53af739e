// Rows that go on where others end: equal to one tensor of all, and which of them are copied.
#include "core/mixers/token_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace locus::test {
namespace {

using mixers::TokenRows;

void expect_equal(const TokenRows& rows, const at::Tensor& x) {
  ASSERT_EQ(rows.length(), x.size(rows.axis()));
  EXPECT_TRUE(rows.all().equal(x));
  const Range most{0, rows.length()};
  for (const Range tokens : {Range{3, 5}, Range{rows.length() / 2, rows.length()}, Range{4, 4}}) {
    const Range own = tokens.clamped(most);
    EXPECT_TRUE(rows.of(own, {1, 3}).equal(x.slice(rows.axis(), own.begin, own.end).slice(1 - rows.axis(), 1, 3)));
  }
}

TEST(TokenRows, ContinuedFromAnywhere) {
  std::mt19937 random(2);
  for (const std::int64_t axis : {0, 1}) {
    const auto made = [&](std::int64_t count) {
      return axis == 0 ? at::randn({count, 4, 2}) : at::randn({4, count, 2});
    };
    at::Tensor x = made(30);
    TokenRows rows(x, axis);
    for (int step = 0; step < 300; ++step) {
      const std::int64_t count = rows.length() - (random() % 4 == 0 ? random() % rows.length() : random() % 2);
      const at::Tensor added = made(random() % 8 == 0 ? 0 : 1 + random() % 9);
      x = at::cat({x.narrow(axis, 0, count), added}, axis);
      rows = rows.continued(count, TokenRows(added, axis));
      expect_equal(rows, x);
      if (rows.length() == 0) {
        rows = TokenRows(x = made(30), axis);
      }
    }
  }
}

TEST(TokenRows, TypedTokensCopyFewRows) {
  TokenRows rows(at::randn({1000, 3}), 0);
  const void* const first = rows.stretches().front().data_ptr();
  for (int n = 0; n < 900; ++n) {
    rows = rows.continued(rows.length(), TokenRows(at::randn({1, 3}), 0));
    ASSERT_EQ(rows.stretches().front().data_ptr(), first);
    ASSERT_LE(rows.stretches().size(), 11U);
    rows = rows.continued(rows.length() - 1, TokenRows(at::randn({1, 3}), 0));  // the last one replaced
    ASSERT_EQ(rows.stretches().front().data_ptr(), first);
    ASSERT_LE(rows.stretches().size(), 12U);
  }
}

TEST(TokenRows, FewRowsDoNotKeepTheMemoryOfMany) {
  const TokenRows rows(at::randn({1000, 3}), 0);
  const TokenRows few = rows.continued(10, TokenRows(at::randn({1, 3}), 0));
  EXPECT_LT(few.stretches().front().storage().nbytes(), 1000U);
  EXPECT_FALSE(TokenRows().defined());
  EXPECT_FALSE(TokenRows().continued(5, TokenRows()).defined());
}

}  // namespace
}  // namespace locus::test
