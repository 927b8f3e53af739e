// Beam: Qwen3-MoE with norms on both sides, gated attention, and sums whose n-th is x·√((n−1)/n) + f/√n; its layers with
// a window turn, and the others scale their queries by a power of the position.
#include <cmath>
#include <utility>

#include "core/base/shown.h"
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

transformer::ResidualSum nth_sum(std::int64_t number) {
  const auto n = static_cast<double>(number);
  return {std::sqrt((n - 1) / n), 1 / std::sqrt(n)};
}

Status set_beam_positions(const Config& config, Plan& plan) {
  LOCUS_TRY(Config block, rope_block(config));
  if (block.names().empty()) {  // value of the reference class
    LOCUS_TRY(block, Config::parse_json(R"({"sliding_attention": {}, "full_attention": null})", config.file()));
  }
  const std::int64_t depth = plan.spec.depth();
  LOCUS_TRY(const std::int64_t window, config.integer("sliding_window", 512));
  LOCUS_CHECK(
      set_windows(config, plan.spec, window, [&](std::int64_t n) { return (n + 1) % 6 != 0 && n + 1 != depth; }));
  // One RoPE for each type of layer that has fields; null: no positions.
  plan.spec.encodings.clear();
  std::int64_t turning[2] = {-1, -1};
  for (const bool windowed : {false, true}) {
    const char* const type = windowed ? "sliding_attention" : "full_attention";
    if (block.kind(type) == "object") {
      LOCUS_TRY(const Config own, block.object(type));
      LOCUS_TRY(Settings options, rope_options(config, own, 10000.0));
      turning[windowed ? 1 : 0] = static_cast<std::int64_t>(plan.spec.encodings.size());
      plan.spec.encodings.push_back({"rope", std::move(options)});
    } else if (!block.has_null(type)) {
      return bad_input("expected an object or null, found " + block.kind(type), block.context(type));
    }
  }
  plan.spec.each([&](std::int64_t, transformer::LayerSpec& layer) {
    layer.encoding = turning[layer.attention.window > 0 ? 1 : 0];
    if (layer.encoding < 0) {
      layer.attention.tuning = {0.1, 2048, 1, false, true};
    }
  });
  return {};
}

Status finish_beam(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_CHECK(set_beam_positions(config, plan));
  plan.spec.logit_cap = config.has_null("final_logit_softcapping") ? 0 : plan.spec.logit_cap;
  std::vector<std::string> types;
  if (config.has("mlp_layer_types")) {
    LOCUS_TRY(types, config.texts("mlp_layer_types"));
    LOCUS_CHECK(check_entries(types.size(), plan.spec.depth(), config.context("mlp_layer_types")));
  }
  for (const std::string& type : types) {
    if (type != "dense" && type != "sparse") {
      return unsupported("expected dense or sparse, found " + shown(type), config.context("mlp_layer_types"));
    }
  }
  LOCUS_TRY(const std::int64_t dense_inner, config.integer("intermediate_size", 20480));
  constexpr std::int64_t kDense = 3;  // first layers, where no list says which
  plan.spec.each([&](std::int64_t n, transformer::LayerSpec& layer) {
    if (types.empty() ? n < kDense : types[static_cast<std::size_t>(n)] == "dense") {
      layer.feed_forward.experts = {};
      layer.feed_forward.inner = dense_inner;
    }
    layer.attention_sum = nth_sum(2 * n + 2);
    layer.feed_forward_sum = nth_sum(2 * n + 3);
  });
  return {};
}

}  // namespace

const Family kBeam = [] {
  Family family = llama("beam");
  family.fixed = [](Draft& draft) {
    draft.layer.attention.norm.form = transformer::QueryNormForm::kHead;
    draft.layer.attention.gate = {transformer::GateForm::kChannel, false, true};
    draft.layer.attention_norm = draft.layer.feed_forward_norm = transformer::NormPlace::kBoth;
    draft.layer.feed_forward.experts.router = transformer::Router::kSigmoid;
    draft.layer.feed_forward.experts.correction = true;
  };
  family.set({{"head_dim"}, slot::head_width, std::int64_t{128}});
  family.set({{"moe_intermediate_size"}, slot::inner, std::int64_t{2560}});
  family.set({{"num_experts", "num_local_experts"}, slot::experts, std::int64_t{256}});
  family.set({{"num_experts_per_tok"}, slot::chosen_experts, std::int64_t{8}});
  family.set({{"norm_topk_prob"}, slot::normalised_experts, true});
  family.set({{"n_group"}, slot::expert_groups, std::int64_t{8}});
  family.set({{"topk_group"}, slot::chosen_groups, std::int64_t{4}});
  family.set({{"routed_scaling_factor"}, slot::expert_factor, 2.5});
  family.set({{"final_logit_softcapping"}, slot::logit_cap, 30.0});
  family.finish = finish_beam;
  family.rename({"layers.N.attention_after_norm", "layers.N.post_attention_layernorm"});
  family.rename({"layers.N.feed_forward_norm", "layers.N.pre_feedforward_layernorm"});
  family.rename({"layers.N.feed_forward_after_norm", "layers.N.post_feedforward_layernorm"});
  family.names.push_back({"layers.N.attention.{query,key}_norm", "layers.N.self_attn.{q,k}_norm"});
  family.names.push_back({"layers.N.attention.gate.weight", "layers.N.self_attn.gate_proj.weight"});
  family.names.push_back({"layers.N.attention.gate.bias", "layers.N.self_attn.gate_bias"});
  family.names.push_back({"layers.N.feed_forward.router", "layers.N.mlp.gate"});
  family.names.push_back({"layers.N.feed_forward.correction", "layers.N.mlp.gate.e_score_correction_bias"});
  family.names.push_back(
      {"layers.N.feed_forward.experts.J.{gate,up,down}", "layers.N.mlp.experts.J.{gate,up,down}_proj"});
  return family;
}();

}  // namespace locus::families
