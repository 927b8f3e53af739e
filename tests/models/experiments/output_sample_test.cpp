// Changes of a soft-max from a sample of its outputs, against sums over all of them.
#include "models/experiments/output_sample.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>

#include "models/experiments/output_sums.h"

namespace locus::test {
namespace {

constexpr std::int64_t kRows = 20;
constexpr std::int64_t kRuns = 12;
constexpr std::int64_t kWidth = 32;

std::unique_ptr<transformer::Transformer> model_of(std::int64_t vocabulary, double scale) {
  transformer::Spec spec;
  spec.vocabulary = vocabulary;
  spec.width = kWidth;
  spec.encodings = {{"none", {}}};
  spec.trained_length = 64;
  spec.logit_scale = scale;
  transformer::LayerSpec layer;
  layer.attention.heads = layer.attention.kv_heads = 1;
  layer.attention.head_width = kWidth;
  layer.feed_forward = {kWidth, transformer::Activation::kSilu, true, false};
  spec.repeat(layer, 1);
  auto made = transformer::Transformer::create(spec, true, 5);
  EXPECT_TRUE(made.ok());
  return *std::move(made);
}

struct Case {
  at::Tensor first, others, ids;
  models::OutputSums sums;

  explicit Case(const transformer::Transformer& model) {
    at::manual_seed(7);
    first = at::randn({kRows, kWidth});
    others = first + 0.3 * at::randn({kRuns, kRows, kWidth});
    ids = at::randint(model.spec().vocabulary, {kRows}, at::kLong);
    const auto found = models::output_sums(model, first, {.ids = ids});
    EXPECT_TRUE(found.ok());
    sums = *found;
  }
  // (N, R) of all outputs.
  at::Tensor losses(const transformer::Transformer& model) const {
    const auto after =
        models::output_sums(model, others.reshape({kRuns * kRows, kWidth}), {.ids = ids.repeat({kRuns})});
    EXPECT_TRUE(after.ok());
    return (after->log_sum_exp - after->own.to(at::kDouble)).view({kRuns, kRows}) -
           (sums.log_sum_exp - sums.own.to(at::kDouble));
  }
  at::Tensor divergences(const transformer::Transformer& model) const {
    const auto found = models::output_divergence(model, first, others, {});
    EXPECT_TRUE(found.ok());
    return found->kl;
  }
};

// The tail has nearly all of the probability where logits are flat, and next to none where they are peaked.
TEST(OutputSample, IsNearTheSumsOfAllOutputs) {
  for (const double scale : {1.0, 40.0, 400.0}) {
    const auto model = model_of(30000, scale);
    const Case one(*model);
    for (const bool loss : {true, false}) {
      SCOPED_TRACE("scale " + std::to_string(scale) + (loss ? ", loss" : ", kl"));
      const auto sample = models::OutputSample::of(*model, one.first, one.sums, loss ? one.ids : at::Tensor(), {});
      ASSERT_TRUE(sample.ok());
      const auto changes = sample->changes(one.others, {});
      ASSERT_TRUE(changes.ok());
      const at::Tensor whole = loss ? one.losses(*model) : one.divergences(*model);
      ASSERT_EQ(changes->rows.sizes(), whole.sizes());
      const at::Tensor off = (changes->rows.mean(1) - whole.mean(1)).abs();
      // Changes of several nats, to outputs that had no probability, are beyond a sample.
      EXPECT_EQ(changes->fits.sum().item<std::int64_t>(), scale < 100 ? kRuns : 0);
      for (std::int64_t n = 0; n < kRuns; ++n) {
        if (changes->fits[n].item<bool>()) {
          EXPECT_LE(off[n].item<double>(), 4 * changes->error[n].item<double>() + 1e-5) << n;
          EXPECT_LE(changes->error[n].item<double>(), 0.005);
        }
      }
    }
  }
}

// Where all outputs are in the sample, nothing is estimated.
TEST(OutputSample, IsExactOfASmallVocabulary) {
  const auto model = model_of(300, 40);
  const Case one(*model);
  for (const bool loss : {true, false}) {
    const auto sample = models::OutputSample::of(*model, one.first, one.sums, loss ? one.ids : at::Tensor(), {});
    ASSERT_TRUE(sample.ok());
    const auto changes = sample->changes(one.others, {});
    ASSERT_TRUE(changes.ok());
    const at::Tensor whole = loss ? one.losses(*model) : one.divergences(*model);
    EXPECT_LE((changes->rows - whole).abs().max().item<double>(), 1e-5);
    EXPECT_LE(changes->error.max().item<double>(), 1e-12);
  }
}

// The run itself changes nothing, and the same inputs give the same sample.
TEST(OutputSample, HasNoChangeOfTheRunItself) {
  const auto model = model_of(30000, 40);
  const Case one(*model);
  const auto sample = models::OutputSample::of(*model, one.first, one.sums, one.ids, {});
  const auto again = models::OutputSample::of(*model, one.first, one.sums, one.ids, {});
  ASSERT_TRUE(sample.ok() && again.ok());
  const auto none = sample->changes(one.first.unsqueeze(0), {});
  ASSERT_TRUE(none.ok());
  EXPECT_LE(none->rows.abs().max().item<double>(), 1e-6);
  EXPECT_LE(none->error.max().item<double>(), 1e-6);
  EXPECT_TRUE(at::equal(sample->changes(one.others, {})->rows, again->changes(one.others, {})->rows));
}

// All rows' own outputs are in the sample, also where these are more than the likely ones.
TEST(OutputSample, HasTheOwnOutputsOfManyRows) {
  constexpr std::int64_t kMany = models::OutputSample::kLikely + 100;
  const auto model = model_of(5000, 40);
  at::manual_seed(9);
  const at::Tensor first = at::randn({kMany, kWidth});
  const at::Tensor other = first + 0.1 * at::randn({kMany, kWidth});
  const at::Tensor ids = at::arange(kMany, at::kLong);
  const auto before = models::output_sums(*model, first, {.ids = ids});
  const auto after = models::output_sums(*model, other, {.ids = ids});
  ASSERT_TRUE(before.ok() && after.ok());
  const auto sample = models::OutputSample::of(*model, first, *before, ids, {});
  ASSERT_TRUE(sample.ok());
  const auto changes = sample->changes(other.unsqueeze(0), {});
  ASSERT_TRUE(changes.ok());
  const at::Tensor losses =
      after->log_sum_exp - after->own.to(at::kDouble) - (before->log_sum_exp - before->own.to(at::kDouble));
  EXPECT_NEAR(changes->rows.mean().item<double>(), losses.mean().item<double>(),
              4 * changes->error[0].item<double>() + 1e-5);
  EXPECT_LE(changes->error[0].item<double>(), 1e-3);
}

TEST(OutputSample, RefusesLogitsThatAreNoNumbers) {
  const auto model = model_of(30000, 40);
  const Case one(*model);
  const auto sample = models::OutputSample::of(*model, one.first, one.sums, one.ids, {});
  ASSERT_TRUE(sample.ok());
  at::Tensor bad = one.others.clone();
  bad[3][4][5] = std::numeric_limits<float>::quiet_NaN();
  const auto changes = sample->changes(bad, {});
  ASSERT_FALSE(changes.ok());
  EXPECT_EQ(changes.error().code, ErrorCode::kBadInput);
}

}  // namespace
}  // namespace locus::test
