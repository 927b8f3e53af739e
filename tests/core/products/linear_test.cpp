// A layer's product with stored weights against ATen's with the converted ones.
#include "core/products/linear.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace locus::products {

namespace {

class Linear : public testing::TestWithParam<at::ScalarType> {};

void expect_near(const at::Tensor& found, const at::Tensor& expected) {
  ASSERT_EQ(found.sizes(), expected.sizes());
  ASSERT_EQ(found.scalar_type(), at::kFloat);
  EXPECT_LE(((found - expected).abs() / (1 + expected.abs())).max().item<float>(), 1e-5F);
}

TEST_P(Linear, IsThatOfTheConvertedWeights) {
  const at::NoGradGuard no_grad;
  at::manual_seed(1);
  const at::Tensor all = at::randn({96, 160}).to(GetParam());
  const at::Tensor bias = at::randn({64});
  // As stored, a Conv1D's transposed, rows and columns of a larger tensor, every second column.
  const std::vector<at::Tensor> weights{
      at::randn({64, 80}).to(GetParam()), at::randn({80, 64}).to(GetParam()).t(), all.narrow(0, 7, 64).narrow(1, 3, 80),
      all.t().narrow(0, 5, 64).narrow(1, 9, 80), all.narrow(0, 0, 64).slice(1, 0, 160, 2)};
  for (const at::Tensor& weight : weights) {
    for (const std::vector<std::int64_t>& shape :
         std::vector<std::vector<std::int64_t>>{{80}, {1, 1, 80}, {3, 80}, {2, 17, 80}}) {
      const at::Tensor x = at::randn(shape);
      expect_near(products::linear(x, weight, bias), at::linear(x, weight.to(at::kFloat), bias));
      expect_near(products::linear(x, weight), at::linear(x, weight.to(at::kFloat)));
    }
    const at::Tensor turned = at::randn({80, 9}).t();  // tokens that do not lie beside each other
    const at::Tensor rounded = bias.to(GetParam());
    expect_near(products::linear(turned, weight, rounded.to(at::kFloat)),
                products::linear(turned.contiguous(), weight, rounded));
  }
}

TEST_P(Linear, HasGradientsThroughItsInput) {
  at::manual_seed(2);
  const at::Tensor weight = at::randn({24, 16}).to(GetParam());
  const at::Tensor x = at::randn({5, 16}).requires_grad_(true);
  const at::Tensor y = products::linear(x, weight);
  y.backward(at::ones({5, 24}));
  expect_near(x.grad(), weight.to(at::kFloat).sum(0).expand({5, 16}));
}

TEST_P(Linear, OneTokenHasGradientsToo) {
  at::manual_seed(4);
  const at::Tensor weight = at::randn({24, 16}).to(GetParam()).requires_grad_(GetParam() == at::kFloat);
  const at::Tensor x = at::randn({1, 16}).requires_grad_(weight.requires_grad());
  const at::Tensor y = products::linear(x, weight);
  EXPECT_EQ(y.requires_grad(), weight.requires_grad());
  if (weight.requires_grad()) {
    y.backward(at::ones({1, 24}));
    expect_near(weight.grad(), x.detach().expand({24, 16}));
    // The weights alone, as a first layer's.
    EXPECT_TRUE(products::linear(x.detach(), weight).requires_grad());
  }
}

TEST_P(Linear, TakesRowsAndKnowsWhatIsFinite) {
  at::Tensor weight = at::randn({50, 8}).to(GetParam());
  const at::Tensor ids = at::tensor(std::vector<std::int64_t>{3, 49, 0, 3}).view({2, 2});
  EXPECT_TRUE(at::equal(rows(weight, ids), at::embedding(weight.to(at::kFloat), ids)));
  EXPECT_TRUE(all_finite(weight));
  EXPECT_TRUE(all_finite(weight.t()));
  EXPECT_TRUE(all_finite(weight.slice(1, 0, 8, 2)));
  weight[7][2].fill_(std::numeric_limits<double>::infinity());
  EXPECT_FALSE(all_finite(weight));
  EXPECT_FALSE(all_finite(weight.t()));
  EXPECT_FALSE(all_finite(weight.slice(1, 0, 8, 2)));
  EXPECT_FALSE(all_finite(weight.to(at::kFloat)));
}

INSTANTIATE_TEST_SUITE_P(Types, Linear, testing::Values(at::kBFloat16, at::kHalf, at::kFloat));

}  // namespace

}  // namespace locus::products
