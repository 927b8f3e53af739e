// Edited models as the facade gives them: shared weights, reuse, traces on disk, verification, effects.
#include <cmath>

#include "models/api/effect.h"
#include "models/api/verify.h"
#include "tests/models/edits/twins.h"
#include "tests/support/bundled.h"
#include "tests/support/checkpoint_folder.h"

namespace locus::test {
namespace {

constexpr const char* kSentence = "The cat sat on the mat, and the dog sat on the cat; then both of them slept.";

std::shared_ptr<const models::Model> edited_model(const std::shared_ptr<const models::Model>& model,
                                                  const std::vector<std::string>& texts) {
  auto edited = model->edited(edits_of(texts));
  EXPECT_TRUE(edited.ok()) << (edited.ok() ? "" : edited.error().describe());
  return *edited;
}

models::Input sentence() {
  models::Input input;
  input.text = kSentence;
  return input;
}

models::RunOptions everything() {
  models::RunOptions options;
  options.all_logits = options.continuable = true;
  options.keep = {"logits", "hidden"};
  return options;
}

std::shared_ptr<const models::Trace> run(const models::Model& model, const models::RunOptions& options = everything()) {
  auto trace = model.run(sentence(), options);
  EXPECT_TRUE(trace.ok()) << (trace.ok() ? "" : trace.error().describe());
  return *trace;
}

const at::Tensor& logits(const models::Trace& trace) {
  return models::recorded_of(trace)->data().logits;
}

TEST(EditedModels, TheUntouchedModelStaysAsItIsBitForBit) {
  const auto model = bundled("text-rope");
  const auto before = run(*model);
  const auto changed = run(*edited_model(model, {"head 1.0 zero", "bias all.all -d/8", "shift 5:9 by 3"}));
  EXPECT_GT(deviation(logits(*changed), logits(*before)), 1e-3);
  EXPECT_TRUE(at::equal(logits(*run(*model)), logits(*before)));
  EXPECT_TRUE(at::equal(logits(*run(*edited_model(model, {}))), logits(*before)));
  EXPECT_EQ(changed->edits().size(), 3U);
  EXPECT_TRUE(before->edits().empty());
  EXPECT_EQ(changed->tokens()[5].position, before->tokens()[5].position + 3);
}

TEST(EditedModels, LayersBelowTheLowestDifferenceAreTakenOver) {
  for (const char* name : {"text-rope", "text-cope", "text-tape", "text-learned"}) {
    SCOPED_TRACE(name);
    const auto model = bundled(name);
    const std::int64_t last = model->info().layers - 1;
    const auto plain = run(*model);
    const auto first = edited_model(model, {"head " + std::to_string(last) + ".0 first"});
    models::RunOptions reusing = everything();
    reusing.reuse = plain;
    const auto part = run(*first, reusing);
    EXPECT_EQ(part->kept_layers(), last);
    EXPECT_TRUE(at::equal(logits(*part), logits(*run(*first))));
    // From one list of edits to another, and back to none.
    reusing.reuse = part;
    const auto second = run(*edited_model(model, {"head " + std::to_string(last) + ".0 self"}), reusing);
    EXPECT_EQ(second->kept_layers(), last);
    const auto back = run(*model, reusing);
    EXPECT_EQ(back->kept_layers(), last);
    EXPECT_TRUE(at::equal(logits(*back), logits(*plain)));
    // Tokens that move change every layer.
    EXPECT_EQ(run(*edited_model(model, {"shift 3:4 by 1"}), reusing)->kept_layers(), 0);
    // An edited run does not continue another text's, nor is it continued.
    models::Input longer = sentence();
    *longer.text += " And then";
    const auto more = first->run(longer, reusing);
    ASSERT_TRUE(more.ok());
    EXPECT_EQ((*more)->kept_layers() + (*more)->reused(), 0);
  }
}

TEST(EditedModels, TracesOnDiskShowWhatTheRunShowed) {
  const TemporaryFolder folder;
  for (const char* name : {"text-rope", "text-cope", "text-tape", "text-tapa", "shapes-rope-mixed"}) {
    SCOPED_TRACE(name);
    const auto model = bundled(name);
    std::vector<std::string> texts{"edge 0.0 4:5 0:3", "bias 1.all i > j + 2 ? -1 : 0", "scale 0.1 by 3",
                                   "head 1.1 mean"};
    models::Input input = sentence();
    if (model->info().image) {
      input = {};
      input.image = source_dir() + "/assets/samples/star.png";
    } else {
      texts.push_back("shift 6:9 by 4");
    }
    if (std::string(name) != "text-cope" && std::string(name) != "text-tapa") {
      texts.insert(texts.end(), {"pairs 0.0 1:3 still", "angles 1.0 50^(-m/M)"});
    }
    const auto trace = edited_model(model, texts)->run(input, everything());
    ASSERT_TRUE(trace.ok()) << trace.error().describe();
    const auto file = folder.path() / (std::string(name) + ".safetensors");
    std::set<std::string> keep{"q", "k", "q_content", "k_content"};
    if (std::string(name) == "text-tape") {
      keep.insert("position_state");
    }
    ASSERT_TRUE((*trace)->write(file, keep).ok());
    const auto opened = test::open_trace(file);
    ASSERT_TRUE(opened.ok()) << opened.error().describe();
    EXPECT_EQ((*opened)->edits(), edits_of(texts));
    for (std::int64_t layer = 0; layer < 2; ++layer) {
      for (const models::Quantity quantity : {models::Quantity::kWeight, models::Quantity::kLogit}) {
        const auto own = (*trace)->map({layer, 0, quantity, {}, {}});
        const auto again = (*opened)->map({layer, 0, quantity, {}, {}});
        ASSERT_TRUE(own.ok() && again.ok());
        EXPECT_CLOSE(at::tensor(again->values), at::tensor(own->values), 1e-5);
      }
    }
    // A cut edge is no cell: weight 0, no logit.
    const auto weight = (*opened)->map({0, 0, models::Quantity::kWeight, {4, 5}, {0, 3}});
    const auto logit = (*opened)->map({0, 0, models::Quantity::kLogit, {4, 5}, {0, 3}});
    ASSERT_TRUE(weight.ok() && logit.ok());
    for (std::size_t n = 0; n < 3; ++n) {
      EXPECT_EQ(weight->values[n], 0);
      EXPECT_TRUE(std::isnan(logit->values[n]));
    }
    // Nor does it count in a pixel's mean.
    const auto mean = (*opened)->overview({0, 0, models::Quantity::kLogit, {4, 5}, {}}, 1, 1, Reduction::kMean);
    const auto row = (*opened)->map({0, 0, models::Quantity::kLogit, {4, 5}, {}});
    ASSERT_TRUE(mean.ok() && row.ok());
    double sum = 0;
    double count = 0;
    for (const float value : row->values) {
      sum += std::isnan(value) ? 0 : value;
      count += std::isnan(value) ? 0 : 1;
    }
    EXPECT_NEAR(mean->values[0], sum / count, 1e-4);
  }
}

TEST(EditedModels, WhatIsShownExplainsWhatTheEditedModelSays) {
  for (const char* name : {"text-rope", "text-tape", "text-cope"}) {
    SCOPED_TRACE(name);
    const auto edited = edited_model(
        bundled(name), {"head 0.0 zero", "head 1.1 mean", "edge 0.1 3:4 0:4", "bias 1.all -0.1*d", "shift 9:12 by 5"});
    const auto report = models::verify(*edited, sentence(), {});
    ASSERT_TRUE(report.ok()) << report.error().describe();
    EXPECT_TRUE(report->passed);
  }
}

TEST(EditedModels, ContinuationsAreEditedToo) {
  const auto edited = edited_model(bundled("text-rope"), {"head 0.0 uniform", "shift 9:12 by 5"});
  models::GenerateOptions options;
  options.count = 4;
  const auto generated = edited->generate(sentence(), options, everything());
  ASSERT_TRUE(generated.ok()) << generated.error().describe();
  models::Input all;
  all.ids.emplace();
  for (const models::TokenInfo& token : generated->trace->tokens()) {
    all.ids->push_back(token.id);
  }
  const auto whole = edited->run(all, everything());
  ASSERT_TRUE(whole.ok());
  EXPECT_CLOSE(logits(*generated->trace), logits(**whole), 1e-5);
}

TEST(EditedModels, AnEffectIsTheDifferenceOfTwoRuns) {
  const auto model = bundled("text-rope");
  const auto edited = edited_model(model, {"head all.1 zero", "head 0.0 first"});
  const auto effect = models::effect_of_edits(*edited, sentence());
  ASSERT_TRUE(effect.ok()) << effect.error().describe();
  const at::Tensor before = logits(*run(*model)).to(at::kDouble).log_softmax(-1);
  const at::Tensor after = logits(*run(*edited)).to(at::kDouble).log_softmax(-1);
  const std::int64_t length = before.size(0);
  ASSERT_EQ(static_cast<std::int64_t>(effect->kl.size()), length);
  ASSERT_EQ(static_cast<std::int64_t>(effect->delta.size()), length - 1);
  double loss = 0;
  double changed = 0;
  for (std::int64_t n = 0; n < length; ++n) {
    const double kl = (before[n].exp() * (before[n] - after[n])).sum().item<double>();
    EXPECT_NEAR(effect->kl[static_cast<std::size_t>(n)], kl, 1e-5);
    if (n + 1 < length) {
      const std::int64_t next = effect->unedited->tokens()[static_cast<std::size_t>(n + 1)].id;
      loss -= before[n][next].item<double>();
      changed -= after[n][next].item<double>();
      EXPECT_NEAR(effect->delta[static_cast<std::size_t>(n)],
                  before[n][next].item<double>() - after[n][next].item<double>(), 1e-5);
    }
  }
  EXPECT_NEAR(effect->loss, loss / static_cast<double>(length - 1), 1e-6);
  EXPECT_NEAR(effect->loss_edited, changed / static_cast<double>(length - 1), 1e-5);
  EXPECT_GT(effect->kl.back(), 0);
  // Its runs hold what is read off the last token, and no logits of others.
  EXPECT_EQ(logits(*effect->edited).sizes(), (std::vector<std::int64_t>{1, before.size(1)}));
  EXPECT_EQ(effect->edited->top(1)[0].id, after[length - 1].argmax().item<std::int64_t>());
  // Moving every token alike is no effect under RoPE.
  const auto none = models::effect_of_edits(*edited_model(model, {"shift 0:10 by 0"}), sentence());
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->loss, none->loss_edited);
  EXPECT_EQ(*std::max_element(none->kl.begin(), none->kl.end()), 0);
  EXPECT_EQ(models::effect_of_edits(*model, sentence()).error().code, ErrorCode::kUsage);
}

std::shared_ptr<const models::Model> with_overrides(const char* name, const models::Overrides& overrides) {
  models::OpenOptions options;
  options.overrides = overrides;
  const auto opened = models::open(source_dir() + "/assets/checkpoints/" + name, options);
  EXPECT_TRUE(opened.ok()) << (opened.ok() ? "" : opened.error().describe());
  return *opened;
}

TEST(EditedModels, AnEffectOfAChangeIsTheDifferenceOfTwoModels) {
  const auto model = bundled("text-rope");
  models::Overrides overrides;
  overrides.rope_base = 200;
  const auto changed = with_overrides("text-rope", overrides);
  const auto effect = models::effect_of_change(*model, *changed, sentence());
  ASSERT_TRUE(effect.ok()) << effect.error().describe();
  const at::Tensor before = logits(*run(*model)).to(at::kDouble).log_softmax(-1);
  const at::Tensor after = logits(*run(*changed)).to(at::kDouble).log_softmax(-1);
  ASSERT_EQ(static_cast<std::int64_t>(effect->kl.size()), before.size(0));
  for (std::int64_t n = 0; n < before.size(0); ++n) {
    const auto at = static_cast<std::size_t>(n);
    EXPECT_NEAR(effect->kl[at], (before[n].exp() * (before[n] - after[n])).sum().item<double>(), 1e-5);
    if (n + 1 < before.size(0)) {
      const std::int64_t next = effect->unedited->tokens()[at + 1].id;
      EXPECT_NEAR(effect->delta[at], before[n][next].item<double>() - after[n][next].item<double>(), 1e-5);
    }
  }
  EXPECT_GT(effect->loss_edited, effect->loss);
  // A run that is known is not made again; the other way round, the change is back.
  const auto again = models::effect_of_change(*model, *changed, sentence(), effect->unedited);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->unedited, effect->unedited);
  EXPECT_EQ(again->kl, effect->kl);
  const auto back = models::effect_of_change(*changed, *model, sentence());
  ASSERT_TRUE(back.ok());
  EXPECT_NEAR(back->loss, effect->loss_edited, 1e-9);
  EXPECT_NEAR(back->loss_edited, effect->loss, 1e-9);
}

TEST(EditedModels, AnEffectOfAChangeNeedsTheSameTokensAndPredictions) {
  const auto model = bundled("text-rope");
  const auto whole = models::effect_of_change(*model, *model, sentence(), run(*model));
  ASSERT_FALSE(whole.ok());  // that run kept logits instead
  EXPECT_EQ(whole.error().code, ErrorCode::kBadInput) << whole.error().describe();
  models::Input shorter;
  shorter.text = "The cat";
  const auto known = models::effect_of_change(*model, *model, shorter);
  ASSERT_TRUE(known.ok()) << known.error().describe();
  EXPECT_EQ(*std::max_element(known->kl.begin(), known->kl.end()), 0);
  const auto lengths = models::effect_of_change(*model, *model, sentence(), known->unedited);
  ASSERT_FALSE(lengths.ok());
  EXPECT_EQ(lengths.error().code, ErrorCode::kBadInput) << lengths.error().describe();
}

// What views and the window show of a run is the same, with the layers below the edit taken over.
TEST(EditedModels, AnEffectOnATraceNamesTheFirstLayerThatDiffers) {
  struct Case {
    const char* checkpoint;
    const char* edit;
    std::int64_t first_layer;
  };
  for (const Case& each : {Case{"text-rope", "head 2.1 zero", 2}, Case{"text-rope", "head 3.0 zero", 3},
                           Case{"text-rope", "head all.1 mean", 0}, Case{"text-rope", "shift 2:5 by 7", 0},
                           Case{"text-rope", "scale 1.0 by 1", 4}, Case{"text-learned", "shift 2:5 by 7", -1},
                           Case{"text-tape", "head 2.1 zero", 2}, Case{"text-delta-nope", "head 3.0 zero", 3}}) {
    SCOPED_TRACE(std::string(each.checkpoint) + ": " + each.edit);
    const auto edited = edited_model(bundled(each.checkpoint), {each.edit});
    const auto trace = run(*edited);
    const auto made = models::effect_on(*edited, *trace);
    ASSERT_TRUE(made.ok()) << made.error().describe();
    const auto whole = models::effect_of_edits(*edited, sentence());
    ASSERT_TRUE(whole.ok()) << whole.error().describe();
    EXPECT_EQ(made->first_layer, each.first_layer);
    ASSERT_EQ(made->kl.size(), whole->kl.size());
    EXPECT_NEAR(made->loss, whole->loss, 1e-6);
    EXPECT_NEAR(made->loss_edited, whole->loss_edited, 1e-5);
    const at::Tensor before = logits(*run(*edited_model(bundled(each.checkpoint), {})));
    const at::Tensor after = logits(*trace);
    for (std::int64_t n = 0; n < before.size(0); ++n) {
      const auto at = static_cast<std::size_t>(n);
      EXPECT_NEAR(made->kl[at], whole->kl[at], 1e-5);
      EXPECT_EQ(made->top[at].id, before[n].argmax().item<std::int64_t>());
      EXPECT_EQ(made->top_edited[at].id, after[n].argmax().item<std::int64_t>());
    }
  }
}

// The unedited pass of an input is run once, whatever edits follow; another input has its own.
TEST(EditedModels, TheUneditedPassOfAnEffectIsRunOnce) {
  for (const char* name : {"text-rope", "text-tape", "text-learned"}) {
    SCOPED_TRACE(name);
    const auto model = bundled(name);
    const auto passes_of = [&](const models::Model& edited, const models::Trace& trace, models::EffectOnTrace& effect) {
      int passes = 0;
      std::string last;
      auto made = models::effect_on(edited, trace, {}, [&](const ProgressReport& news) {
        passes += news.what != last && news.what.starts_with("layer 1 of ") ? 1 : 0;
        last = news.what;
      });
      EXPECT_TRUE(made.ok());
      effect = made.ok() ? *std::move(made) : models::EffectOnTrace{};
      return passes;
    };
    const auto first = edited_model(model, {"head 0.1 zero"});
    const auto second = edited_model(model, {"head 0.2 mean", "shift 2:5 by 7"});
    const auto first_trace = run(*first);
    const auto second_trace = run(*second);
    models::Input other_words;
    other_words.text = "Another text, of other words.";
    const auto other_trace = first->run(other_words, everything());
    ASSERT_TRUE(other_trace.ok());
    models::EffectOnTrace once, again, of_second, of_other, back;
    EXPECT_EQ(passes_of(*first, *first_trace, once), 2);
    EXPECT_EQ(passes_of(*first, *first_trace, again), 1);
    EXPECT_EQ(passes_of(*second, *second_trace, of_second), 1);
    EXPECT_EQ(passes_of(*first, **other_trace, of_other), 2);
    EXPECT_EQ(passes_of(*first, *first_trace, back), 2);
    for (const models::EffectOnTrace* same : {&again, &back}) {
      EXPECT_EQ(same->kl, once.kl);
      EXPECT_EQ(same->delta, once.delta);
      EXPECT_EQ(same->loss, once.loss);
      EXPECT_EQ(same->first_layer, once.first_layer);
    }
    // As from a model that has measured nothing yet.
    const auto fresh = edited_model(bundled(name), {"head 0.2 mean", "shift 2:5 by 7"});
    models::EffectOnTrace expected;
    EXPECT_EQ(passes_of(*fresh, *run(*fresh), expected), 2);
    EXPECT_EQ(of_second.kl, expected.kl);
    EXPECT_EQ(of_second.loss_edited, expected.loss_edited);
    EXPECT_NE(of_other.kl.size(), once.kl.size());
  }
}

}  // namespace
}  // namespace locus::test
