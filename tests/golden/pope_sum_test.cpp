// Polar coordinates against the sum over their channels.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tests/support/encodings.h"
#include "tests/support/golden.h"

namespace locus::test {
namespace {

using position::Positions;

// The sum over channels, one by one, of heads that share a key and far from position 0.
TEST(PopeSum, isThatOfItsChannels) {
  at::manual_seed(5);
  constexpr std::int64_t kTokens = 19;
  constexpr std::int64_t kWidth = 6;
  const auto pope = encoding("pope", {{"base", 50.0}, {"fraction", 0.5}, {"per_layer", false}}, shape_of(4, kWidth, 2));
  const at::Tensor phase = at::randn({4, 3}, at::kDouble) * 4;
  parameter(*pope, "phase") = phase;
  const at::Tensor query = at::randn({1, 4, kTokens, kWidth}, at::kDouble);
  const at::Tensor key = at::randn({1, 2, kTokens, kWidth}, at::kDouble);
  const at::Tensor logits = whole_map(*pope, prepare(*pope, Positions::sequence(kTokens, 1000), query, key)).logits[0];
  const auto number = [](const at::Tensor& x, std::int64_t head, std::int64_t token, std::int64_t channel) {
    return x[0][head][token][channel].item<double>();
  };
  const auto size = [](double x) { return std::log1p(std::exp(x)); };
  for (std::int64_t head = 0; head < 4; ++head) {
    for (const auto& [i, j] : {std::pair{0, 0}, std::pair{18, 0}, std::pair{7, 5}, std::pair{3, 11}}) {
      double sum = 0;
      for (std::int64_t c = 0; c < kWidth; ++c) {
        const double q = number(query, head, i, c);
        const double k = number(key, head / 2, j, c);
        const double delta = c < 3 ? std::clamp(phase[head][c].item<double>(), -2 * std::numbers::pi, 0.0) : 0;
        const double angle = (i - j) * std::pow(50.0, -static_cast<double>(c) / 3) - delta;
        sum += c < 3 ? size(q) * size(k) * std::cos(angle) : q * k;
      }
      EXPECT_NEAR(logits[head][i][j].item<double>(), sum / std::sqrt(6.0), 1e-10);
    }
  }
}

}  // namespace
}  // namespace locus::test
