#include "core/analysis/shift_stability.h"

#include <gtest/gtest.h>

#include "tests/core/analysis/analysis_fields.h"

namespace locus::analysis {
namespace {

constexpr std::int64_t kShiftLength = 21;

TEST(ShiftStability, ComparesRowsOfTheSameToken) {
  at::manual_seed(6);
  const at::Tensor a = at::randn({2, kShiftLength, kShiftLength});
  const at::Tensor b = at::randn({2, kShiftLength + 3, kShiftLength + 3});
  const auto plain = test::causal_field(a);
  const auto moved = test::causal_field(b);
  const auto change = attention_change(plain, moved, 3);
  ASSERT_TRUE(change.ok()) << change.error().describe();

  const at::Tensor before = a.masked_fill(at::ones({kShiftLength, kShiftLength}, at::kBool).triu(1), -1e30).softmax(-1);
  const at::Tensor after = b.masked_fill(at::ones({kShiftLength + 3, kShiftLength + 3}, at::kBool).triu(1), -1e30)
                               .softmax(-1)
                               .slice(1, 3)
                               .slice(2, 3);
  const at::Tensor difference = (after - before).abs();
  EXPECT_NEAR(change->row_l1, difference.sum(-1).mean().item<double>(), 1e-5);
  EXPECT_NEAR(change->cell_mean, difference.sum().item<double>() / (2 * kShiftLength * (kShiftLength + 1) / 2.0), 1e-6);
}

TEST(ShiftStability, TheSameRunDoesNotChange) {
  at::manual_seed(7);
  const auto field = test::causal_field(at::randn({2, kShiftLength, kShiftLength}));
  const auto change = attention_change(field, field, 0);
  ASSERT_TRUE(change.ok());
  EXPECT_EQ(change->row_l1, 0);
  EXPECT_FALSE(attention_change(field, field, 3).ok());
}

TEST(ShiftStability, DotProductsChangeByTheShareOfTheirSize) {
  at::manual_seed(8);
  const at::Tensor before = at::randn({3, 300, 6});
  const at::Tensor after = at::randn({3, 302, 6});
  const auto percent = dot_product_change_percent(before, after, 2);
  ASSERT_TRUE(percent.ok()) << percent.error().describe();
  const at::Tensor p = at::matmul(before, before.transpose(1, 2)).tril();
  const at::Tensor moved = after.slice(1, 2);
  const at::Tensor q = at::matmul(moved, moved.transpose(1, 2)).tril();
  EXPECT_NEAR(*percent, 100 * ((q - p).abs().sum() / p.abs().sum()).item<double>(), 1e-2);
  EXPECT_EQ(*dot_product_change_percent(before, before, 0), 0);
  EXPECT_FALSE(dot_product_change_percent(before, after, 1).ok());
}

}  // namespace
}  // namespace locus::analysis
