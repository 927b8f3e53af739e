// The norm's loop against the formula in float64 and against ATen's operations.
#include "core/products/norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/golden.h"

namespace locus {
namespace {

constexpr double kEps = 1e-5;
// A sum of C squares in sixteen parts is off by at most (C/16 + 4)·2^−24 of itself, its root by half of that.
constexpr double kTolerance = 5e-6;

at::Tensor by_formula(const at::Tensor& x, const at::Tensor& weight) {
  const at::Tensor wide = x.to(at::kDouble);
  const at::Tensor scaled = wide / (wide.square().mean(-1, true) + kEps).sqrt();
  return weight.defined() ? scaled * weight.to(at::kDouble) : scaled;
}

// Widths that sixteen does not divide, rows of all layouts, with and without factors.
TEST(Norm, IsThatOfTheFormula) {
  const at::NoGradGuard no_grad;
  at::manual_seed(3);
  for (const std::int64_t width : {1, 15, 16, 17, 576, 2048}) {
    const at::Tensor x = at::randn({2, 3, 5, width}) * 3;
    const at::Tensor weight = at::randn({width});
    for (const at::Tensor& given : {x, x.transpose(1, 2), x.narrow(2, 1, 2)}) {
      EXPECT_CLOSE(products::rms_norm(given, weight, kEps), by_formula(given, weight), kTolerance);
      EXPECT_CLOSE(products::rms_norm(given, {}, kEps), by_formula(given, {}), kTolerance);
    }
  }
}

// The loop is of a tensor outside gradients alone; both ways give the same numbers but for rounding.
TEST(Norm, HasGradients) {
  at::manual_seed(4);
  const at::Tensor x = at::randn({3, 40});
  const at::Tensor weight = at::randn({40}).set_requires_grad(true);
  const at::Tensor y = products::rms_norm(x, weight, kEps);
  EXPECT_TRUE(y.requires_grad());
  EXPECT_CLOSE(y.detach(), by_formula(x, weight.detach()), kTolerance);
}

// A row of zeros stays so, and one that is not finite is alone in that.
TEST(Norm, RowsAreOnTheirOwn) {
  const at::NoGradGuard no_grad;
  at::Tensor x = at::ones({3, 20});
  x[0].zero_();
  x[1][7] = std::numeric_limits<float>::quiet_NaN();
  const at::Tensor y = products::rms_norm(x, {}, kEps);
  EXPECT_TRUE(at::equal(y[0], at::zeros({20})));
  EXPECT_TRUE(at::isnan(y[1]).all().item<bool>());
  EXPECT_CLOSE(y[2], at::full({20}, 1 / std::sqrt(1 + kEps)), kTolerance);
  EXPECT_EQ(products::rms_norm(at::zeros({0, 20}), {}, kEps).size(0), 0);
}

}  // namespace
}  // namespace locus
