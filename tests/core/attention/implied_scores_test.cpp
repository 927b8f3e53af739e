// Weights that an implied map stands for: its cells' sizes as shares of their row, whichever rows are asked for first.
#include "core/attention/implied_scores.h"

#include <gtest/gtest.h>

namespace locus::test {
namespace {

TEST(ImpliedScores, WeightsAreSharesOfTheirRow) {
  const auto map = mixers::implied_map(mixers::DecayedInputs{at::randn({1, 2, 70, 4}), at::randn({1, 2, 70, 4}),
                                                             at::randn({1, 2, 70, 3}), -at::rand({1, 2, 70})});
  const attention::ImpliedScores scores(map);
  const at::Tensor sizes = map->tile({0, 2}, {0, 70}, {0, 70}).abs();
  const at::Tensor shares = sizes / sizes.sum(-1, true);
  for (const Range rows : {Range{60, 70}, Range{0, 70}, Range{3, 9}}) {
    at::Tensor carry;
    const auto weights = scores.scores(attention::Quantity::kWeight, {1, 2}, rows, {0, 70}, carry);
    ASSERT_TRUE(weights.ok());
    EXPECT_TRUE(at::allclose(*weights, shares.slice(0, 1, 2).slice(1, rows.begin, rows.end), 1e-5, 1e-6));
  }
}

}  // namespace
}  // namespace locus::test
