// The baselines against their published implementations. Tolerance 1e-4·(1 + |b|) for logits, 1e-6 for frequencies.
#include <gtest/gtest.h>

#include "core/position/alibi.h"
#include "core/position/shared/rope_scaling.h"
#include "core/position/shared/rotation.h"
#include "core/position/t5.h"
#include "core/position/xpos.h"
#include "tests/support/encodings.h"
#include "tests/support/golden.h"

namespace locus::test {
namespace {

using position::Positions;

constexpr double kBaselinesTolerance = 1e-4;
constexpr double kFrequencyTolerance = 1e-6;

// Frequencies differ by orders of magnitude: compared as ratios.
void expect_frequencies(const at::Tensor& got, const at::Tensor& want) {
  ASSERT_EQ(got.sizes(), want.sizes());
  EXPECT_CLOSE(got / want.to(at::kDouble), at::ones_like(got), kFrequencyTolerance);
}

position::RotaryFrequencies frequencies(const Settings& options, std::int64_t width, double base, double length,
                                        std::int64_t trained) {
  auto scaling = position::RopeScaling::from(options);
  EXPECT_TRUE(scaling.ok() && scaling->check(width, trained).ok());
  return scaling->frequencies(width, base, length, trained);
}

// The bias of an encoding alone: q = k = 0.
at::Tensor bias_of(const position::PositionEncoding& encoding, std::int64_t heads, std::int64_t tokens) {
  const at::Tensor zero = at::zeros({1, heads, tokens, 8});
  return whole_map(encoding, prepare(encoding, Positions::sequence(tokens), zero, zero)).logits;
}

TEST(Baselines, alibiSlopes) {
  const Golden golden("baselines");
  for (const std::int64_t heads : {4, 6, 8, 12, 16}) {
    EXPECT_CLOSE(at::tensor(position::alibi_slopes(heads)), golden["alibi_slopes_" + std::to_string(heads)], 1e-7);
  }
}

TEST(Baselines, fireBiasByNetworkAndByKnots) {
  const Golden golden("baselines");
  const auto length = static_cast<std::int64_t>(golden.number("fire.init_L"));
  const auto fire = encoding("fire", {{"hidden", std::int64_t{8}}, {"length", length}}, shape_of(3, 8));
  for (const std::string name : {"c", "L_multiplier", "mlp.0.weight", "mlp.0.bias", "mlp.2.weight", "mlp.2.bias"}) {
    parameter(*fire, name) = golden["fire." + name].clone();
  }
  EXPECT_CLOSE(bias_of(*fire, 3, 9), golden["fire_bias_L9"], kBaselinesTolerance);
  parameter(*fire, "mlp.2.bias").requires_grad_(true);
  EXPECT_CLOSE(bias_of(*fire, 3, 9), golden["fire_bias_L9"], kBaselinesTolerance);
}

TEST(Baselines, t5Buckets) {
  const Golden golden("baselines");
  const at::Tensor relative = golden["t5_rel"].to(at::kDouble);
  EXPECT_TRUE(position::t5_buckets(relative, true, 32, 128).equal(golden["t5_bucket_causal"]));
  EXPECT_TRUE(position::t5_buckets(relative, false, 32, 128).equal(golden["t5_bucket_bidir"]));
}

TEST(Baselines, kerpleBiases) {
  const Golden golden("baselines");
  for (const std::string kernel : {"log", "power"}) {
    const auto kerple = encoding("kerple-" + kernel, {}, shape_of(3, 8));
    parameter(*kerple, "p") = golden["kerple_p"];
    parameter(*kerple, "a") = golden["kerple_a"];
    EXPECT_CLOSE(bias_of(*kerple, 3, 9)[0], golden["kerple_" + kernel + "_bias"], kBaselinesTolerance);
  }
}

// The scaled q and k of one implementation, and the logits they give.
void expect_xpos(const Golden& golden, const std::string& source, const Settings& options, double centre) {
  const auto xpos = encoding("xpos", options, shape_of(2, 8));
  const auto typed = position::XposOptions::from(options);
  ASSERT_TRUE(typed.ok());
  const at::Tensor ids = at::arange(9, at::kDouble);
  const position::Prepared prepared =
      prepare(*xpos, Positions::sequence(9), golden["xpos_q"].unsqueeze(0), golden["xpos_k"].unsqueeze(0));
  const at::Tensor& query = golden[source + "_q"];
  const at::Tensor& key = golden[source + "_k"];
  EXPECT_CLOSE(prepared.query[0] * position::xpos_scales(ids, centre, 1, 8, *typed), query, kBaselinesTolerance);
  EXPECT_CLOSE(prepared.key[0] * position::xpos_scales(ids, centre, -1, 8, *typed), key, kBaselinesTolerance);
  const at::Tensor logits = at::matmul(query, key.transpose(-1, -2)) / std::sqrt(8.0);
  EXPECT_CLOSE(whole_map(*xpos, prepared).logits[0], logits, kBaselinesTolerance);
}

TEST(Baselines, xposOfTorchscale) {
  const Golden golden("baselines");
  expect_xpos(golden, "xpos_ts", {}, 5);
  EXPECT_CLOSE(position::xpos_zeta(8), golden["xpos_ts_scale"], 1e-6);
}

TEST(Baselines, xposOfHalfPairs) {
  const Golden golden("baselines");
  const Settings options{{"layout", std::string("half")}, {"scale_base", 2048.0}};
  expect_xpos(golden, "xpos_hf", options, 8);
  const auto typed = position::XposOptions::from(options);
  EXPECT_CLOSE(position::xpos_scales(at::arange(16, at::kDouble), 8, 1, 8, *typed), golden["xpos_hf_scale"], 1e-6);
}

TEST(Baselines, yarnAndNtkFrequencies) {
  const Golden golden("baselines");
  const auto d64 = frequencies({{"scaling", std::string("yarn")}, {"factor", 4.0}}, 64, 1e4, 0, 2048);
  expect_frequencies(d64.inverse, golden["yarn_inv_freq_d64_s4_L2048"]);
  EXPECT_NEAR(d64.magnitude, golden.number("yarn_mscale_s4"), 1e-6);
  const auto d128 = frequencies({{"scaling", std::string("yarn")}, {"factor", 16.0}}, 128, 1e4, 0, 4096);
  expect_frequencies(d128.inverse, golden["yarn_inv_freq_d128_s16_L4096"]);
  EXPECT_NEAR(d128.magnitude, golden.number("yarn_mscale_s16"), 1e-6);
  const auto ntk = frequencies({{"scaling", std::string("ntk")}, {"factor", 4.0}}, 64, 1e4, 0, 2048);
  expect_frequencies(ntk.inverse, golden["ntk_inv_freq_d64_a4"]);
}

TEST(Baselines, huggingFaceScalings) {
  const Golden golden("baselines");
  expect_frequencies(frequencies({{"scaling", std::string("linear")}, {"factor", 4.0}}, 64, 1e4, 0, 2048).inverse,
                     golden["hf_linear_f4"]);
  expect_frequencies(frequencies({{"scaling", std::string("dynamic")}, {"factor", 2.0}}, 64, 1e4, 6000, 2048).inverse,
                     golden["hf_dynamic_f2_len6000"]);
  const auto yarn = frequencies({{"scaling", std::string("yarn")}, {"factor", 4.0}}, 64, 1e4, 0, 2048);
  expect_frequencies(yarn.inverse, golden["hf_yarn_f4"]);
  EXPECT_NEAR(yarn.magnitude, golden.number("hf_yarn_attention_factor"), 1e-6);
  const Settings llama3{{"scaling", std::string("llama3")},
                        {"factor", 8.0},
                        {"low_freq_factor", 1.0},
                        {"high_freq_factor", 4.0},
                        {"original_max_position_embeddings", std::int64_t{8192}}};
  expect_frequencies(frequencies(llama3, 64, 5e5, 0, 131072).inverse, golden["hf_llama3"]);
}

// Lengths of another ratio change nothing, as in transformers since 4.56.
TEST(Baselines, yarnTakesItsFactorAsItIsWritten) {
  const Settings stored{{"scaling", std::string("yarn")},
                        {"factor", 4.0},
                        {"original_max_position_embeddings", std::int64_t{2048}},
                        {"max_position_embeddings", std::int64_t{2560}}};
  const auto yarn = frequencies(stored, 64, 1e4, 0, 2560);
  const Golden golden("baselines");
  expect_frequencies(yarn.inverse, golden["hf_yarn_f4"]);
  EXPECT_NEAR(yarn.magnitude, golden.number("hf_yarn_attention_factor"), 1e-6);
}

TEST(Baselines, tapa) {
  const Golden golden("baselines");
  const Settings options{{"alpha", golden.number("tapa_alpha")}, {"theta", golden.number("tapa_theta")}};
  const auto tapa = encoding("tapa", options, shape_of(3, 8));
  const auto prepared = prepare(*tapa, Positions::sequence(9), golden["tapa_q"], golden["tapa_k"]);
  const at::Tensor logits = whole_map(*tapa, prepared).logits;
  EXPECT_CLOSE(logits, golden["tapa_logits"], kBaselinesTolerance);
  EXPECT_CLOSE(causal_softmax(logits), golden["tapa_attn"], kBaselinesTolerance);
  EXPECT_CLOSE(at::matmul(causal_softmax(logits), golden["tapa_v"]), golden["tapa_out"], kBaselinesTolerance);
  Settings linear = options;
  linear.set("phase", std::string("linear"));
  const auto ablation = encoding("tapa", linear, shape_of(3, 8));
  EXPECT_CLOSE(
      whole_map(*ablation, prepare(*ablation, Positions::sequence(9), golden["tapa_q"], golden["tapa_k"])).logits,
      golden["tapa_linear_logits"], kBaselinesTolerance);
}

}  // namespace
}  // namespace locus::test
