// Losses of logits against those of ATen in float64.
#include "models/experiments/outputs.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "models/api/local.h"
#include "models/experiments/fields.h"
#include "tests/support/bundled.h"

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

// Of a run that keeps what the head reads, against the logits of every token of another run.
TEST(Outputs, LossesWithoutLogits) {
  for (const char* name : {"text-rope", "text-cope"}) {
    const auto model = test::bundled(name);
    ASSERT_NE(model, nullptr);
    const Input input{.text = "Alice was beginning to get very tired"};
    const auto whole = model->run(input, {.all_logits = true});
    const auto kept = model->run(input, {.keep = {}, .before_head = true});
    ASSERT_TRUE(whole.ok() && kept.ok());
    EXPECT_TRUE((*kept)->top(3).empty());
    std::vector<std::int64_t> ids;
    for (const TokenInfo& token : (*kept)->tokens()) {
      ids.push_back(token.id);
    }
    const at::Tensor expected = expected_losses(data_of(**whole).value()->logits, at::tensor(ids));
    const std::vector<std::int64_t> next(ids.begin() + 3, ids.end());
    const auto losses = next_token_losses(*model, **kept, 2, next, "test", {});
    ASSERT_TRUE(losses.ok()) << losses.error().describe();
    ASSERT_EQ(losses->size(), next.size());
    for (std::size_t n = 0; n < next.size(); ++n) {
      EXPECT_NEAR((*losses)[n], expected[static_cast<std::int64_t>(n) + 2].item<double>(), 1e-5) << name << ", " << n;
    }
    const auto none = next_token_losses(*model, **whole, 2, next, "test", {});
    ASSERT_FALSE(none.ok());
    EXPECT_EQ(none.error().code, ErrorCode::kUnsupported);
  }
}

// What a run needs beside the weights no longer grows with the vocabulary times the text.
TEST(Outputs, RunsWithoutLogitsNeedLessMemory) {
  const auto model = test::bundled("text-rope");
  const double rows = model->estimate(100000, {.all_logits = true}).memory_mb;
  const double fewer = model->estimate(100000, {.before_head = true}).memory_mb;
  const double last = model->estimate(100000, {}).memory_mb;
  EXPECT_LT(fewer, rows);
  EXPECT_NEAR(fewer - last, 100000.0 * static_cast<double>(model->info().width) * 4 / 1e6 + 16.8, 0.1);
}

}  // namespace
}  // namespace locus::models
