// Cohere (Command R) and Cohere 2: parallel branches after one LayerNorm without bias, interleaved RoPE, scaled logits.
// In Cohere 2 most layers have a window, and the others no positions; some models of it have experts.
#include "core/base/shown.h"
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

Family cohere(std::string_view name) {
  Family family = llama(name);
  family.fixed = [](Draft& draft) {
    draft.spec.norm = transformer::Norm::kLayer;
    draft.spec.norm_bias = false;
    draft.layer.parallel = draft.layer.shared_norm = true;
  };
  family.set({{"layer_norm_eps"}, slot::norm_eps, 1e-5});
  family.set({{"logit_scale"}, slot::logit_scale, 0.0625});
  family.set({{"tie_word_embeddings"}, slot::tied, true});
  return family;
}

Status finish_cohere(const CheckpointFiles& checkpoint, Plan& plan) {
  LOCUS_CHECK(set_rope(checkpoint.config, plan, 500000.0, "interleaved"));
  LOCUS_TRY(const bool normed, checkpoint.config.boolean("use_qk_norm", false));
  plan.spec.each([&](std::int64_t, transformer::LayerSpec& layer) {
    if (normed) {
      layer.attention.norm = {transformer::QueryNormForm::kOwn, transformer::Norm::kLayer, true, false,
                              plan.spec.norm_eps};
    }
  });
  return {};
}

// The first `prefix` layers have a pattern of their own.
Status finish2(const Config& config, Plan& plan, std::int64_t prefix, std::int64_t prefix_pattern) {
  LOCUS_CHECK(set_rope(config, plan, 10000.0, "interleaved"));
  LOCUS_TRY(const std::int64_t window, config.integer("sliding_window", 4096));
  LOCUS_TRY(const std::int64_t pattern, config.integer("sliding_window_pattern", 4));
  if (pattern < 1 || window < 1) {
    return bad_input("expected a pattern and a window of at least 1, found " + std::to_string(pattern) + " and " +
                         std::to_string(window),
                     config.file());
  }
  LOCUS_CHECK(set_windows(config, plan.spec, window, [&](std::int64_t n) {
    return n < prefix ? (n + 1) % prefix_pattern != 0 : (n - prefix + 1) % pattern != 0;
  }));
  plan.spec.each(
      [](std::int64_t, transformer::LayerSpec& layer) { layer.encoding = layer.attention.window > 0 ? 0 : -1; });
  return {};
}

// The layers without experts; by mlp_layer_types, or the first ones.
Result<std::vector<bool>> dense_layers(const Config& config, std::int64_t layers) {
  LOCUS_TRY(const std::int64_t first, config.integer("first_k_dense_replace", 0));
  std::vector<bool> dense;
  for (std::int64_t n = 0; n < layers; ++n) {
    dense.push_back(n < first);
  }
  if (!config.has("mlp_layer_types")) {
    return dense;
  }
  LOCUS_TRY(const std::vector<std::string> types, config.texts("mlp_layer_types"));
  LOCUS_CHECK(check_entries(types.size(), layers, config.context("mlp_layer_types")));
  for (std::size_t n = 0; n < types.size(); ++n) {
    if (types[n] != "dense" && types[n] != "sparse") {
      return unsupported("expected dense or sparse, found " + shown(types[n]), config.context("mlp_layer_types"));
    }
    dense[n] = types[n] == "dense";
  }
  return dense;
}

Status finish_cohere2_moe(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_TRY(const std::vector<bool> dense, dense_layers(config, plan.spec.depth()));
  LOCUS_TRY(const std::int64_t first, config.integer("first_k_dense_replace", 0));
  LOCUS_TRY(const std::int64_t prefix_pattern, integer_or(config, "prefix_dense_sliding_window_pattern", 1));
  LOCUS_CHECK(finish2(config, plan, first, prefix_pattern));
  LOCUS_TRY(const std::string selection, config.text("expert_selection_fn", "softmax"));
  LOCUS_TRY(const std::string combination, config.text("shared_expert_combination_strategy", "average"));
  LOCUS_TRY(const bool normalised, config.boolean("norm_topk_prob", true));
  LOCUS_TRY(const std::int64_t shared, integer_or(config, "num_shared_experts", 0, 0));
  LOCUS_CHECK(check_fixed_fields(config, {{"expert_selection_fn", {"softmax", "sigmoid"}},
                                          {"shared_expert_combination_strategy", {"average", "sum"}}}));
  if (config.has("rms_norm_eps")) {
    plan.spec.norm = transformer::Norm::kRms;
    LOCUS_TRY(plan.spec.norm_eps, config.number("rms_norm_eps"));
  }
  LOCUS_TRY(const std::int64_t dense_inner, config.integer("prefix_dense_intermediate_size", 0));
  plan.spec.each([&](std::int64_t n, transformer::LayerSpec& layer) {
    transformer::Experts& experts = layer.feed_forward.experts;
    experts.router = selection == "sigmoid" ? transformer::Router::kSigmoid : transformer::Router::kTopSoftmax;
    experts.normalised = normalised && selection == "sigmoid";
    experts.shared = shared * layer.feed_forward.inner;
    experts.averaged = combination == "average";
    if (dense[static_cast<std::size_t>(n)]) {
      experts = {};
      layer.feed_forward.inner = dense_inner > 0 ? dense_inner : layer.feed_forward.inner;
      layer.encoding = prefix_pattern == 1 ? 0 : layer.encoding;  // turns, with a window or without
    }
  });
  return {};
}

}  // namespace

const Family kCohere = [] {
  Family family = cohere("cohere");
  family.finish = finish_cohere;
  // A name row for one tensor per head.
  const Piece row{.stacked = true};
  family.names.push_back(
      {"layers.N.attention.{query,key}_norm.J.weight", "layers.N.self_attn.{q,k}_norm.weight", {}, row});
  return family;
}();

const Family kCohere2 = [] {
  Family family = cohere("cohere2");
  family.refused = {"use_qk_norm"};
  family.fixed_fields = {{"position_embedding_type", {"rope_gptj"}},
                         {"rotary_pct", {1.0}},
                         {"use_gated_activation", {true}},
                         {"use_parallel_block", {true}},
                         {"order_of_interleaved_layers", {"local_attn_first"}}};
  family.finish = [](const CheckpointFiles& checkpoint, Plan& plan) { return finish2(checkpoint.config, plan, 0, 1); };
  return family;
}();

const Family kCohere2Moe = [] {
  Family family = cohere("cohere2_moe");
  std::erase_if(family.fields, [](const Field& field) { return field.names.front() == "rms_norm_eps"; });
  family.set({{"head_dim"}, slot::head_width, std::int64_t{128}});
  family.set({{"num_experts", "num_local_experts"}, slot::experts, std::int64_t{8}});
  family.set({{"num_experts_per_tok"}, slot::chosen_experts, std::int64_t{2}});
  family.fixed_fields = {{"rope_scaling"}};  // the reference class reads rope_parameters alone
  family.finish = finish_cohere2_moe;
  family.names.push_back(
      {"layers.N.feed_forward.experts.J.{gate,up,down}", "layers.N.mlp.experts.J.{gate,up,down}_proj"});
  family.names.push_back(
      {"layers.N.feed_forward.shared.{gate,up,down}", "layers.N.mlp.shared_experts.{gate,up,down}_proj"});
  family.names.push_back({"layers.N.feed_forward.router", "layers.N.mlp.gate"});
  return family;
}();

}  // namespace locus::families
