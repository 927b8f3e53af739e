// DeepSeek V2 and V3: latent attention with a decoupled rotary part, and experts after the first layers; V3.2 and GLM 5
// with an index that chooses the keys of long texts. Mistral 4 is of
// their kind, with probabilities in groups and queries that grow with their position; Youtu has no experts.
#include <algorithm>
#include <cmath>

#include "core/base/shown.h"
#include "models/families/engine/computed.h"
#include "models/families/engine/layer_kinds.h"
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

Family latent_llama(std::string_view name) {
  Family family = llama(name);
  // head_dim and num_key_value_heads have another meaning here, or none.
  std::erase_if(family.fields, [](const Field& field) {
    return field.names.front() == "num_key_value_heads" || field.names.front() == "head_dim";
  });
  family.set({{"qk_rope_head_dim"}, slot::rotated_width});
  family.set({{"qk_nope_head_dim"}, slot::plain_width});
  family.set({{"v_head_dim"}, slot::value_width});
  family.set({{"kv_lora_rank"}, slot::latent_rank});
  family.set({{"q_lora_rank"}, slot::latent_query_rank, std::int64_t{0}});
  family.names.push_back({"layers.N.attention.{query_down,query_latent_norm,query_up}",
                          "layers.N.self_attn.{q_a_proj,q_a_layernorm,q_b_proj}"});
  family.names.push_back({"layers.N.attention.{latent_down,latent_norm,latent_up}",
                          "layers.N.self_attn.{kv_a_proj_with_mqa,kv_a_layernorm,kv_b_proj}"});
  return family;
}

void name_stacked_experts(Family& family) {
  const std::string to = "layers.N.feed_forward.experts.J.";
  const std::string from = "layers.N.mlp.experts.";
  family.names.push_back({to + "gate.weight", from + "gate_up_proj", {}, {.index = 0, .of = 2, .stacked = true}});
  family.names.push_back({to + "up.weight", from + "gate_up_proj", {}, {.index = 1, .of = 2, .stacked = true}});
  family.names.push_back({to + "down.weight", from + "down_proj", {}, {.stacked = true}});
}

Status join_latent(const CheckpointFiles& checkpoint, Plan& plan) {
  std::vector<OfLatent> joined;
  for (std::int64_t n = 0; n < plan.spec.depth() && checkpoint.tensors != nullptr; ++n) {
    const std::string prefix = layer_prefix("model.layers.", n) + "self_attn.";
    if (checkpoint.find(prefix + "k_b_proj.weight") != nullptr) {
      joined.push_back({prefix + "kv_b_proj.weight", prefix + "k_b_proj.weight", prefix + "v_b_proj.weight"});
    }
  }
  if (!joined.empty()) {
    LOCUS_CHECK(compute_latent(checkpoint, joined, plan));
    plan.skipped.insert(plan.skipped.end(), {"attn_k_b.weight", "attn_v_b.weight"});
  }
  return {};
}

namespace {

using transformer::LayerSpec;

// Checks a field that repeats a derived value.
Status check_repeated(const Config& config, const char* field, std::int64_t follows) {
  LOCUS_TRY(const std::int64_t found, config.integer(field, follows));
  if (found != follows) {
    return unsupported("expected " + std::to_string(follows) + ", as in other fields, found " + std::to_string(found),
                       config.context(field));
  }
  return {};
}

Status finish_attention(const Config& config, Plan& plan, bool interleaved) {
  LOCUS_TRY(const double factor, rope_score_factor(config));
  const transformer::AttentionSpec& attention = plan.spec.first().attention;
  LOCUS_CHECK(check_repeated(config, "num_key_value_heads", attention.heads));
  LOCUS_CHECK(check_repeated(config, "qk_head_dim", attention.head_width));
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
  LOCUS_CHECK(check_repeated(config, "head_dim", plan.spec.first().attention.latent.rotated));
  LOCUS_CHECK(finish_attention(config, plan, true));
  LOCUS_CHECK(join_latent(checkpoint, plan));
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

// Latent attention whose pairs of channels the config names.
Status finish_youtu(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_CHECK(check_repeated(config, "head_dim", plan.spec.first().attention.latent.rotated));
  LOCUS_TRY(const bool interleaved, config.boolean("rope_interleave", true));
  LOCUS_CHECK(join_latent(checkpoint, plan));
  return finish_attention(config, plan, interleaved);
}

Status finish_mistral4(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_CHECK(check_repeated(config, "head_dim", plan.spec.first().attention.head_width));
  LOCUS_TRY(const bool interleaved, config.boolean("rope_interleave", true));
  LOCUS_CHECK(finish_attention(config, plan, interleaved));
  LOCUS_TRY(const Config block, rope_block(config));
  LOCUS_TRY(const double gain, block.number("llama_4_scaling_beta"));
  LOCUS_TRY(const double length, block.number("original_max_position_embeddings"));
  plan.spec.each([&](std::int64_t, LayerSpec& layer) { layer.attention.tuning = {gain, length, 0}; });
  return finish_experts(config, plan);
}

// An index chooses the keys of each query, index_topk at most: all of a text that is no longer.
Status finish_indexed(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_CHECK(check_fixed_fields(
      config, {{"scoring_func", {"sigmoid"}}, {"topk_method", {"noaux_tc"}}, {"rope_interleave", {true}}}));
  LOCUS_CHECK(finish_youtu(checkpoint, plan));
  LOCUS_TRY(plan.spec.all_seen, integer_or(config, "index_topk", 2048));
  LOCUS_TRY(const std::vector<bool> indexed,
            layers_of_type(config, "layer_types", plan.spec.depth(), "indexed_attention", "indexed_attention",
                           [](std::int64_t) { return true; }));
  for (const char* const part : {"wq_b.weight", "wk.weight", "k_norm.weight", "k_norm.bias", "weights_proj.weight",
                                 "attn_q_b.weight", "attn_k.weight", "proj.weight"}) {  // the last three of GGUF files
    plan.skipped.push_back("indexer." + std::string(part));
  }
  LOCUS_CHECK(set_dense_layers(config, plan, 3, "n_shared_experts"));
  return skip_further_layers(config, 0, plan);
}

Status finish_v3(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_CHECK(check_fixed_fields(config, {{"scoring_func", {"sigmoid"}}, {"topk_method", {"noaux_tc"}}}));
  LOCUS_CHECK(finish_youtu(checkpoint, plan));
  LOCUS_CHECK(skip_further_layers(config, 0, plan));
  return finish_experts(config, plan);
}

Family deepseek(std::string_view name) {
  Family family = latent_llama(name);
  family.set({{"moe_intermediate_size"}, slot::inner});
  family.set({{"n_routed_experts", "num_local_experts"}, slot::experts});
  family.set({{"num_experts_per_tok"}, slot::chosen_experts});
  family.set({{"n_group"}, slot::expert_groups, std::int64_t{1}});
  family.set({{"topk_group"}, slot::chosen_groups, std::int64_t{1}});
  family.set({{"routed_scaling_factor"}, slot::expert_factor, 1.0});
  family.names.push_back(
      {"layers.N.feed_forward.experts.J.{gate,up,down}", "layers.N.mlp.experts.J.{gate,up,down}_proj"});
  family.names.push_back(
      {"layers.N.feed_forward.shared.{gate,up,down}", "layers.N.mlp.shared_experts.{gate,up,down}_proj"});
  family.names.push_back({"layers.N.feed_forward.router", "layers.N.mlp.gate"});
  family.names.push_back({"layers.N.feed_forward.correction", "layers.N.mlp.gate.e_score_correction_bias"});
  return family;
}

// V3 with an index.
Family indexed(std::string_view name, std::int64_t groups, std::int64_t chosen_groups) {
  Family family = deepseek(name);
  family.fixed = [](Draft& draft) {
    draft.layer.feed_forward.experts.router = transformer::Router::kSigmoid;
    draft.layer.feed_forward.experts.correction = true;
  };
  family.set({{"norm_topk_prob"}, slot::normalised_experts, true});
  family.set({{"n_group"}, slot::expert_groups, groups});
  family.set({{"topk_group"}, slot::chosen_groups, chosen_groups});
  family.set({{"routed_scaling_factor"}, slot::expert_factor, 2.5});
  family.harmless = {"index_head_dim",  "index_n_heads",          "indexer_types",
                     "index_topk_freq", "index_skip_topk_offset", "index_topk_pattern"};
  family.finish = finish_indexed;
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

const Family kDeepseekV32 = indexed("deepseek_v32", 8, 4);

const Family kGlmMoeDsa = [] {
  Family family = indexed("glm_moe_dsa", 1, 1);
  family.set({{"rms_norm_eps"}, slot::norm_eps, 1e-5});
  return family;
}();

const Family kMistral4 = [] {
  Family family = deepseek("mistral4");
  family.fixed = [](Draft& draft) { draft.layer.feed_forward.experts.ranked_by_two = true; };
  family.set({{"norm_topk_prob"}, slot::normalised_experts, true});
  family.harmless = {"rope_parameters.max_position_embeddings", "rope_scaling.max_position_embeddings"};
  family.finish = finish_mistral4;
  name_stacked_experts(family);
  return family;
}();

const Family kYoutu = [] {
  Family family = latent_llama("youtu");
  family.set({{"tie_word_embeddings"}, slot::tied, true});
  family.finish = finish_youtu;
  return family;
}();

}  // namespace locus::families
