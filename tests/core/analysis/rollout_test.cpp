#include "core/analysis/rollout.h"

#include <gtest/gtest.h>

#include "tests/core/analysis/analysis_fields.h"

namespace locus::analysis {
namespace {

TEST(Rollout, EqualsTheProductOfTheMixedMaps) {
  at::manual_seed(5);
  constexpr std::int64_t kLength = 17;
  std::vector<attention::ScoreField> layers;
  at::Tensor product = at::eye(kLength);
  for (int layer = 0; layer < 3; ++layer) {
    const at::Tensor weights = at::randn({4, kLength, kLength}).softmax(-1);
    attention::Mask mask;
    mask.causal = false;
    layers.emplace_back(std::make_shared<attention::StoredScores>(
                            std::map<attention::Quantity, at::Tensor>{{attention::Quantity::kWeight, weights}}),
                        mask);
    product = at::matmul(0.5 * (weights.mean(0) + at::eye(kLength)), product);
  }
  std::vector<const attention::ScoreField*> pointers;
  for (const attention::ScoreField& layer : layers) {
    pointers.push_back(&layer);
  }
  const auto share = attention_rollout(pointers, 0);
  ASSERT_TRUE(share.ok()) << share.error().describe();
  double sum = 0;
  for (std::int64_t token = 0; token < kLength; ++token) {
    EXPECT_NEAR((*share)[static_cast<std::size_t>(token)], product[0][token].item<float>(), 1e-6);
    sum += static_cast<double>((*share)[static_cast<std::size_t>(token)]);
  }
  EXPECT_NEAR(sum, 1, 1e-5);
  EXPECT_FALSE(attention_rollout(pointers, kLength).ok());
  EXPECT_FALSE(attention_rollout({}, 0).ok());
}

}  // namespace
}  // namespace locus::analysis
