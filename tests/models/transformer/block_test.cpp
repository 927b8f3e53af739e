// Every kind of layer: the streaming pass equals the whole maps, shown weights explain the logits, gradients reach
// every parameter, and a trace on disk says the same.
#include "models/transformer/block.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "models/engine/loaded_model.h"
#include "models/engine/model_info.h"
#include "models/engine/trace/recorded_trace.h"
#include "models/transformer/direct_path.h"
#include "models/transformer/transformer.h"
#include "tests/models/transformer/mixed_layers.h"
#include "tests/support/golden.h"

namespace locus {
namespace {

using Kind = test::LayerKind;
using transformer::LayerSpec;
using transformer::NormPlace;
using transformer::QueryNormForm;
using transformer::Router;
using transformer::Spec;

constexpr double kTolerance = 1e-4;  // weights are large, so that nothing is negligible

// The same change in every layer.
template <void (*kChange)(LayerSpec& layer)>
void each(Spec& spec) {
  spec.each([](std::int64_t, LayerSpec& layer) { kChange(layer); });
}

void query_norm(Spec& spec, QueryNormForm form, transformer::Norm norm, bool bias) {
  spec.each([&](std::int64_t, LayerSpec& layer) {
    layer.attention.qkv = transformer::QkvLayout::kSeparate;
    layer.attention.norm = {form, norm, true, bias, 1e-5};
  });
}

void experts(Spec& spec, Router router, std::int64_t groups, bool normalised) {
  spec.each([&](std::int64_t, LayerSpec& layer) {
    layer.feed_forward.experts = {4, 2, router, true, router == Router::kSigmoid, normalised, groups, 1, 1.5, 12, true};
  });
}

void gate(Spec& spec, transformer::GateForm form, bool softplus, bool bias) {
  spec.each([&](std::int64_t, LayerSpec& layer) { layer.attention.gate = {form, softplus, bias}; });
}

// Kinds of layers with mixers, and then these.
std::vector<Kind> with_mixers(std::vector<Kind> others) {
  std::vector<Kind> all = test::kMixedKinds;
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

const std::vector<Kind> kKinds = with_mixers({
    {"plain", [](Spec&) {}},
    {"every second layer without positions", [](Spec& spec) { spec.layers[1].encoding = -1; }},
    {"no encoding at all",
     [](Spec& spec) {
       spec.encodings.clear();
       spec.each([](std::int64_t, LayerSpec& layer) { layer.encoding = -1; });
     }},
    {"encodings by layer",
     [](Spec& spec) {
       spec.encodings = {{"rope", {}}, {"cope", {{"per_layer", true}}}, {"rope", {{"base", 50.0}}}};
       spec.layers[1].encoding = 1;
       spec.layers[2].encoding = 2;
     }},
    {"a state that only some layers renew",
     [](Spec& spec) {
       spec.encodings = {{"tape", {}}};
       spec.layers[1].encoding = -1;
     }},
    {"windows by layer",
     [](Spec& spec) {
       spec.layers[0].attention.window = 4;
       spec.layers[2].attention.window = 1;
     }},
    {"window to both sides",
     [](Spec& spec) {
       spec.causal = false;
       spec.layers[0].attention.window = 3;
     }},
    {"chunks", [](Spec& spec) { spec.layers[1].attention.chunk = 5; }},
    {"soft cap", each<[](LayerSpec& layer) { layer.attention.soft_cap = 0.5; }>},
    {"soft cap of counted positions",
     [](Spec& spec) {
       spec.encodings = {{"cope", {}}};
       spec.layers[0].attention.soft_cap = 0.5;
     }},
    {"soft cap of a bias",
     [](Spec& spec) {
       spec.encodings = {{"fire", {}}};
       spec.layers[0].attention.soft_cap = 0.5;
     }},
    {"sinks", each<[](LayerSpec& layer) { layer.attention.sinks = true; }>},
    {"sinks beside a state",
     [](Spec& spec) {
       spec.encodings = {{"tape", {}}};
       spec.layers[0].attention.sinks = true;
     }},
    {"scale and tuned queries", each<[](LayerSpec& layer) {
       layer.attention.scale = 0.7;
       layer.attention.tuning = {0.3, 4};
     }>},
    {"queries times a power of the position", each<[](LayerSpec& layer) {
       layer.attention.tuning = {0.4, 3, 0, false, true};
     }>},
    {"scaled and clipped values", each<[](LayerSpec& layer) {
       layer.attention.value_scale = 0.7;
       layer.attention.clip = 0.5;
     }>},
    {"gates of heads", [](Spec& spec) { gate(spec, transformer::GateForm::kHead, true, false); }},
    {"gates of channels, with a bias", [](Spec& spec) { gate(spec, transformer::GateForm::kChannel, false, true); }},
    {"gates of values of another width",
     [](Spec& spec) {
       gate(spec, transformer::GateForm::kChannel, false, false);
       spec.each([](std::int64_t, LayerSpec& layer) { layer.attention.value_width = 6; });
     }},
    {"heads by layer",
     [](Spec& spec) {
       spec.layers[1].attention.kv_heads = 4;
       spec.layers[1].attention.value_width = 5;
       spec.layers[1].encoding = 1;
       spec.encodings = {{"rope", {}}, {"rope", {{"base", 50.0}}}};
     }},
    {"sums with factors of their own",
     [](Spec& spec) {
       spec.each([](std::int64_t n, LayerSpec& layer) {
         layer.attention_norm = layer.feed_forward_norm = NormPlace::kBoth;
         layer.attention_sum = {0.8, 0.6};
         layer.feed_forward_sum = {0.9 - 0.1 * static_cast<double>(n), 0.3};
       });
       spec.after_norm_eps = 0.1;
     }},
    {"a normed embedding without weight",
     [](Spec& spec) {
       spec.embedding_norm = true;
       spec.embedding_norm_weight = false;
     }},
    {"q and k normed by head",
     [](Spec& spec) { query_norm(spec, QueryNormForm::kHead, transformer::Norm::kLayer, true); }},
    {"q and k normed, each head its own",
     [](Spec& spec) { query_norm(spec, QueryNormForm::kOwn, transformer::Norm::kLayer, true); }},
    {"q and k normed whole",
     [](Spec& spec) { query_norm(spec, QueryNormForm::kWhole, transformer::Norm::kRms, false); }},
    {"values of another width", each<[](LayerSpec& layer) { layer.attention.value_width = 6; }>},
    {"keys that are also the values, normed", each<[](LayerSpec& layer) {
       layer.attention.qkv = transformer::QkvLayout::kSeparate;
       layer.attention.norm.form = QueryNormForm::kHead;
       layer.attention.value_norm = layer.attention.key_as_value = true;
     }>},
    {"keys of an earlier layer",
     [](Spec& spec) {
       spec.each([](std::int64_t, LayerSpec& layer) { layer.attention.qkv = transformer::QkvLayout::kSeparate; });
       spec.layers[2].attention.source = 0;
     }},
    {"wider heads and slow pairs that stand still in one layer",
     [](Spec& spec) {
       spec.encodings = {{"rope", {}}, {"rope", {{"scaling", std::string("proportional")}, {"proportion", 0.5}}}};
       spec.layers[1].encoding = 1;
       spec.layers[1].attention.head_width = 16;
       spec.layers[1].attention.kv_heads = 1;
     }},
    {"q and k normed behind the rotation",
     [](Spec& spec) {
       spec.encodings = {{"rope", {{"norm", true}, {"norm_eps", 1e-5}}}};
     }},
    {"halves that turn the other way",
     [](Spec& spec) {
       spec.encodings = {{"rope", {{"layout", std::string("swapped")}}}};
     }},
    {"norms within the branches",
     each<[](LayerSpec& layer) { layer.attention.output_norm = layer.feed_forward.inner_norm = true; }>},
    {"norms of the heads' outputs, each by itself", each<[](LayerSpec& layer) {
       layer.attention.output_norm = layer.attention.output_norm_own = true;
     }>},
    {"keys and values with a share of the token before", each<[](LayerSpec& layer) {
       layer.attention.qkv = transformer::QkvLayout::kSeparate;
       layer.attention.norm.form = QueryNormForm::kOwn;
       layer.attention.key_shift = layer.attention.value_shift = true;
     }>},
    {"per-layer embeddings",
     [](Spec& spec) {
       spec.layer_inputs = {6, spec.vocabulary};
       spec.each([](std::int64_t, LayerSpec& layer) { layer.output_scale = true; });
     }},
    {"per-layer embeddings without a table",
     [](Spec& spec) {
       spec.layer_inputs = {6, 0};
     }},
    {"latent attention", each<[](LayerSpec& layer) {
       layer.attention.kv_heads = layer.attention.heads;
       layer.attention.latent = {10, 12, 4, 1e-6};
       layer.attention.value_width = 6;
     }>},
    {"norms after", each<[](LayerSpec& layer) { layer.attention_norm = layer.feed_forward_norm = NormPlace::kAfter; }>},
    {"norms on both sides",
     each<[](LayerSpec& layer) { layer.attention_norm = layer.feed_forward_norm = NormPlace::kBoth; }>},
    {"norms on the sum",
     each<[](LayerSpec& layer) { layer.attention_norm = layer.feed_forward_norm = NormPlace::kPost; }>},
    {"queries alone normed", each<[](LayerSpec& layer) {
       layer.attention.norm.form = QueryNormForm::kWhole;
       layer.attention.norm.sides = transformer::NormedSides::kQuery;
     }>},
    {"keys alone normed, each head by its own", each<[](LayerSpec& layer) {
       layer.attention.norm.form = QueryNormForm::kOwn;
       layer.attention.norm.sides = transformer::NormedSides::kKey;
     }>},
    {"no norms", each<[](LayerSpec& layer) { layer.attention_norm = layer.feed_forward_norm = NormPlace::kNone; }>},
    {"parallel with one norm", each<[](LayerSpec& layer) { layer.parallel = layer.shared_norm = true; }>},
    {"parallel with two norms", each<[](LayerSpec& layer) { layer.parallel = true; }>},
    {"multipliers",
     [](Spec& spec) {
       spec.embedding_scale = 3;
       spec.residual_scale = 0.5;
       spec.logit_scale = 0.25;
       spec.logit_cap = 2;
     }},
    {"experts, soft-max", [](Spec& spec) { experts(spec, Router::kSoftmax, 1, true); }},
    {"experts in groups", [](Spec& spec) { experts(spec, Router::kSigmoid, 2, true); }},
    {"experts, soft-max of the chosen", [](Spec& spec) { experts(spec, Router::kTopSoftmax, 1, false); }},
    {"experts that scale their input", [](Spec& spec) { experts(spec, Router::kInputSigmoid, 1, false); }},
    {"experts of a sparse mixer",
     [](Spec& spec) {
       experts(spec, Router::kSparseMixer, 1, false);
       spec.each([](std::int64_t, LayerSpec& layer) { layer.feed_forward.experts.margin = 0.4; });
     }},
    {"experts by capped and corrected logits",
     [](Spec& spec) {
       experts(spec, Router::kSigmoid, 1, true);
       spec.each([](std::int64_t, LayerSpec& layer) {
         layer.feed_forward.experts.corrects_logits = true;
         layer.feed_forward.experts.logit_cap = 1.5;
         layer.feed_forward.experts.least_sum = 1.2;
         layer.feed_forward.experts.averaged = true;
       });
     }},
    {"experts that take the first tokens alone",
     [](Spec& spec) {
       experts(spec, Router::kSoftmax, 1, false);
       spec.each([](std::int64_t, LayerSpec& layer) { layer.feed_forward.experts.capacity = 3; });
     }},
    {"short convolutions, and experts of every token", each<[](LayerSpec& layer) {
       layer.attention.qkv = transformer::QkvLayout::kSeparate;
       layer.attention.norm.form = QueryNormForm::kHead;
       layer.attention.value_width = 6;
       layer.convolution = 3;
       layer.feed_forward.output_scale = true;
       layer.feed_forward.experts = {.count = 4,
                                     .chosen = 2,
                                     .router = Router::kSigmoid,
                                     .normalised = true,
                                     .factor = 1.5,
                                     .always = 2};
     }>},
    {"a learned factor of the feed-forward",
     each<[](LayerSpec& layer) { layer.feed_forward.output_scale = true; }>},
    {"differences of pairs of heads", each<[](LayerSpec& layer) {
       layer.attention.qkv = transformer::QkvLayout::kSeparate;
       layer.attention.difference = 0.3;
       layer.attention.value_width = 2 * layer.attention.head_width;
     }>},
    {"a learned part of scores",
     [](Spec& spec) {
       spec.encodings = {{"rope", {{"fraction", 8.0 / 9}}}};
       spec.each([](std::int64_t, LayerSpec& layer) {
         layer.attention.qkv = transformer::QkvLayout::kSeparate;
         layer.attention.norm.form = QueryNormForm::kHead;
         layer.attention.key_bonus = true;
         layer.attention.head_width = 9;
         layer.attention.value_width = 8;
         layer.attention.scale = 0.3;
       });
     }},
    {"learned sums",
     each<[](LayerSpec& layer) { layer.attention_sum.learned = layer.feed_forward_sum.learned = true; }>},
    {"rounds of layers",
     [](Spec& spec) {
       spec.layers[0].round = transformer::Round::kBegins;
       spec.layers[1].round = transformer::Round::kEndsLow;
       spec.layers[2].round = transformer::Round::kWholeHigh;
       spec.final_norm = false;
     }},
    {"two matrices before the head",
     [](Spec& spec) {
       spec.head_transform = true;
       spec.head_transform_bias = spec.head_transform_norm = false;
       spec.head_inner = 12;
     }},
    {"clamped gates", each<[](LayerSpec& layer) { layer.feed_forward.clamp = 0.4; }>},
    {"norms without weight", [](Spec& spec) { spec.norm_weight = false; }},
    {"a bias of the output alone", each<[](LayerSpec& layer) {
       layer.feed_forward.bias = true;
       layer.feed_forward.inner_bias = false;
     }>},
    {"squared ReLU", each<[](LayerSpec& layer) {
       layer.feed_forward.activation = transformer::Activation::kSquaredRelu;
       layer.feed_forward.gated = false;
     }>},
    {"xIELU", each<[](LayerSpec& layer) {
       layer.feed_forward.activation = transformer::Activation::kXielu;
       layer.feed_forward.gated = false;
     }>},
    {"quick GELU", each<[](LayerSpec& layer) {
       layer.feed_forward.activation = transformer::Activation::kQuickGelu;
       layer.feed_forward.gated = false;
     }>},
});

transformer::Batch batch_of(const transformer::Transformer& model) {
  at::manual_seed(4);
  return {at::randint(model.spec().vocabulary, {2, 23}, at::kLong), {}, model.positions(23)};
}

// Values, λ and norm of a pair, head by head, from the outcome of its two maps.
TEST(Block, ADifferenceIsOfAPairOfHeads) {
  const at::NoGradGuard no_grad;
  const auto kind = std::find_if(kKinds.begin(), kKinds.end(), [](const Kind& each) {
    return std::string_view(each.name) == "differences of pairs of heads";
  });
  const auto model = test::kind_model(*kind);
  const transformer::Batch batch = batch_of(*model);
  transformer::ObserveOptions options;
  options.all_logits = options.values = options.hidden = options.writes = true;
  const auto seen = model->observe(batch, options);
  ASSERT_TRUE(seen.ok());
  const transformer::Block& block = model->block(0);
  const transformer::LayerWeights& weights = block.weights();
  const std::int64_t heads = block.spec().attention.heads;
  const at::Tensor input = block.attention_input(seen->layers[0].hidden);
  const at::Tensor plain = transformer::split_heads(transformer::linear(input, weights.value), 2);  // (B, 2, T, D)
  const at::Tensor share = at::dot(weights.difference_a, weights.difference_b).exp() -
                           at::dot(weights.difference_c, weights.difference_d).exp() + 0.3;
  const at::Tensor value = at::cat({plain.select(1, 0), plain.select(1, 1)}, -1);  // of every head
  for (std::int64_t pair = 0; pair < heads / 2; ++pair) {
    const auto outcome = [&](std::int64_t head) {
      const position::Prepared& prepared = seen->layers[0].prepared;
      const at::Tensor scores =
          prepared.query.select(1, head).matmul(prepared.key.select(1, head / (heads / 2)).transpose(1, 2)) *
          model->layer_encoding(0)->scale();
      const std::int64_t length = scores.size(1);
      const at::Tensor later = at::ones({length, length}, at::kBool).triu(1);
      return at::softmax(scores.masked_fill(later, -INFINITY), -1).matmul(value);
    };
    const at::Tensor rest = outcome(pair) - share * outcome(pair + heads / 2);
    const at::Tensor wanted = rest * at::rsqrt(rest.square().mean(-1, true) + model->spec().norm_eps) * 0.7;
    const at::Tensor found = seen->writes[0].heads.slice(2, pair * 16, pair * 16 + 16);
    EXPECT_CLOSE(found, wanted, kTolerance);
  }
}

TEST(Block, TextsWhoseKeysWouldBeChosenAreRefused) {
  Spec spec;
  spec.vocabulary = 40;
  spec.all_seen = 7;
  const auto model = transformer::Transformer::create(spec, true, 3);
  ASSERT_TRUE(model.ok());
  EXPECT_TRUE((*model)->accepts((*model)->positions(7)).ok());
  const Status longer = (*model)->accepts((*model)->positions(8));
  ASSERT_FALSE(longer.ok());
  EXPECT_EQ(longer.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(longer.error().describe().find("at most 7 tokens, found 8"), std::string::npos);
}

TEST(Block, RoundsBeginAndEnd) {
  using transformer::Round;
  const auto valid = [](std::vector<Round> rounds) {
    Spec spec;
    spec.repeat({}, static_cast<std::int64_t>(rounds.size()));
    spec.each([&](std::int64_t n, LayerSpec& layer) { layer.round = rounds[static_cast<std::size_t>(n)]; });
    return transformer::validate(spec).ok();
  };
  EXPECT_TRUE(valid({Round::kBegins, Round::kWithin, Round::kEndsLow, Round::kWholeLow, Round::kWholeHigh}));
  for (const std::vector<Round>& wrong :
       std::vector<std::vector<Round>>{{Round::kBegins, Round::kWithin},                       // no end
                                       {Round::kWholeLow},                                     // high is never renewed
                                       {Round::kWithin, Round::kWholeHigh},                    // a layer of no round
                                       {Round::kWholeHigh, Round::kWithin, Round::kEndsHigh},  // an end without begin
                                       {Round::kBegins, Round::kBegins, Round::kEndsHigh},     // a begin within a round
                                       {Round::kBegins, Round::kWholeHigh, Round::kEndsHigh},  //
                                       {Round::kBegins, Round::kEndsLow, Round::kEndsHigh}}) {
    EXPECT_FALSE(valid(wrong)) << wrong.size();
  }
}

// With a correction all scores can be negative: experts outside the best group stay outside.
TEST(Block, ExpertsAreChosenWithinTheBestGroup) {
  transformer::FeedForwardSpec spec;
  spec.inner = 3;
  spec.experts = {4, 2, Router::kSigmoid, false, true, true, 2, 1};
  transformer::ExpertWeights weights;
  weights.router = {at::zeros({4, 5}), {}};
  weights.correction = at::tensor({-3.0F, -1.0F, -9.0F, -8.0F});
  weights.experts.resize(4);
  for (transformer::FeedForwardWeights& expert : weights.experts) {
    expert.gate.weight = expert.up.weight = at::ones({3, 5});
    expert.down.weight = at::ones({5, 3});
  }
  transformer::Routing routing;
  transformer::feed_forward(spec, weights, at::ones({1, 2, 5}), &routing);
  EXPECT_TRUE(at::equal(routing.experts, at::tensor({1, 0, 1, 0}, at::kLong).view({2, 2}))) << routing.experts;
  EXPECT_TRUE(at::allclose(routing.weights, at::full({2, 2}, 0.5)));
}

transformer::Routing routing_of(const transformer::Experts& experts, std::initializer_list<float> logits,
                                const at::Tensor& correction = {}) {
  transformer::FeedForwardSpec spec;
  spec.inner = 1;
  spec.experts = experts;
  transformer::ExpertWeights weights;
  weights.router = {at::tensor(at::ArrayRef<float>(logits.begin(), logits.size())).unsqueeze(1), {}};
  weights.correction = correction;
  weights.experts.resize(logits.size());
  for (transformer::FeedForwardWeights& expert : weights.experts) {
    expert.gate.weight = expert.up.weight = expert.down.weight = at::ones({1, 1});
  }
  transformer::Routing routing;
  transformer::feed_forward(spec, weights, at::ones({1, 1, 1}), &routing);
  return routing;
}

// The largest logit weighs 1 where no other is near; the second is weighed without the first.
TEST(Block, SparseMixerWeighsNearLogitsAlone) {
  transformer::Experts experts{4, 2, Router::kSparseMixer};
  experts.margin = 0.1;
  const transformer::Routing routing = routing_of(experts, {2.0F, 3.0F, 1.9F, -4.0F});
  EXPECT_TRUE(at::equal(routing.experts, at::tensor({1, 0}, at::kLong).unsqueeze(0))) << routing.experts;
  const float second = 1 / (1 + std::exp(-0.1F));
  EXPECT_TRUE(at::allclose(routing.weights, at::tensor({1.0F, second}).unsqueeze(0))) << routing.weights;
}

TEST(Block, ACorrectionChoosesByLogitsOrByScores) {
  transformer::Experts experts{3, 1, Router::kSigmoid, false, true};
  const at::Tensor correction = at::tensor({0.5F, 0.0F, 0.0F});
  EXPECT_EQ(routing_of(experts, {3.0F, 4.0F, 1.0F}, correction).experts.item<std::int64_t>(), 0);
  experts.corrects_logits = true;
  const transformer::Routing by_logits = routing_of(experts, {3.0F, 4.0F, 1.0F}, correction);
  EXPECT_EQ(by_logits.experts.item<std::int64_t>(), 1);
  EXPECT_NEAR(by_logits.weights.item<float>(), 1 / (1 + std::exp(-4.0F)), 1e-6F);
}

// A share of the token before for each key head, token by token.
TEST(Block, AShiftIsOfTheTokenBefore) {
  const at::NoGradGuard no_grad;
  const auto kind = std::find_if(kKinds.begin(), kKinds.end(), [](const Kind& each) {
    return std::string_view(each.name) == "keys and values with a share of the token before";
  });
  const auto model = test::kind_model(*kind);
  const transformer::Batch batch = batch_of(*model);
  transformer::ObserveOptions options;
  options.values = true;
  const auto seen = model->observe(batch, options);
  ASSERT_TRUE(seen.ok());
  ASSERT_TRUE(seen->layers[0].hidden.defined());  // a run that continues this one begins with the token before it
  const transformer::Block& block = model->block(0);
  const std::int64_t heads = block.spec().attention.kv_heads;
  const at::Tensor input = block.attention_input(seen->layers[0].hidden);  // (B, T, C)
  const at::Tensor plain = at::matmul(input, block.weights().value.weight.t());
  const at::Tensor asked = at::matmul(input, block.weights().value_shift.weight.t());  // (B, T, Hkv)
  const std::int64_t width = plain.size(2) / heads;
  for (std::int64_t b = 0; b < plain.size(0); ++b) {
    for (std::int64_t t = 0; t < plain.size(1); ++t) {
      for (std::int64_t h = 0; h < heads; ++h) {
        const double share = 1 / (1 + std::exp(-asked[b][t][h].item<double>()));
        const auto own = [&](std::int64_t token) { return plain[b][token].slice(0, h * width, (h + 1) * width); };
        const at::Tensor before = t == 0 ? at::zeros({width}) : own(t - 1);
        EXPECT_CLOSE(seen->layers[0].value[b][h][t], share * before + (1 - share) * own(t), kTolerance);
      }
    }
  }
}

// Values and both branches, channel by channel from their own last inputs; the last row alone is that of all rows.
TEST(Block, AConvolutionIsAddedToWhatItReads) {
  const at::NoGradGuard no_grad;
  const auto kind = std::find_if(kKinds.begin(), kKinds.end(), [](const Kind& each) {
    return std::string_view(each.name) == "short convolutions, and experts of every token";
  });
  const auto model = test::kind_model(*kind);
  const transformer::Batch batch = batch_of(*model);
  transformer::ObserveOptions options;
  options.all_logits = options.values = options.hidden = options.writes = true;
  const auto seen = model->observe(batch, options);
  ASSERT_TRUE(seen.ok());
  const auto convolved = [](const at::Tensor& x, const at::Tensor& kernel) {
    at::Tensor sum = x.clone();
    for (std::int64_t t = 0; t < x.size(1); ++t) {
      for (std::int64_t back = 0; back < 3 && back <= t; ++back) {
        sum.select(1, t).add_(x.select(1, t - back) * kernel.select(1, 2 - back));
      }
    }
    return sum;
  };
  for (std::int64_t n = 0; n < model->spec().depth(); ++n) {
    const transformer::Block& block = model->block(n);
    const transformer::LayerWeights& weights = block.weights();
    const transformer::LayerWrites& wrote = seen->writes[static_cast<std::size_t>(n)];
    const transformer::LayerRecord& record = seen->layers[static_cast<std::size_t>(n)];
    const at::Tensor plain = at::matmul(block.attention_input(record.hidden), weights.value.weight.t());
    EXPECT_CLOSE(record.value.transpose(1, 2).flatten(2), convolved(plain, weights.value_convolution), kTolerance);
    EXPECT_CLOSE(wrote.middle, wrote.entering + convolved(wrote.attention, weights.attention_convolution), kTolerance);
    EXPECT_CLOSE(wrote.leaving, wrote.middle + convolved(wrote.feed_forward, weights.feed_forward_convolution),
                 kTolerance);
  }
  const auto last = model->observe(batch, {});
  ASSERT_TRUE(last.ok());
  EXPECT_CLOSE(last->logits.select(1, -1), seen->logits.select(1, -1), kTolerance);
  // A run of one more token begins anew: the inputs of the convolutions are not kept.
  transformer::ObserveOptions kept;
  kept.values = true;
  const std::int64_t length = batch.positions.size();
  auto shorter = model->observe({batch.ids.slice(1, 0, length - 1), {}, batch.positions.slice({0, length - 1})}, kept);
  ASSERT_TRUE(shorter.ok());
  const transformer::ReusedTokens reused{std::move(shorter->layers), length - 1, shorter->rows};
  kept.reused_tokens = &reused;
  const auto longer = model->observe(batch, kept);
  ASSERT_TRUE(longer.ok());
  EXPECT_EQ(longer->reused, 0);
  EXPECT_CLOSE(longer->logits.select(1, -1), seen->logits.select(1, -1), kTolerance);
}

// Weights of the one chosen and of the two of every token are shares of the sum of their sigmoids, whatever the size of
// these: of logits near −60 too.
TEST(Block, ExpertsOfEveryTokenAreWeighedWithThoseChosen) {
  const at::NoGradGuard no_grad;
  transformer::FeedForwardSpec spec;
  spec.inner = 1;
  spec.gated = false;
  spec.activation = transformer::Activation::kRelu;
  spec.output_scale = true;
  spec.experts = {.count = 3, .router = Router::kSigmoid, .normalised = true, .factor = 2, .always = 2};
  for (const double shift : {0.0, -60.0}) {
    transformer::ExpertWeights weights;
    const std::vector<double> logits{0.4, 1.2, -0.3, 0.7, -1.1};
    weights.router = {at::tensor(logits).to(at::kFloat).add(shift).unsqueeze(1), {}};
    weights.output_scale = at::full({1}, 0.5F);
    const auto expert = [](float factor) {
      transformer::FeedForwardWeights own;
      own.up.weight = at::ones({1, 1});
      own.down.weight = at::full({1, 1}, factor);
      return own;
    };
    weights.experts = {expert(1), expert(10), expert(100)};
    weights.always = {expert(1000), expert(10000)};
    transformer::Routing routing;
    const at::Tensor out = transformer::feed_forward(spec, weights, at::ones({1, 1, 1}), &routing);
    ASSERT_EQ(routing.experts.numel(), 1);
    EXPECT_EQ(routing.experts.item<std::int64_t>(), 1);
    // Far below 0 a sigmoid is e^logit.
    const auto size = [&](std::size_t n) { return shift < 0 ? std::exp(logits[n]) : 1 / (1 + std::exp(-logits[n])); };
    const double sum = size(1) + size(3) + size(4);
    EXPECT_NEAR(routing.weights.item<double>(), size(1) / sum, 1e-4);
    EXPECT_NEAR(out.item<double>(), (10 * size(1) + 1000 * size(3) + 10000 * size(4)) / sum, 1);
  }
}

TEST(Block, StreamingEqualsWholeMaps) {
  for (const Kind& kind : kKinds) {
    SCOPED_TRACE(kind.name);
    const auto model = test::kind_model(kind);
    ASSERT_NE(model, nullptr);
    const transformer::Batch batch = batch_of(*model);
    transformer::ObserveOptions options;
    options.all_logits = true;
    const auto observed = model->observe(batch, options);
    ASSERT_TRUE(observed.ok());
    const at::Tensor differentiable = model->forward(batch);
    const at::NoGradGuard no_grad;
    EXPECT_CLOSE(observed->logits, model->forward(batch), kTolerance);
    EXPECT_CLOSE(observed->logits, differentiable.detach(), kTolerance);
  }
}

TEST(Block, DirectPathSumsToTheLogit) {
  const at::NoGradGuard no_grad;
  for (const Kind& kind : kKinds) {
    SCOPED_TRACE(kind.name);
    const auto model = test::kind_model(kind);
    ASSERT_NE(model, nullptr);
    if (model->spec().logit_cap > 0) {
      continue;  // no sum
    }
    const transformer::Batch batch = batch_of(*model);
    transformer::ObserveOptions options;
    options.writes = true;
    const auto seen = model->observe(batch, options);
    ASSERT_TRUE(seen.ok());
    const std::int64_t last = batch.positions.size() - 1;
    const auto path = transformer::direct_path(*model, batch, *seen, {last, last + 1}, {{5, 1}});
    const Spec& spec = model->spec();
    if (spec.head_transform || spec.has_rounds() || spec.convolves() || spec.first().attention.difference != 0) {
      EXPECT_EQ(path.ok(), false);  // no sum either
      continue;
    }
    ASSERT_TRUE(path.ok()) << path.error().describe();
    double sum = path->heads.sum().item<double>();
    for (const std::vector<double>* parts : {&path->feed_forwards, &path->mixers, &path->biases}) {
      sum = std::accumulate(parts->begin(), parts->end(), sum);
    }
    for (const auto& [name, part] : path->ends) {
      sum += part;
    }
    const double logit = seen->logits[0][0][5].item<double>();
    EXPECT_NEAR(sum, logit, 1e-3 * (1 + std::abs(logit)));
  }
}

TEST(Block, GradientsReachEveryParameter) {
  for (const Kind& kind : kKinds) {
    SCOPED_TRACE(kind.name);
    const auto model = test::kind_model(kind);
    ASSERT_NE(model, nullptr);
    for (const transformer::Parameter& parameter : model->parameters()) {
      parameter.value->requires_grad_(true);
    }
    model->forward(batch_of(*model)).square().mean().backward();
    for (const transformer::Parameter& parameter : model->parameters()) {
      // A correction only chooses, and nobody reads the state that the last layer renews.
      const bool renews =
          parameter.name.rfind("position.layers.2.", 0) == 0 && model->layer_encoding(2)->description().updates;
      if (parameter.name.find("correction") == std::string::npos && !renews) {
        EXPECT_TRUE(parameter.value->grad().defined()) << parameter.name;
      }
    }
  }
}

TEST(Block, ShownWeightsExplainTheLogitsAlsoFromDisk) {
  const std::filesystem::path file = std::filesystem::path(::testing::TempDir()) / "locus-block-test.safetensors";
  for (const Kind& kind : kKinds) {
    SCOPED_TRACE(kind.name);
    auto transformer = test::kind_model(kind);
    ASSERT_NE(transformer, nullptr);
    const transformer::Transformer& inside = *transformer;
    models::CheckpointParts parts;
    parts.info = models::shape_info(inside);
    parts.transformer = std::move(transformer);
    const models::LoadedModel loaded(std::move(parts));
    const models::Model& model = loaded;
    models::Input input;
    input.ids = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2};
    models::RunOptions options;
    options.all_logits = true;
    const auto trace = model.run(input, options);
    ASSERT_TRUE(trace.ok()) << trace.error().describe();
    const auto& data = dynamic_cast<const models::RecordedTrace&>(**trace).data();
    const at::NoGradGuard no_grad;
    const transformer::Batch batch{at::tensor(*input.ids).unsqueeze(0), {}, inside.positions(17)};
    const auto replayed = inside.replay(batch, [&](std::int64_t layer) -> Result<at::Tensor> {
      LOCUS_TRY(const at::Tensor map,
                models::whole_map(*data.layers[static_cast<std::size_t>(layer)].scores, attention::Quantity::kWeight));
      return map.unsqueeze(0);
    });
    ASSERT_TRUE(replayed.ok());
    EXPECT_CLOSE(replayed->select(0, 0), data.logits, kTolerance);

    ASSERT_TRUE((*trace)->write(file, {"q", "k", "q_content", "k_content", "logits", "position_state"}).ok() ||
                (*trace)->write(file, {"q", "k", "q_content", "k_content", "logits"}).ok());
    const auto opened = models::open_trace(file);
    ASSERT_TRUE(opened.ok()) << opened.error().describe();
    EXPECT_EQ((*opened)->model().layer_info, (*trace)->model().layer_info);
    const auto& read = dynamic_cast<const models::RecordedTrace&>(**opened).data();
    for (std::size_t n = 0; n < data.layers.size(); ++n) {
      for (const auto quantity : {attention::Quantity::kWeight, attention::Quantity::kLogit}) {
        const auto ours = models::whole_map(*data.layers[n].scores, quantity);
        const auto theirs = models::whole_map(*read.layers[n].scores, quantity);
        ASSERT_TRUE(ours.ok() && theirs.ok());
        EXPECT_CLOSE(theirs->nan_to_num(), ours->nan_to_num(), kTolerance) << n;
      }
    }
  }
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace locus
