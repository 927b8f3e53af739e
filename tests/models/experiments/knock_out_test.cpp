// Knock-outs that take over layers and share passes over the vocabulary, against whole runs of the edited model.
#include "models/api/knock_out.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "models/engine/loaded_model.h"
#include "models/engine/model_info.h"
#include "models/engine/trace/recorded_trace.h"
#include "tests/support/bundled.h"

namespace locus::test {
namespace {

constexpr double kEffectTolerance = 2e-5;
constexpr const char* kCatSentence = "The cat sat on the mat, and the dog sat on the cat.";

// (T, V) of a whole run, in float64.
at::Tensor log_shares(const models::Model& model) {
  models::Input input;
  input.text = kCatSentence;
  const auto trace = model.run(input, {.keep = {"logits"}, .all_logits = true});
  EXPECT_TRUE(trace.ok());
  return models::recorded_of(**trace)->data().logits.cpu().to(at::kDouble).log_softmax(-1);
}

at::Tensor changes(const at::Tensor& before, const at::Tensor& after, const models::Trace& trace) {
  std::vector<std::int64_t> next;
  for (std::size_t n = 1; n < trace.tokens().size(); ++n) {
    next.push_back(trace.tokens()[n].id);
  }
  const at::Tensor ids = at::tensor(next, at::kLong).unsqueeze(1);
  return (before - after).slice(0, 0, ids.size(0)).gather(1, ids).squeeze(1);
}

TEST(KnockOut, IsTheEffectOfAWholeRun) {
  // TAPE renews its state in every layer: its runs come one by one, those of the others side by side.
  for (const char* name : {"text-rope", "text-tape", "encoding-cope", "encoding-seqpe", "encoding-t5"}) {
    const auto model = bundled(name);
    const auto column = column_of(model, kCatSentence);
    const at::Tensor before = log_shares(*model);
    constexpr std::int64_t kAt = 9;
    models::KnockOutOptions options;
    const auto loss = models::knock_out(*model, *column.trace, options);
    options.measure = models::KnockOutMeasure::kKl;
    const auto kl = models::knock_out(*model, *column.trace, options);
    options.measure = models::KnockOutMeasure::kLogit;
    options.position = kAt;
    const auto logit = models::knock_out(*model, *column.trace, options);
    options.position = -1;
    options.token = 11;
    const auto last = models::knock_out(*model, *column.trace, options);
    ASSERT_TRUE(loss.ok() && kl.ok() && logit.ok() && last.ok());
    for (std::int64_t layer = 0; layer < model->info().layers; ++layer) {
      for (std::int64_t head = 0; head < model->info().heads; ++head) {
        const std::string place = std::to_string(layer) + "." + std::to_string(head);
        SCOPED_TRACE(std::string(name) + ", head " + place);
        const at::Tensor after = log_shares(*with_edit(model, "head " + place + " zero"));
        const at::Tensor each = changes(before, after, *column.trace);
        EXPECT_NEAR(loss->effect.at(layer, head), each.mean().item<double>(), kEffectTolerance);
        const double error = each.std().item<double>() / std::sqrt(static_cast<double>(each.size(0)));
        EXPECT_NEAR(loss->error.at(layer, head), error, kEffectTolerance);
        EXPECT_NEAR(kl->effect.at(layer, head), (before.exp() * (before - after)).sum(1).mean().item<double>(),
                    kEffectTolerance);
        const std::int64_t best = before[kAt].argmax().item<std::int64_t>();
        EXPECT_NEAR(logit->effect.at(layer, head), (after - before)[kAt][best].item<double>(), 1e-4);
        EXPECT_NEAR(last->effect.at(layer, head), (after - before)[-1][11].item<double>(), 1e-4);
      }
    }
  }
}

// Compares the mean over five positions of the text, and its error, with those of whole runs.
TEST(KnockOut, ReadsSomePositions) {
  const auto model = bundled("text-rope");
  const auto column = column_of(model, kCatSentence);
  const at::Tensor before = log_shares(*model);
  const at::Tensor after = log_shares(*with_edit(model, "head 1.2 zero"));
  const at::Tensor losses = changes(before, after, *column.trace);
  const at::Tensor divergences = (before.exp() * (before - after)).sum(1);
  const auto some = [](const at::Tensor& all) {
    std::vector<std::int64_t> at;
    for (std::int64_t n = 0; n < 5; ++n) {
      at.push_back((2 * n + 1) * all.size(0) / 10);
    }
    return all.index_select(0, at::tensor(at, at::kLong));
  };
  models::KnockOutOptions options;
  options.positions = 5;
  const auto loss = models::knock_out(*model, *column.trace, options);
  ASSERT_TRUE(loss.ok()) << loss.error().describe();
  EXPECT_NEAR(loss->effect.at(1, 2), some(losses).mean().item<double>(), kEffectTolerance);
  EXPECT_NEAR(loss->error.at(1, 2), some(losses).std().item<double>() / std::sqrt(5.0), kEffectTolerance);
  EXPECT_EQ(models::knock_out_shuffled(*model, *column.trace, options, 2, 1)->size(), 2U);
  options.measure = models::KnockOutMeasure::kKl;
  EXPECT_NEAR(models::knock_out(*model, *column.trace, options)->effect.at(1, 2),
              some(divergences).mean().item<double>(), kEffectTolerance);
  // As many as there are, or more, are all of them.
  options.positions = losses.size(0) + 1;
  EXPECT_NEAR(models::knock_out(*model, *column.trace, options)->effect.at(1, 2), divergences.mean().item<double>(),
              kEffectTolerance);
  options.measure = models::KnockOutMeasure::kLogit;
  EXPECT_EQ(models::knock_out(*model, *column.trace, options).error().code, ErrorCode::kBadInput);
  options.measure = models::KnockOutMeasure::kKl;
  options.positions = -1;
  EXPECT_EQ(models::knock_out(*model, *column.trace, options).error().code, ErrorCode::kBadInput);
}

// Mean ablation beside edits of the model's own, of heads of the same layer and of others.
TEST(KnockOut, ComesOnTopOfEdits) {
  const auto plain = bundled("text-rope");
  for (const char* own : {"head 1.3 zero", "head 2.0 mean", "pairs 1.1 0:4 still"}) {
    SCOPED_TRACE(own);
    const auto edited = with_edit(plain, own);
    const auto column = column_of(edited, kCatSentence);
    const at::Tensor before = log_shares(*edited);
    models::KnockOutOptions options;
    options.to = models::HeadTo::kMean;
    const auto loss = models::knock_out(*edited, *column.trace, options);
    ASSERT_TRUE(loss.ok()) << loss.error().describe();
    for (std::int64_t head = 0; head < edited->info().heads; ++head) {
      const auto both = plain->edited(
          {*models::parse_edit(own, 0), *models::parse_edit("head 1." + std::to_string(head) + " mean", 1)});
      ASSERT_TRUE(both.ok());
      const at::Tensor after = log_shares(**both);
      EXPECT_NEAR(loss->effect.at(1, head), changes(before, after, *column.trace).mean().item<double>(),
                  kEffectTolerance)
          << head;
    }
  }
}

// Heads are told as they come, as they stay.
TEST(KnockOut, TellsHeadsAsTheyCome) {
  const auto model = bundled("text-rope");
  const auto column = column_of(model, kCatSentence);
  std::vector<models::KnockOutEffects> parts;
  models::KnockOutOptions options;
  options.so_far = [&](const models::KnockOutEffects& part, const models::KnockOutEstimates&) {
    parts.push_back(part);
  };
  const auto whole = models::knock_out(*model, *column.trace, options);
  ASSERT_TRUE(whole.ok());
  ASSERT_GE(parts.size(), static_cast<std::size_t>(model->info().layers));
  std::int64_t before = 0;
  for (const models::KnockOutEffects& part : parts) {
    std::int64_t done = 0;
    for (std::size_t cell = 0; cell < part.effect.values.size(); ++cell) {
      if (!std::isnan(part.effect.values[cell])) {
        ++done;
        EXPECT_EQ(part.effect.values[cell], whole->effect.values[cell]);
        EXPECT_EQ(part.error.values[cell], whole->error.values[cell]);
      }
    }
    EXPECT_GT(done, before);
    before = done;
  }
  EXPECT_EQ(before, model->info().layers * model->info().heads);
  // The shuffled copies tell nothing.
  parts.clear();
  ASSERT_TRUE(models::knock_out_shuffled(*model, *column.trace, options, 2, 1).ok());
  EXPECT_TRUE(parts.empty());
}

// A large vocabulary's heads come twice: first as estimates from a sample of the outputs. Copies have these alone.
TEST(KnockOut, EstimatesHeadsOfALargeVocabularyFirst) {
  transformer::Spec spec;
  spec.vocabulary = 70000;
  spec.width = 16;
  spec.encodings = {{"rope", {}}};
  spec.trained_length = 256;
  transformer::LayerSpec layer;
  layer.attention.heads = layer.attention.kv_heads = 2;
  layer.attention.head_width = 8;
  layer.feed_forward = {32, transformer::Activation::kSilu, true, false};
  spec.repeat(layer, 3);
  auto made = transformer::Transformer::create(spec, true, 3);
  ASSERT_TRUE(made.ok());
  models::CheckpointParts parts;
  parts.transformer = *std::move(made);
  parts.info = models::shape_info(*parts.transformer);
  const models::LoadedModel loaded(std::move(parts));
  const models::Model& model = loaded;
  at::manual_seed(3);
  const at::Tensor ids = at::randint(70000, {150}, at::kLong);
  const models::Input input{
      .ids = std::vector<std::int64_t>(ids.data_ptr<std::int64_t>(), ids.data_ptr<std::int64_t>() + ids.numel())};
  const auto trace = model.run(input);
  const auto alike = model.run({.ids = std::vector<std::int64_t>(150, 77)});
  ASSERT_TRUE(trace.ok() && alike.ok());
  for (const auto measure : {models::KnockOutMeasure::kLoss, models::KnockOutMeasure::kKl}) {
    models::KnockOutOptions options;
    options.measure = measure;
    const auto whole = models::knock_out(model, **trace, options);
    ASSERT_TRUE(whole.ok());
    std::vector<std::pair<models::KnockOutEffects, models::KnockOutEstimates>> told;
    options.so_far = [&](const models::KnockOutEffects& part, const models::KnockOutEstimates& estimates) {
      told.emplace_back(part, estimates);
    };
    const auto twice = models::knock_out(model, **trace, options);
    ASSERT_TRUE(twice.ok());
    const auto estimate =
        std::find_if(told.begin(), told.end(), [](const auto& each) { return each.second.heads == 6; });
    ASSERT_NE(estimate, told.end());
    EXPECT_GT(estimate->second.error, 0);
    EXPECT_LT(estimate->second.error, 0.01);
    EXPECT_EQ(told.back().second.heads, 0);
    EXPECT_EQ(told.back().second.error, 0);
    for (std::size_t cell = 0; cell < 6; ++cell) {
      EXPECT_NEAR(estimate->first.effect.values[cell], whole->effect.values[cell], 4 * estimate->second.error);
      EXPECT_NE(estimate->first.effect.values[cell], whole->effect.values[cell]);
      EXPECT_NEAR(twice->effect.values[cell], whole->effect.values[cell], 1e-6);
      if (measure == models::KnockOutMeasure::kLoss) {
        EXPECT_NEAR(twice->error.values[cell], whole->error.values[cell], 1e-6);
      }
    }
    // Copies of a text of one token are that text.
    told.clear();
    const auto exact = models::knock_out(model, **alike, options);
    const auto copies = models::knock_out_shuffled(model, **alike, options, 2, 1);
    ASSERT_TRUE(copies.ok() && exact.ok());
    const auto first = std::find_if(told.begin(), told.end(), [](const auto& each) { return each.second.heads == 6; });
    ASSERT_NE(first, told.end());
    EXPECT_EQ((*copies)[0].values, first->first.effect.values);
    EXPECT_EQ((*copies)[1].values, first->first.effect.values);
  }
}

}  // namespace
}  // namespace locus::test
