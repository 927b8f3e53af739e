// The optimiser and its schedule, by hand.
#include "models/training/adamw.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/support/golden.h"

namespace locus::training {
namespace {

// Algorithm 2 of Loshchilov & Hutter 2019 in float64, one number at a time.
TEST(Adamw, StepsAreThePapers) {
  const AdamOptions options;
  const std::vector<double> gradients{0.3, -1.2, 0.05, 0.8};
  constexpr double kRate = 0.01;
  constexpr double kDecay = 0.1;
  at::Tensor value = at::tensor({0.7, -2.0}, at::kDouble).requires_grad_();
  at::Tensor bias = at::tensor({1.5}, at::kDouble).requires_grad_();
  AdamW adam(options);
  adam.add(value, kDecay);
  adam.add(bias, 0);
  std::vector<double> wanted{0.7, -2.0, 1.5};
  std::vector<double> mean(3);
  std::vector<double> square(3);
  for (std::size_t step = 0; step < gradients.size(); ++step) {
    const double g = gradients[step];
    value.mutable_grad() = at::tensor({g, 2 * g}, at::kDouble);
    bias.mutable_grad() = at::tensor({-g}, at::kDouble);
    const double norm = std::sqrt(6.0) * std::abs(g);
    EXPECT_NEAR(adam.step(kRate, 1.0), norm, 1e-12);
    EXPECT_FALSE(value.grad().defined());
    const double shrink = norm > 1 ? 1 / norm : 1;
    const double t = static_cast<double>(step + 1);
    for (std::size_t n = 0; n < 3; ++n) {
      const double own = shrink * (n == 0 ? g : n == 1 ? 2 * g : -g);
      mean[n] = options.beta1 * mean[n] + (1 - options.beta1) * own;
      square[n] = options.beta2 * square[n] + (1 - options.beta2) * own * own;
      const double unbiased_mean = mean[n] / (1 - std::pow(options.beta1, t));
      const double unbiased_square = square[n] / (1 - std::pow(options.beta2, t));
      wanted[n] -=
          kRate * (unbiased_mean / (std::sqrt(unbiased_square) + options.epsilon) + (n < 2 ? kDecay : 0) * wanted[n]);
    }
    EXPECT_NEAR(value[0].item<double>(), wanted[0], 1e-12) << step;
    EXPECT_NEAR(value[1].item<double>(), wanted[1], 1e-12) << step;
    EXPECT_NEAR(bias[0].item<double>(), wanted[2], 1e-12) << step;
  }
}

TEST(Adamw, TheRateWarmsUpAndFallsToZero) {
  TrainOptions options;
  options.learning_rate = 2;
  options.warmup = 4;
  options.steps = 14;
  const auto rate = [&](std::int64_t step) { return learning_rate_at(step, options); };
  EXPECT_DOUBLE_EQ(rate(0), 0.5);
  EXPECT_DOUBLE_EQ(rate(2), 1.5);
  EXPECT_DOUBLE_EQ(rate(3), 2);
  EXPECT_DOUBLE_EQ(rate(4), 2);
  EXPECT_DOUBLE_EQ(rate(9), 1);  // half of the cosine
  EXPECT_NEAR(rate(6), 1 + std::cos(0.2 * std::acos(-1.0)), 1e-12);
  EXPECT_NEAR(rate(14), 0, 1e-12);
  options.decay = Decay::kLinear;
  EXPECT_DOUBLE_EQ(rate(6), 1.6);
  EXPECT_DOUBLE_EQ(rate(14), 0);
  options.decay = Decay::kConstant;
  EXPECT_DOUBLE_EQ(rate(13), 2);
}

}  // namespace
}  // namespace locus::training
