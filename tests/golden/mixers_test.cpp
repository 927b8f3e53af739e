// Layers without a soft-max: the published recurrence of Kimi delta attention with its map (kda), and what the torch
// functions of the transformers library compute, made by make_mixers.py (mixers).
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "core/mixers/causal_convolution.h"
#include "core/mixers/implied_map.h"
#include "tests/support/golden.h"

namespace locus {
namespace {

constexpr double kMixersTolerance = 2e-5;  // of float32 sums in another order

at::Tensor all_cells(const mixers::ImpliedMap& map) {
  return map.tile({0, map.heads()}, {0, map.length()}, {0, map.length()});
}

TEST(Mixers, PublishedKimiDeltaAttention) {
  const test::Golden golden("kda");
  for (const std::string model : {"a", "b"}) {
    const auto stored = [&](const std::string& name) { return golden[model + "." + name].unsqueeze(0); };
    const at::Tensor query = stored("q") / std::sqrt(static_cast<double>(stored("q").size(3)));
    const mixers::DeltaInputs inputs{query, stored("k"), stored("v"), stored("beta"), stored("g")};
    at::Tensor state;
    EXPECT_CLOSE(mixers::delta_rule(inputs, state), stored("out"), 1e-12) << model;
    EXPECT_CLOSE(all_cells(*mixers::implied_map(inputs)), golden[model + ".map"], 1e-12) << model;
  }
}

TEST(Mixers, DeltaRules) {
  const test::Golden golden("mixers");
  for (const std::string layer : {"gated_delta", "kda"}) {
    const auto stored = [&](const std::string& name) { return golden[layer + "." + name]; };
    const at::Tensor query = stored("q") / std::sqrt(static_cast<double>(stored("q").size(3)));
    at::Tensor state = stored("before");
    EXPECT_CLOSE(mixers::delta_rule({query, stored("k"), stored("v"), stored("beta"), stored("g")}, state), stored("y"),
                 kMixersTolerance)
        << layer;
    EXPECT_CLOSE(state, stored("after"), kMixersTolerance) << layer;
  }
}

TEST(Mixers, StateSpaceDuality) {
  const test::Golden golden("mixers");
  const at::Tensor x = golden["ssd.x"].transpose(1, 2);                        // (B, H, T, P)
  const at::Tensor delta = golden["ssd.delta"].transpose(1, 2).unsqueeze(-1);  // (B, H, T, 1)
  const at::Tensor log_decay = delta.squeeze(-1) * golden["ssd.rate"].unsqueeze(-1);
  const mixers::DecayedInputs inputs{golden["ssd.query"].transpose(1, 2).expand({2, 2, 70, 8}),
                                     golden["ssd.key"].transpose(1, 2) * delta, x, log_decay};
  at::Tensor state = golden["ssd.before"].transpose(2, 3);
  const at::Tensor skipped = x * golden["ssd.skip"].reshape({2, 1, 1});
  EXPECT_CLOSE(mixers::decayed_attention(inputs, state) + skipped, golden["ssd.y"].transpose(1, 2), kMixersTolerance);
  EXPECT_CLOSE(state.transpose(2, 3), golden["ssd.after"], kMixersTolerance);
}

TEST(Mixers, LightningAttention) {
  const test::Golden golden("mixers");
  const at::Tensor log_decay = -golden["lightning.slope"].reshape({1, 2, 1}).expand({2, 2, 70});
  const mixers::DecayedInputs inputs{golden["lightning.q"], golden["lightning.k"], golden["lightning.v"], log_decay};
  at::Tensor state;
  EXPECT_CLOSE(mixers::decayed_attention(inputs, state), golden["lightning.y"], kMixersTolerance);
}

TEST(Mixers, SelectiveScan) {
  const test::Golden golden("mixers");
  const mixers::ScanInputs inputs{golden["scan.x"],     golden["scan.delta"],  golden["scan.rate"],
                                  golden["scan.input"], golden["scan.output"], golden["scan.skip"]};
  at::Tensor state;
  EXPECT_CLOSE(mixers::selective_scan(inputs, state), golden["scan.y"], kMixersTolerance);
  EXPECT_CLOSE(state, golden["scan.after"], kMixersTolerance);
}

TEST(Mixers, GatedRecurrence) {
  const test::Golden golden("mixers");
  at::Tensor state = golden["recurrence.before"];
  EXPECT_CLOSE(mixers::gated_recurrence({golden["recurrence.x"], golden["recurrence.g"]}, state),
               golden["recurrence.y"], kMixersTolerance);
  EXPECT_CLOSE(state, golden["recurrence.after"], kMixersTolerance);
}

TEST(Mixers, ShortConvolution) {
  const test::Golden golden("mixers");
  const at::Tensor weight = golden["convolution.weight"];
  const at::Tensor bias = golden["convolution.bias"];
  at::Tensor state;
  EXPECT_CLOSE(mixers::causal_convolution(golden["convolution.x"], weight, bias, state), golden["convolution.y"],
               kMixersTolerance);
  EXPECT_CLOSE(mixers::causal_convolution(golden["convolution.more"], weight, bias, state), golden["convolution.then"],
               kMixersTolerance);
  EXPECT_TRUE(state.equal(golden["convolution.after"]));
}

}  // namespace
}  // namespace locus
