// DeepSeek V2 and V3: latent attention with a decoupled rotary part, and experts after the first layers.
#include <algorithm>
#include <cmath>

#include "core/base/shown.h"
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

using transformer::LayerSpec;

// Checks fields that repeat derived values.
Status check_repeated(const Config& config, const transformer::AttentionSpec& attention) {
  for (const auto& [field, follows] :
       {std::pair{"num_key_value_heads", attention.heads}, std::pair{"qk_head_dim", attention.head_width},
        std::pair{"head_dim", attention.latent.rotated}}) {
    LOCUS_TRY(const std::int64_t found, config.integer(field, follows));
    if (found != follows) {
      return unsupported("expected " + std::to_string(follows) + ", as in other fields, found " + std::to_string(found),
                         config.context(field));
    }
  }
  return {};
}

// The factor of all scores that mscale_all_dim sets, in addition to the magnitude of cos and sin.
Result<double> score_factor(const Config& config) {
  LOCUS_TRY(const Config block, rope_block(config));
  LOCUS_TRY(const std::string type, block.text(spelled(block, {"rope_type", "type"}), "default"));
  LOCUS_TRY(const double mscale, block.number("mscale_all_dim", 0.0));
  LOCUS_TRY(const double factor, block.number("factor", 1.0));
  if (type == "default" || mscale == 0 || factor <= 1) {
    return 1.0;
  }
  return std::pow(0.1 * mscale * std::log(factor) + 1, 2);
}

Status finish_attention(const Config& config, Plan& plan, bool interleaved) {
  LOCUS_TRY(const double factor, score_factor(config));
  const transformer::AttentionSpec& attention = plan.spec.first().attention;
  LOCUS_CHECK(check_repeated(config, attention));
  const auto width = static_cast<double>(attention.head_width);
  LOCUS_CHECK(set_rope(config, plan, 10000.0, interleaved ? "interleaved" : "half",
                       static_cast<double>(attention.latent.rotated) / width));
  const double scale = factor == 1 ? 0 : factor / std::sqrt(width);
  plan.spec.each([&](std::int64_t, LayerSpec& layer) {
    layer.attention.scale = scale;
    layer.attention.query_bias = layer.attention.query_bias && layer.attention.latent.query_rank > 0;
  });
  return {};
}

Status finish_experts(const Config& config, Plan& plan) {
  LOCUS_CHECK(check_fixed_fields(config, {{"moe_layer_freq", {1.0}}}));
  LOCUS_TRY(const std::int64_t dense, config.integer("first_k_dense_replace", 0));
  LOCUS_TRY(const std::int64_t dense_inner, config.integer("intermediate_size"));
  LOCUS_TRY(const std::int64_t shared, integer_or(config, "n_shared_experts", 0, 0));
  plan.spec.each([&](std::int64_t n, LayerSpec& layer) {
    layer.feed_forward.experts.shared = shared * layer.feed_forward.inner;
    if (n < dense) {
      layer.feed_forward.experts = {};
      layer.feed_forward.inner = dense_inner;
    }
  });
  return {};
}

Status finish_v2(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_CHECK(finish_attention(config, plan, true));
  LOCUS_TRY(const std::string method, config.text("topk_method", "greedy"));
  LOCUS_TRY(const bool normalised, config.boolean("norm_topk_prob", false));
  LOCUS_CHECK(check_fixed_fields(config, {{"scoring_func", {"softmax"}}}));
  if ((method != "greedy" && method != "group_limited_greedy") || normalised) {
    return unsupported(
        "expected topk_method greedy or group_limited_greedy without norm_topk_prob, found " + shown(method),
        config.file());
  }
  plan.spec.each([&](std::int64_t, LayerSpec& layer) {
    if (method == "greedy") {
      layer.feed_forward.experts.groups = layer.feed_forward.experts.chosen_groups = 1;
    }
  });
  return finish_experts(config, plan);
}

Status finish_v3(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_CHECK(check_fixed_fields(config, {{"scoring_func", {"sigmoid"}}, {"topk_method", {"noaux_tc"}}}));
  LOCUS_TRY(const bool interleaved, config.boolean("rope_interleave", true));
  LOCUS_CHECK(finish_attention(config, plan, interleaved));
  // Layers after the last one predict further tokens; they are not run.
  LOCUS_TRY(const std::int64_t further, integer_or(config, "num_nextn_predict_layers", 0, 0));
  for (std::int64_t n = 0; n < std::min<std::int64_t>(further, 16); ++n) {
    plan.skipped.push_back(layer_prefix("model.layers.", plan.spec.depth() + n) + "*");
  }
  return finish_experts(config, plan);
}

Family deepseek(std::string_view name) {
  Family family = llama(name);
  // head_dim and num_key_value_heads have another meaning here, or none.
  std::erase_if(family.fields, [](const Field& field) {
    return field.names.front() == "num_key_value_heads" || field.names.front() == "head_dim";
  });
  family.set({{"qk_rope_head_dim"}, slot::rotated_width});
  family.set({{"qk_nope_head_dim"}, slot::plain_width});
  family.set({{"v_head_dim"}, slot::value_width});
  family.set({{"moe_intermediate_size"}, slot::inner});
  family.set({{"n_routed_experts", "num_local_experts"}, slot::experts});
  family.set({{"num_experts_per_tok"}, slot::chosen_experts});
  family.set({{"n_group"}, slot::expert_groups, std::int64_t{1}});
  family.set({{"topk_group"}, slot::chosen_groups, std::int64_t{1}});
  family.set({{"routed_scaling_factor"}, slot::expert_factor, 1.0});
  family.set({{"kv_lora_rank"}, slot::latent_rank});
  family.set({{"q_lora_rank"}, slot::latent_query_rank, std::int64_t{0}});
  family.names.push_back({"layers.N.attention.{query_down,query_latent_norm,query_up}",
                          "layers.N.self_attn.{q_a_proj,q_a_layernorm,q_b_proj}"});
  family.names.push_back({"layers.N.attention.{latent_down,latent_norm,latent_up}",
                          "layers.N.self_attn.{kv_a_proj_with_mqa,kv_a_layernorm,kv_b_proj}"});
  family.names.push_back(
      {"layers.N.feed_forward.experts.J.{gate,up,down}", "layers.N.mlp.experts.J.{gate,up,down}_proj"});
  family.names.push_back(
      {"layers.N.feed_forward.shared.{gate,up,down}", "layers.N.mlp.shared_experts.{gate,up,down}_proj"});
  family.names.push_back({"layers.N.feed_forward.router", "layers.N.mlp.gate"});
  family.names.push_back({"layers.N.feed_forward.correction", "layers.N.mlp.gate.e_score_correction_bias"});
  return family;
}

}  // namespace

const Family kDeepseekV2 = [] {
  Family family = deepseek("deepseek_v2");
  family.finish = finish_v2;
  return family;
}();

const Family kDeepseekV3 = [] {
  Family family = deepseek("deepseek_v3");
  family.fixed = [](Draft& draft) {
    draft.layer.feed_forward.experts.router = transformer::Router::kSigmoid;
    draft.layer.feed_forward.experts.correction = true;
  };
  family.set({{"norm_topk_prob"}, slot::normalised_experts, true});
  family.finish = finish_v3;
  return family;
}();

}  // namespace locus::families
