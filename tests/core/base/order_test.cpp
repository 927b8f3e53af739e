// Shares of reversed pairs against counting all of them.
#include "core/base/order.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace locus {
namespace {

double counted_pairs(const std::vector<double>& numbers) {
  double count = 0;
  double pairs = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    for (std::size_t j = i + 1; j < numbers.size(); ++j) {
      count += numbers[i] > numbers[j] ? 1 : 0;
      pairs += 1;
    }
  }
  return pairs > 0 ? count / pairs : 0;
}

TEST(Order, IsThatOfAllPairs) {
  std::mt19937 random(3);
  std::uniform_int_distribution<int> some(0, 9);  // with ties
  for (const std::size_t length : {0U, 1U, 2U, 3U, 7U, 64U, 201U}) {
    std::vector<double> numbers(length);
    for (double& number : numbers) {
      number = some(random) - 4.5;
    }
    EXPECT_DOUBLE_EQ(reversed_pairs(numbers), counted_pairs(numbers)) << length;
  }
  EXPECT_EQ(reversed_pairs(std::vector<double>{1, 2, 2, 5}), 0);
  EXPECT_EQ(reversed_pairs(std::vector<double>{5, 2, 1, -3}), 1);
}

}  // namespace
}  // namespace locus
