// Losses of logits against those of ATen in float64.
#include "models/experiments/outputs.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace locus::models {
namespace {

at::Tensor expected_losses(const at::Tensor& logits, const at::Tensor& ids) {
  const at::Tensor rows = logits.slice(0, 0, logits.size(0) - 1).to(at::kDouble);
  return rows.logsumexp(-1) - rows.gather(1, ids.slice(0, 1).unsqueeze(1)).squeeze(1);
}

TEST(Outputs, LossesAreThoseOfTheSoftMax) {
  at::manual_seed(1);
  for (const std::int64_t vocabulary : {2, 63, 64, 100, 4096, 4097, 50257}) {
    for (const double size : {1.0, 40.0, 1e4}) {
      const at::Tensor logits = at::randn({300, vocabulary}) * size;
      const at::Tensor ids = at::randint(vocabulary, {300}, at::kLong);
      const at::Tensor difference = (token_losses(logits, ids) - expected_losses(logits, ids)).abs();
      EXPECT_LE((difference / (1 + 1e-1 * size)).max().item<double>(), 1e-6) << vocabulary << ", " << size;
      EXPECT_NEAR(mean_loss(logits, ids), expected_losses(logits, ids).mean().item<double>(), 1e-6 * (1 + size));
    }
  }
  const at::Tensor stored = at::randn({9, 70}).to(at::kBFloat16);
  const at::Tensor ids = at::randint(70, {9}, at::kLong);
  EXPECT_TRUE(at::allclose(token_losses(stored, ids), expected_losses(stored, ids), 1e-6, 1e-6));
}

TEST(Outputs, LossesOfLogitsThatAreNoNumbers) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  at::Tensor logits = at::zeros({5, 130});
  logits[0].slice(0, 1).fill_(-kInfinity);  // token 0 alone is left
  logits[1][7] = kInfinity;
  logits[2][129] = std::numeric_limits<float>::quiet_NaN();
  logits[3].fill_(std::numeric_limits<float>::quiet_NaN());
  const at::Tensor losses = token_losses(logits, at::zeros({5}, at::kLong));
  EXPECT_EQ(losses[0].item<double>(), 0);
  EXPECT_EQ(losses[1].item<double>(), kInfinity);
  EXPECT_TRUE(losses.slice(0, 2).isnan().all().item<bool>());
}

}  // namespace
}  // namespace locus::models
