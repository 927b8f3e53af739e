// Sums over blocks of a vocabulary, against whole rows of logits.
#include "models/experiments/output_sums.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <tuple>

#include "models/engine/loaded_model.h"
#include "models/experiments/outputs.h"
#include "tests/support/bundled.h"
#include "tests/support/golden.h"

namespace locus::test {
namespace {

constexpr double kSumTolerance = 5e-6;

// A Llama with random weights whose logits are scaled and capped; its head has a bias.
std::unique_ptr<transformer::Transformer> capped_model(std::int64_t vocabulary) {
  transformer::Spec spec;
  spec.vocabulary = vocabulary;
  spec.width = 16;
  spec.encodings = {{"rope", {}}};
  spec.trained_length = 64;
  spec.tied_head = false;
  spec.head_bias = true;
  spec.logit_scale = 9;
  spec.logit_cap = 5;
  transformer::LayerSpec layer;
  layer.attention.heads = layer.attention.kv_heads = 2;
  layer.attention.head_width = 8;
  layer.feed_forward = {32, transformer::Activation::kSilu, true, false};
  spec.repeat(layer, 1);
  auto model = transformer::Transformer::create(spec, true, 3);
  EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().describe());
  return model.ok() ? *std::move(model) : nullptr;
}

at::Tensor whole_logits(const transformer::Transformer& model, const at::Tensor& stream) {
  return model.head()(stream.unsqueeze(0))[0].to(at::kDouble);
}

void expect_whole_sums(const models::OutputSums& sums, const at::Tensor& logits) {
  EXPECT_LE(deviation(sums.log_sum_exp, logits.logsumexp(1)), kSumTolerance);
  EXPECT_LE(deviation(sums.largest, std::get<0>(logits.max(1))), kSumTolerance);
  for (std::int64_t n = 0; n < logits.size(0); ++n) {
    const double best = logits[n][sums.likeliest[n].item<std::int64_t>()].item<double>();
    EXPECT_NEAR(best, logits[n].max().item<double>(), kSumTolerance) << n;
  }
}

TEST(OutputSums, AreThoseOfWholeRows) {
  const at::NoGradGuard no_grad;
  constexpr std::int64_t kVocabulary = 1000;
  const auto model = capped_model(kVocabulary);
  ASSERT_NE(model, nullptr);
  at::manual_seed(5);
  const at::Tensor stream = at::randn({37, 16});
  const at::Tensor logits = whole_logits(*model, stream);
  const at::Tensor ids = at::randint(kVocabulary, {37}, at::kLong);
  for (const std::int64_t at_once : {0, 1, 7, 64, 999, 1000}) {
    SCOPED_TRACE(at_once);
    const auto sums = models::output_sums(*model, stream, {.ids = ids, .at_once = at_once});
    ASSERT_TRUE(sums.ok()) << sums.error().describe();
    expect_whole_sums(*sums, logits);
    EXPECT_LE(deviation(sums->own, logits.gather(1, ids.unsqueeze(1)).squeeze(1)), kSumTolerance);
    EXPECT_FALSE(sums->rank.defined());
    for (const std::int64_t token : {0, 63, 64, 500, 999}) {
      const auto ranked = models::output_sums(*model, stream, {.token = token, .at_once = at_once});
      ASSERT_TRUE(ranked.ok());
      expect_whole_sums(*ranked, logits);
      EXPECT_LE(deviation(ranked->own, logits.select(1, token)), kSumTolerance);
      const at::Tensor own = ranked->own.to(at::kDouble).unsqueeze(1);
      const at::Tensor least = (logits > own + 1e-5).sum(1) + 1;
      const at::Tensor most = (logits > own - 1e-5).sum(1) + 1;
      EXPECT_TRUE((ranked->rank >= least).logical_and(ranked->rank <= most).all().item<bool>()) << token;
    }
  }
}

// More rows than share a pass, and equal logits, of which the first is the likeliest.
TEST(OutputSums, OfManyRowsAndOfEqualLogits) {
  const at::NoGradGuard no_grad;
  const auto model = capped_model(50);
  ASSERT_NE(model, nullptr);
  at::manual_seed(6);
  const at::Tensor stream = at::randn({models::kMaxOutputRows + 3, 16});
  const auto sums = models::output_sums(*model, stream, {.at_once = 8});
  ASSERT_TRUE(sums.ok());
  expect_whole_sums(*sums, whole_logits(*model, stream));
  EXPECT_FALSE(sums->own.defined());
  const at::Tensor weight = model->head().output().weight;
  weight.zero_();
  model->head().output().bias.zero_();
  for (const std::int64_t token : {-1, 49}) {
    const auto equal = models::output_sums(*model, stream.slice(0, 0, 4), {.token = token, .at_once = 8});
    ASSERT_TRUE(equal.ok());
    EXPECT_EQ(equal->likeliest.abs().sum().item<std::int64_t>(), 0);
    EXPECT_NEAR(equal->log_sum_exp[0].item<double>(), std::log(50.0), 1e-12);
  }
}

TEST(OutputSums, RefuseWhatIsNoNumberAndStop) {
  const at::NoGradGuard no_grad;
  const auto model = capped_model(50);
  ASSERT_NE(model, nullptr);
  const at::Tensor stream = at::ones({3, 16});
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(models::output_sums(*model, stream, {.stop = stop.get_token()}).error().code, ErrorCode::kCancelled);
  model->head().output().bias[17].fill_(std::nan(""));
  EXPECT_EQ(models::output_sums(*model, stream, {.at_once = 8}).error().code, ErrorCode::kBadInput);
  EXPECT_EQ(models::output_divergence(*model, stream, stream.unsqueeze(0), {.at_once = 8}).error().code,
            ErrorCode::kBadInput);
}

TEST(OutputSums, DivergencesAreThoseOfWholeRows) {
  const at::NoGradGuard no_grad;
  const auto model = capped_model(300);
  ASSERT_NE(model, nullptr);
  at::manual_seed(7);
  const at::Tensor first = at::randn({21, 16});
  const at::Tensor others = at::stack({first, first + 0.01 * at::randn({21, 16}), at::randn({21, 16})});
  const at::Tensor ids = at::randint(300, {21}, at::kLong);
  const at::Tensor before = whole_logits(*model, first).log_softmax(1);
  for (const std::int64_t at_once : {0, 1, 37}) {
    SCOPED_TRACE(at_once);
    const auto found = models::output_divergence(*model, first, others, {.ids = ids, .at_once = at_once});
    ASSERT_TRUE(found.ok()) << found.error().describe();
    for (std::int64_t n = 0; n < 3; ++n) {
      const at::Tensor after = whole_logits(*model, others[n]).log_softmax(1);
      EXPECT_LE(deviation(found->kl[n], (before.exp() * (before - after)).sum(1)), kSumTolerance) << n;
      const at::Tensor losses = (found->others.log_sum_exp - found->others.own.to(at::kDouble)).view({3, 21})[n];
      EXPECT_LE(deviation(losses, -after.gather(1, ids.unsqueeze(1)).squeeze(1)), kSumTolerance) << n;
    }
    EXPECT_LE(found->kl[0].abs().max().item<double>(), 1e-12);
  }
  // Runs so many that a pass has room for one row of each.
  const at::Tensor many = first.unsqueeze(0).expand({models::kMaxOutputRows, 21, 16});
  const auto found = models::output_divergence(*model, first, many, {});
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->kl.sizes(), at::IntArrayRef({models::kMaxOutputRows, 21}));
  EXPECT_EQ(found->others.own.defined(), false);
}

}  // namespace
}  // namespace locus::test
