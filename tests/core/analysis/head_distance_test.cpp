#include "core/analysis/head_distance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "tests/core/analysis/analysis_fields.h"

namespace locus::analysis {
namespace {

TEST(HeadDistance, IsTheMeanTotalVariationOfTheRows) {
  at::manual_seed(2);
  const at::Tensor a = at::randn({3, 24, 24}) * 2;
  const at::Tensor b = at::randn({2, 24, 24}) * 2;
  const auto distances = head_distances(test::causal_field(a), test::causal_field(b), 0);
  ASSERT_TRUE(distances.ok()) << distances.error().describe();
  const at::Tensor hidden = at::ones({24, 24}, at::kBool).triu(1);
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::int64_t j = 0; j < 2; ++j) {
      const at::Tensor difference =
          a[i].masked_fill(hidden, -1e30).softmax(-1) - b[j].masked_fill(hidden, -1e30).softmax(-1);
      const double expected = 0.5 * difference.slice(0, 1).abs().sum(-1).mean().item<double>();
      EXPECT_NEAR(distances->at(i, j), expected, 1e-5);
    }
  }
}

TEST(HeadDistance, PermutedHeadsAreFoundAgain) {
  at::manual_seed(3);
  const at::Tensor a = at::randn({6, 30, 30}) * 3;
  const std::vector<std::int64_t> order{4, 2, 0, 5, 1, 3};
  const at::Tensor b = a.index_select(0, at::tensor(order)) + at::randn({6, 30, 30}) * 0.1;
  const auto distances = head_distances(test::causal_field(a), test::causal_field(b), 12);
  ASSERT_TRUE(distances.ok());
  const std::vector<std::int64_t> match = best_assignment(*distances);
  for (std::size_t head = 0; head < order.size(); ++head) {
    EXPECT_EQ(match[static_cast<std::size_t>(order[head])], static_cast<std::int64_t>(head));
  }
}

TEST(HeadDistance, RunsOverDifferentLengthsAreRefused) {
  EXPECT_FALSE(
      head_distances(test::causal_field(at::zeros({1, 5, 5})), test::causal_field(at::zeros({1, 6, 6})), 0).ok());
}

// The cheapest of all assignments of the shorter side to the longer one.
double brute_force(const Field& cost) {
  const bool wide = cost.rows <= cost.columns;
  std::vector<std::int64_t> order(static_cast<std::size_t>(std::max(cost.rows, cost.columns)));
  std::iota(order.begin(), order.end(), 0);
  double best = 1e9;
  do {
    double sum = 0;
    for (std::int64_t n = 0; n < std::min(cost.rows, cost.columns); ++n) {
      const std::int64_t other = order[static_cast<std::size_t>(n)];
      sum += static_cast<double>(wide ? cost.at(n, other) : cost.at(other, n));
    }
    best = std::min(best, sum);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

TEST(HeadDistance, AssignmentIsTheCheapestOfAllPermutations) {
  at::manual_seed(4);
  for (int n = 0; n < 120; ++n) {
    const auto [rows, columns] = std::array<std::pair<std::int64_t, std::int64_t>, 4>{
        {{6, 6}, {4, 6}, {6, 4}, {1, 3}}}[static_cast<std::size_t>(n % 4)];
    Field cost = Field::zeros(rows, columns);
    const at::Tensor values = at::rand({rows * columns});
    std::copy_n(values.data_ptr<float>(), cost.values.size(), cost.values.begin());
    const std::vector<std::int64_t> match = best_assignment(cost);
    double found = 0;
    std::vector<int> taken(static_cast<std::size_t>(columns));
    for (std::size_t row = 0; row < match.size(); ++row) {
      if (match[row] >= 0) {
        found += static_cast<double>(cost.at(static_cast<std::int64_t>(row), match[row]));
        EXPECT_EQ(taken[static_cast<std::size_t>(match[row])]++, 0);
      }
    }
    EXPECT_NEAR(found, brute_force(cost), 1e-6);
  }
}

}  // namespace
}  // namespace locus::analysis
