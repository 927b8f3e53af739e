// GGUF architectures of attention in every layer that are read, not written, and what their files say in other words.
#include <cmath>

#include "models/families/gguf_hybrids.h"

namespace locus::families {

namespace {

using Stems = GgufStems;

const Stems kQwenExperts = joined_stems({Stems{{"ffn_gate_inp", "mlp.gate"},
                                               {"ffn_gate_inp_shexp", "mlp.shared_expert_gate"},
                                               {"ffn_gate_shexp", "mlp.shared_expert.gate_proj"},
                                               {"ffn_up_shexp", "mlp.shared_expert.up_proj"},
                                               {"ffn_down_shexp", "mlp.shared_expert.down_proj"}},
                                         routed_experts()});
const Stems kMixtralExperts{{"ffn_gate_inp", "block_sparse_moe.gate"},
                            {"ffn_gate_exps", "block_sparse_moe.experts.J.w1"},
                            {"ffn_up_exps", "block_sparse_moe.experts.J.w3"},
                            {"ffn_down_exps", "block_sparse_moe.experts.J.w2"}};
const Stems kGptOssStems = joined_stems({Stems{{"post_attention_norm", "post_attention_layernorm"},
                                               {"attn_sinks.weight", "self_attn.sinks"},
                                               {"ffn_gate_inp", "mlp.router"}},
                                         routed_experts()});
const Stems kGlmExperts = joined_stems({Stems{{"post_attention_norm", "post_attention_layernorm"},
                                              {"ffn_gate_inp", "mlp.gate"},
                                              {"exp_probs_b.bias", "mlp.gate.e_score_correction_bias"}},
                                        shared_experts(), routed_experts()});
const Stems kErnieExperts =
    joined_stems({Stems{{"ffn_gate_inp", "mlp.gate"}, {"exp_probs_b.bias", "mlp.moe_statics.e_score_correction_bias"}},
                  shared_experts(), routed_experts()});
const Stems kLlama4Stems{{"ffn_gate", "feed_forward.gate_proj"},
                         {"ffn_up", "feed_forward.up_proj"},
                         {"ffn_down", "feed_forward.down_proj"},
                         {"ffn_gate_inp", "feed_forward.router"},
                         {"ffn_gate_shexp", "feed_forward.shared_expert.gate_proj"},
                         {"ffn_up_shexp", "feed_forward.shared_expert.up_proj"},
                         {"ffn_down_shexp", "feed_forward.shared_expert.down_proj"},
                         {"ffn_gate_exps", "feed_forward.experts.J.gate_proj"},
                         {"ffn_up_exps", "feed_forward.experts.J.up_proj"},
                         {"ffn_down_exps", "feed_forward.experts.J.down_proj"}};
const Stems kGraniteExperts{{"ffn_gate_inp", "block_sparse_moe.router.layer"},
                            {"ffn_gate_exps", "block_sparse_moe.experts.J.gate_proj"},
                            {"ffn_up_exps", "block_sparse_moe.experts.J.up_proj"},
                            {"ffn_down_exps", "block_sparse_moe.experts.J.down_proj"},
                            {"ffn_gate_shexp", "shared_mlp.gate_proj"},
                            {"ffn_up_shexp", "shared_mlp.up_proj"},
                            {"ffn_down_shexp", "shared_mlp.output_linear"}};
const Stems kExaoneMoeExperts =
    joined_stems({Stems{{"exp_probs_b.bias", "mlp.e_score_correction_bias"}, {"ffn_gate_inp", "mlp.gate"}},
                  shared_experts(), routed_experts()});
const Stems kDotsExperts =
    joined_stems({Stems{{"exp_probs_b.bias", "mlp.gate.e_score_correction_bias"}, {"ffn_gate_inp", "mlp.gate"}},
                  shared_experts(), routed_experts()});
const Stems kHunyuanExperts = joined_stems({Stems{{"attn_q_norm", "self_attn.query_layernorm"},
                                                  {"attn_k_norm", "self_attn.key_layernorm"},
                                                  {"ffn_gate_inp", "mlp.gate.wg"},
                                                  {"ffn_gate_shexp", "mlp.shared_mlp.gate_proj"},
                                                  {"ffn_up_shexp", "mlp.shared_mlp.up_proj"},
                                                  {"ffn_down_shexp", "mlp.shared_mlp.down_proj"}},
                                            routed_experts()});
const Stems kHyV3Experts = joined_stems({Stems{{"exp_probs_b", "mlp.expert_bias"},
                                               {"exp_probs_b.bias", "mlp.expert_bias"},
                                               {"ffn_gate_inp", "mlp.router.gate"},
                                               {"ffn_gate_shexp", "mlp.shared_mlp.gate_proj"},
                                               {"ffn_up_shexp", "mlp.shared_mlp.up_proj"},
                                               {"ffn_down_shexp", "mlp.shared_mlp.down_proj"}},
                                         routed_experts()});
const Stems kTrinityStems = joined_stems({Stems{{"post_attention_norm", "post_attention_layernorm"},
                                                {"ffn_norm", "pre_mlp_layernorm"},
                                                {"post_ffw_norm", "post_mlp_layernorm"},
                                                {"attn_gate", "self_attn.gate_proj"},
                                                {"exp_probs_b.bias", "mlp.expert_bias"},
                                                {"ffn_gate_inp", "mlp.router.gate"}},
                                          shared_experts(), routed_experts()});
const Stems kMiniMaxExperts{{"exp_probs_b.bias", "block_sparse_moe.e_score_correction_bias"},
                            {"ffn_gate_inp", "block_sparse_moe.gate"},
                            {"ffn_gate_exps", "block_sparse_moe.experts.J.w1"},
                            {"ffn_up_exps", "block_sparse_moe.experts.J.w3"},
                            {"ffn_down_exps", "block_sparse_moe.experts.J.w2"}};
const Stems kExaoneStems{{"attn_norm", "ln_1"},
                         {"ffn_norm", "ln_2"},
                         {"attn_q", "attn.attention.q_proj"},
                         {"attn_k", "attn.attention.k_proj"},
                         {"attn_v", "attn.attention.v_proj"},
                         {"attn_output", "attn.attention.out_proj"},
                         {"ffn_gate", "mlp.c_fc_0"},
                         {"ffn_up", "mlp.c_fc_1"},
                         {"ffn_down", "mlp.c_proj"}};
const Stems kGlmStems{{"ffn_up", "mlp.gate_up_proj"}};
const Stems kPhiStems{{"attn_output", "self_attn.dense"}, {"ffn_up", "mlp.fc1"}, {"ffn_down", "mlp.fc2"}};
const Stems kNormsBehind{{"post_attention_norm", "post_attention_layernorm"},
                         {"post_ffw_norm", "post_feedforward_layernorm"}};
const Stems kGlm4Stems{{"post_attention_norm", "post_self_attn_layernorm"},
                       {"post_ffw_norm", "post_mlp_layernorm"},
                       {"ffn_up", "mlp.gate_up_proj"}};
const Stems kStarcoderStems{{"ffn_up", "mlp.c_fc"}, {"ffn_down", "mlp.c_proj"}};
const Stems kSecondNorm{{"post_attention_norm", "post_attention_layernorm"}};

// The families' other words for a norm's constant.
void rename_eps(GgufFields& fields, const char* name) {
  fields[name] = fields["rms_norm_eps"];
  fields.erase("rms_norm_eps");
}

bool has_tensor(const GgufReading& reading, std::string_view name) {
  return reading.first(name) != nullptr;
}

Status refuse_window(const GgufReading& reading) {
  LOCUS_TRY(const std::int64_t window, reading.integer("attention.sliding_window", 0));
  return window == 0 ? Status()
                     : Status(unsupported("expected attention without a window, found " + std::to_string(window),
                                          reading.context("attention.sliding_window")));
}

Status add_mixtral(const GgufReading& reading, GgufFields& fields) {
  return add_gguf_experts(reading, fields, "num_local_experts", "num_experts_per_tok", "");
}
bool has_experts(const GgufReading& reading) {
  const Result<std::int64_t> experts = reading.integer("expert_count", 0);
  return experts.ok() && *experts > 0;
}

Status add_qwen2_moe(const GgufReading& reading, GgufFields& fields) {
  LOCUS_CHECK(add_gguf_experts(reading, fields, "num_experts", "num_experts_per_tok", "moe_intermediate_size"));
  LOCUS_TRY(fields["shared_expert_intermediate_size"], reading.integer("expert_shared_feed_forward_length"));
  LOCUS_TRY(fields["norm_topk_prob"], reading.boolean("expert_weights_norm", false));
  fields["decoder_sparse_step"] = 1;
  fields["mlp_only_layers"] = GgufFields::array();
  return {};
}

Status add_qwen3_moe(const GgufReading& reading, GgufFields& fields) {
  LOCUS_CHECK(add_gguf_experts(reading, fields, "num_experts", "num_experts_per_tok", "moe_intermediate_size"));
  LOCUS_TRY(fields["norm_topk_prob"], reading.boolean("expert_weights_norm", true));
  fields["decoder_sparse_step"] = 1;
  fields["mlp_only_layers"] = GgufFields::array();
  return {};
}

Status add_olmoe(const GgufReading& reading, GgufFields& fields) {
  LOCUS_TRY(fields["norm_topk_prob"], reading.boolean("expert_weights_norm", false));
  LOCUS_TRY(const double clip, reading.number("attention.clamp_kqv", 0.0));
  if (clip > 0) {
    fields["clip_qkv"] = clip;
  }
  return add_gguf_experts(reading, fields, "num_experts", "num_experts_per_tok", "");
}

Status add_gpt_oss(const GgufReading& reading, GgufFields& fields) {
  LOCUS_CHECK(add_gguf_experts(reading, fields, "num_local_experts", "num_experts_per_tok", "intermediate_size"));
  LOCUS_TRY(fields["sliding_window"], reading.integer("attention.sliding_window"));
  return {};
}

Status add_glm4_moe(const GgufReading& reading, GgufFields& fields) {
  LOCUS_CHECK(add_gguf_experts(reading, fields, "n_routed_experts", "num_experts_per_tok", "moe_intermediate_size"));
  LOCUS_CHECK(add_gguf_router(reading, fields, "norm_topk_prob", "routed_scaling_factor"));
  LOCUS_TRY(fields["n_shared_experts"], reading.integer("expert_shared_count", 1));
  LOCUS_TRY(fields["first_k_dense_replace"], reading.integer("leading_dense_block_count", 0));
  LOCUS_TRY(fields["n_group"], reading.integer("expert_group_count", 1));
  LOCUS_TRY(fields["topk_group"], reading.integer("expert_group_used_count", 1));
  fields["use_qk_norm"] = has_tensor(reading, "attn_q_norm.weight");
  fields["attention_bias"] = has_tensor(reading, "attn_q.bias");
  return {};
}

Status add_dots1(const GgufReading& reading, GgufFields& fields) {
  LOCUS_CHECK(add_glm4_moe(reading, fields));
  fields.erase("use_qk_norm");
  LOCUS_TRY(fields["norm_topk_prob"], reading.boolean("expert_weights_norm", false));
  return {};
}

Status add_glm4(const GgufReading& reading, GgufFields& fields) {
  fields["attention_bias"] = has_tensor(reading, "attn_q.bias");
  return {};
}

Status add_granite_dense(const GgufReading& reading, GgufFields& fields) {
  const auto width = fields["head_dim"].get<double>();
  LOCUS_TRY(fields["attention_multiplier"], reading.number("attention.scale", 1 / std::sqrt(width)));
  LOCUS_TRY(fields["embedding_multiplier"], reading.number("embedding_scale", 1.0));
  LOCUS_TRY(fields["residual_multiplier"], reading.number("residual_scale", 1.0));
  LOCUS_TRY(fields["logits_scaling"], reading.number("logit_scale", 1.0));
  fields["attention_bias"] = has_tensor(reading, "attn_output.bias");
  fields["mlp_bias"] = has_tensor(reading, "ffn_down.bias");
  return {};
}

Status add_command_r(const GgufReading& reading, GgufFields& fields) {
  rename_eps(fields, "layer_norm_eps");
  LOCUS_TRY(fields["logit_scale"], reading.number("logit_scale"));
  fields["use_qk_norm"] = has_tensor(reading, "attn_q_norm.weight");
  return {};
}

Status add_cohere2(const GgufReading& reading, GgufFields& fields) {
  rename_eps(fields, "layer_norm_eps");
  LOCUS_TRY(fields["logit_scale"], reading.number("logit_scale"));
  LOCUS_TRY(fields["sliding_window"], reading.integer("attention.sliding_window"));
  return {};
}

Status add_exaone4(const GgufReading& reading, GgufFields& fields) {
  LOCUS_TRY(const std::int64_t window, reading.integer("attention.sliding_window", 0));
  if (window > 0) {
    fields["sliding_window"] = window;
    fields["sliding_window_pattern"] = "LLLG";  // of all models that have one
    return reading.check_windows(4);
  }
  return {};
}

Status add_starcoder2(const GgufReading&, GgufFields& fields) {
  rename_eps(fields, "norm_epsilon");
  return {};
}

Status add_stablelm(const GgufReading& reading, GgufFields& fields) {
  rename_eps(fields, "layer_norm_eps");
  if (has_tensor(reading, "attn_q_norm.weight")) {
    return unsupported("expected queries without a norm, found attn_q_norm", reading.context("block_count"));
  }
  LOCUS_TRY(fields["use_parallel_residual"], reading.boolean("use_parallel_residual", true));
  fields["use_qkv_bias"] = has_tensor(reading, "attn_q.bias");
  return {};
}

Status add_nemotron_dense(const GgufReading&, GgufFields& fields) {
  rename_eps(fields, "norm_eps");
  return {};
}

Status add_seed_oss(const GgufReading& reading, GgufFields& fields) {
  fields["attention_bias"] = has_tensor(reading, "attn_q.bias");
  fields["attention_out_bias"] = has_tensor(reading, "attn_output.bias");
  return {};
}

Status add_olmo(const GgufReading& reading, GgufFields& fields) {
  fields.erase("rms_norm_eps");
  LOCUS_TRY(const double clip, reading.number("attention.clamp_kqv", 0.0));
  if (clip > 0) {
    fields["clip_qkv"] = clip;
  }
  return {};
}

bool has_window(const GgufReading& reading) {
  const Result<std::int64_t> window = reading.integer("attention.sliding_window", 0);
  return window.ok() && *window > 0;
}

// The window, the layers that have one, and, where these turn by another base, that base.
Status add_windows(const GgufReading& reading, GgufFields& fields, std::int64_t period) {
  LOCUS_TRY(fields["sliding_window"], reading.integer("attention.sliding_window"));
  LOCUS_TRY(fields["layer_types"], reading.window_types(period));
  return {};
}

// RoPE of windowed layers, which is never scaled.
Status add_near_base(const GgufReading& reading, GgufFields& fields) {
  LOCUS_TRY(const double base, reading.number("rope.freq_base", 10000.0));
  fields["rope_theta"] = base;
  LOCUS_TRY(const double near, reading.number("rope.freq_base_swa", base));
  fields["rope_parameters"]["sliding_attention"] = {{"rope_type", "default"}, {"rope_theta", near}};
  return {};
}

Status add_olmo3(const GgufReading& reading, GgufFields& fields) {
  LOCUS_CHECK(add_windows(reading, fields, 4));
  return add_near_base(reading, fields);
}

Status add_mellum(const GgufReading& reading, GgufFields& fields) {
  LOCUS_CHECK(add_qwen3_moe(reading, fields));
  fields.erase("decoder_sparse_step");
  fields.erase("mlp_only_layers");
  LOCUS_CHECK(add_windows(reading, fields, 1));
  return add_near_base(reading, fields);
}

// The converter writes neither chunks nor the growth of queries, which are those of all published models.
Status add_llama4(const GgufReading& reading, GgufFields& fields) {
  if (reading.has("attention.sliding_window")) {
    return unsupported("expected chunks of 8192 tokens, which files do not state, found a window",
                       reading.context("attention.sliding_window"));
  }
  LOCUS_CHECK(add_gguf_experts(reading, fields, "num_local_experts", "num_experts_per_tok", ""));
  constexpr std::int64_t kWithoutNorm = 128;  // experts of Maverick, whose queries and keys are not normed
  if (fields["num_local_experts"] == 0) {
    return unsupported("expected experts, found none", reading.context("expert_count"));
  }
  fields["use_qk_norm"] = fields["num_local_experts"] != kWithoutNorm;
  LOCUS_TRY(fields["intermediate_size_mlp"], reading.integer("feed_forward_length"));
  LOCUS_TRY(fields["intermediate_size"], reading.integer("expert_feed_forward_length"));
  LOCUS_TRY(fields["interleave_moe_layer_step"], reading.integer("interleave_moe_layer_step"));
  return {};
}

Status add_ernie(const GgufReading& reading, GgufFields& fields) {
  fields["use_bias"] = has_tensor(reading, "attn_q.bias");
  return {};
}

Status add_ernie_moe(const GgufReading& reading, GgufFields& fields) {
  LOCUS_CHECK(add_gguf_experts(reading, fields, "moe_num_experts", "moe_k", "moe_intermediate_size"));
  LOCUS_TRY(fields["moe_layer_interval"], reading.integer("interleave_moe_layer_step", 1));
  LOCUS_TRY(fields["moe_layer_start_index"], reading.integer("leading_dense_block_count", 0));
  LOCUS_TRY(fields["moe_num_shared_experts"], reading.integer("expert_shared_count", 0));
  return {};
}

Status add_granite_moe(const GgufReading& reading, GgufFields& fields) {
  LOCUS_CHECK(add_granite_dense(reading, fields));
  fields.erase("mlp_bias");
  LOCUS_TRY(const std::int64_t shared, reading.integer("expert_shared_feed_forward_length", 0));
  if (shared > 0) {
    fields["model_type"] = "granitemoeshared";
    fields["shared_intermediate_size"] = shared;
  }
  return add_gguf_experts(reading, fields, "num_local_experts", "num_experts_per_tok", "");
}

Status add_glm(const GgufReading& reading, GgufFields& fields) {
  fields["attention_bias"] = has_tensor(reading, "attn_q.bias");
  LOCUS_TRY(fields["rope_theta"], reading.number("rope.freq_base", 10000.0));
  return {};
}

// The feed-forward of each layer, from its tensors.
GgufFields sparse_types(const GgufReading& reading) {
  GgufFields types = GgufFields::array();
  for (const bool sparse : reading.having("ffn_gate_inp.weight")) {
    types.push_back(sparse ? "sparse" : "dense");
  }
  return types;
}

Status add_exaone_moe(const GgufReading& reading, GgufFields& fields) {
  LOCUS_CHECK(add_gguf_experts(reading, fields, "num_experts", "num_experts_per_tok", "moe_intermediate_size"));
  LOCUS_CHECK(add_gguf_router(reading, fields, "norm_topk_prob", "routed_scaling_factor"));
  LOCUS_TRY(fields["num_shared_experts"], reading.integer("expert_shared_count", 1));
  LOCUS_TRY(fields["n_group"], reading.integer("expert_group_count", 1));
  LOCUS_TRY(fields["topk_group"], reading.integer("expert_group_used_count", 1));
  fields["mlp_layer_types"] = sparse_types(reading);
  return add_windows(reading, fields, 4);
}

// Takes norm_topk_prob away from families whose experts' weights are always normalised.
Status expect_normalised(const GgufReading& reading, GgufFields& fields) {
  const bool normalised = fields["norm_topk_prob"].get<bool>();
  fields.erase("norm_topk_prob");
  return normalised ? Status()
                    : Status(unsupported("expected true, found false", reading.context("expert_weights_norm")));
}

Status add_hy_v3(const GgufReading& reading, GgufFields& fields) {
  LOCUS_CHECK(add_gguf_experts(reading, fields, "num_experts", "num_experts_per_tok", "moe_intermediate_size"));
  LOCUS_CHECK(add_gguf_router(reading, fields, "norm_topk_prob", "router_scaling_factor"));
  LOCUS_CHECK(expect_normalised(reading, fields));
  LOCUS_TRY(const std::int64_t shared, reading.integer("expert_shared_feed_forward_length"));
  if (fields["moe_intermediate_size"] <= 0 || shared % fields["moe_intermediate_size"].get<std::int64_t>() != 0) {
    return bad_input("expected a multiple of expert_feed_forward_length, found " + std::to_string(shared),
                     reading.context("expert_shared_feed_forward_length"));
  }
  fields["num_shared_experts"] = shared / fields["moe_intermediate_size"].get<std::int64_t>();
  fields["mlp_layer_types"] = sparse_types(reading);
  return {};
}

// The published models scale the embedding; files do not say it.
Status add_trinity(const GgufReading& reading, GgufFields& fields) {
  LOCUS_CHECK(add_gguf_experts(reading, fields, "num_experts", "num_experts_per_tok", "moe_intermediate_size"));
  LOCUS_CHECK(add_gguf_router(reading, fields, "norm_topk_prob", "route_scale"));
  LOCUS_CHECK(expect_normalised(reading, fields));
  LOCUS_TRY(fields["num_shared_experts"], reading.integer("expert_shared_count", 0));
  LOCUS_TRY(fields["num_dense_layers"], reading.integer("leading_dense_block_count", 0));
  LOCUS_TRY(fields["n_group"], reading.integer("expert_group_count", 1));
  LOCUS_TRY(fields["topk_group"], reading.integer("expert_group_used_count", 1));
  fields["mup_enabled"] = true;
  return add_windows(reading, fields, 4);
}

Status add_cohere2_moe(const GgufReading& reading, GgufFields& fields) {
  if (reading.has("attention.layer_norm_epsilon")) {
    rename_eps(fields, "layer_norm_eps");
  }
  LOCUS_TRY(fields["logit_scale"], reading.number("logit_scale"));
  LOCUS_CHECK(add_gguf_experts(reading, fields, "num_experts", "num_experts_per_tok", "intermediate_size"));
  LOCUS_TRY(const bool sigmoid, has_sigmoid_gate(reading));
  fields["expert_selection_fn"] = sigmoid ? "sigmoid" : "softmax";
  LOCUS_TRY(fields["norm_topk_prob"], reading.boolean("expert_weights_norm", false));
  LOCUS_TRY(fields["num_shared_experts"], reading.integer("expert_shared_count", 0));
  LOCUS_TRY(fields["prefix_dense_intermediate_size"], reading.integer("feed_forward_length"));
  fields["mlp_layer_types"] = sparse_types(reading);
  return add_windows(reading, fields, 4);
}

Status add_jais2(const GgufReading& reading, GgufFields& fields) {
  rename_eps(fields, "layer_norm_eps");
  fields["attention_bias"] = has_tensor(reading, "attn_q.bias");
  fields["mlp_bias"] = has_tensor(reading, "ffn_up.bias");
  LOCUS_TRY(fields["rope_theta"], reading.number("rope.freq_base", 10000.0));
  return {};
}

Status add_phi2(const GgufReading& reading, GgufFields& fields) {
  rename_eps(fields, "layer_norm_eps");
  const formats::TensorInfo* const keys = reading.first("attn_k.weight");
  if (keys == nullptr || keys->shape.size() != 2 || keys->shape.front() % fields["head_dim"].get<std::int64_t>() != 0) {
    return unsupported("expected matrices attn_q, attn_k and attn_v, found none or other ones",
                       reading.context("attention.head_count_kv"));
  }
  fields["num_key_value_heads"] = keys->shape.front() / fields["head_dim"].get<std::int64_t>();
  LOCUS_TRY(fields["rope_theta"], reading.number("rope.freq_base", 10000.0));
  return add_gguf_inner_width(reading, fields, "intermediate_size");
}

Status add_minimax_m2(const GgufReading& reading, GgufFields& fields) {
  LOCUS_CHECK(add_gguf_experts(reading, fields, "num_local_experts", "num_experts_per_tok", "intermediate_size"));
  LOCUS_CHECK(add_gguf_router(reading, fields, "norm_topk_prob", "routed_scaling_factor"));
  LOCUS_CHECK(expect_normalised(reading, fields));
  if (fields["routed_scaling_factor"] != 1.0) {
    return unsupported("expected weights that are not scaled, found a factor", reading.context("expert_weights_scale"));
  }
  fields.erase("routed_scaling_factor");
  LOCUS_TRY(fields["rotary_dim"], reading.integer("rope.dimension_count", fields["head_dim"].get<std::int64_t>()));
  fields.erase("partial_rotary_factor");
  return {};
}

// The base is that which alpha has stretched.
Status add_hunyuan_moe(const GgufReading& reading, GgufFields& fields) {
  LOCUS_CHECK(add_gguf_experts(reading, fields, "num_experts", "moe_topk", "intermediate_size"));
  LOCUS_TRY(const std::int64_t shared, reading.integer("expert_shared_feed_forward_length", 0));
  return shared == fields["intermediate_size"]
             ? Status()
             : Status(unsupported("expected a shared expert as wide as the others, found " + std::to_string(shared),
                                  reading.context("expert_shared_feed_forward_length")));
}

// Queries grow with their position as the file says it, from the length before scaling on.
Status add_mistral3(const GgufReading& reading, GgufFields& fields) {
  LOCUS_CHECK(refuse_window(reading));
  LOCUS_TRY(const double gain, reading.number("attention.temperature_scale", 0.0));
  LOCUS_TRY(const std::int64_t original, reading.integer("rope.scaling.original_context_length", 0));
  if (!(gain > 0)) {
    return unsupported("expected queries that grow with their position, found " + std::to_string(gain),
                       reading.context("attention.temperature_scale"));
  }
  if (original < 1) {
    return bad_input("expected a length above 0, found " + std::to_string(original),
                     reading.context("rope.scaling.original_context_length"));
  }
  fields["llama_4_scaling_beta"] = gain;
  return {};
}

Status add_without_window(const GgufReading& reading, GgufFields&) {
  return refuse_window(reading);
}

Status add_nothing(const GgufReading&, GgufFields&) {
  return {};
}

}  // namespace

const std::vector<GgufHybrid>& gguf_decoders() {
  static const std::vector<GgufHybrid> decoders{
      {{"llama", "mixtral", true, false, kMixtralExperts}, add_mixtral, {}, has_experts},
      {{"qwen2moe", "qwen2_moe", false, false, kQwenExperts}, add_qwen2_moe},
      {{"qwen3moe", "qwen3_moe", false, false, kQwenExperts}, add_qwen3_moe},
      {{"olmoe", "olmoe", false, false, kQwenExperts}, add_olmoe},
      {{"gpt-oss", "gpt_oss", false, false, kGptOssStems}, add_gpt_oss},
      {{"glm4moe", "glm4_moe", false, false, kGlmExperts}, add_glm4_moe},
      {{"glm4", "glm4", false, false, kGlm4Stems}, add_glm4},
      {{"gemma", "gemma", false, true}, add_nothing},
      {{"granite", "granite", true, false}, add_granite_dense},
      {{"command-r", "cohere", false, false}, add_command_r},
      {{"cohere2", "cohere2", false, false}, add_cohere2},
      {{"olmo", "olmo", true, false}, add_olmo},
      {{"olmo2", "olmo3", false, false, kNormsBehind}, add_olmo3, {}, has_window},
      {{"olmo2", "olmo2", false, false, kNormsBehind}, add_without_window},
      {{"exaone4", "exaone4", false, false, kNormsBehind}, add_exaone4},
      {{"smollm3", "smollm3", true, false}, add_nothing},
      {{"starcoder2", "starcoder2", false, false, kStarcoderStems}, add_starcoder2},
      {{"stablelm", "stablelm", false, false}, add_stablelm},
      {{"nemotron", "nemotron", false, true}, add_nemotron_dense},
      {{"arcee", "arcee", true, false}, add_nothing},
      {{"seed_oss", "seed_oss", false, false, kSecondNorm}, add_seed_oss},
      {{"dots1", "dots1", false, false, kDotsExperts}, add_dots1},
      {{"llama4", "llama4_text", false, false, kLlama4Stems}, add_llama4},
      {{"ernie4_5", "ernie4_5", false, false}, add_ernie},
      {{"ernie4_5-moe", "ernie4_5_moe", false, false, kErnieExperts}, add_ernie_moe},
      {{"granitemoe", "granitemoe", true, false, kGraniteExperts}, add_granite_moe},
      {{"chatglm", "glm", false, false, kGlmStems}, add_glm},
      {{"exaone", "exaone", false, false, kExaoneStems},
       add_nothing,
       {{"token_embd", "transformer.wte"}, {"output_norm", "transformer.ln_f"}},
       nullptr,
       "transformer.h."},
      {{"exaone-moe", "exaone_moe", false, false, kExaoneMoeExperts}, add_exaone_moe},
      {{"hy_v3", "hy_v3", false, false, kHyV3Experts}, add_hy_v3},
      {{"afmoe", "afmoe", false, false, kTrinityStems}, add_trinity},
      {{"cohere2moe", "cohere2_moe", false, false, kErnieExperts}, add_cohere2_moe},
      {{"mellum", "mellum", false, false, kQwenExperts}, add_mellum},
      {{"jais2", "jais2", false, false}, add_jais2},
      {{"phi2", "phi", false, false, kPhiStems}, add_phi2, {{"output_norm", "model.final_layernorm"}}},
      {{"minimax-m2", "minimax_m2", false, false, kMiniMaxExperts}, add_minimax_m2},
      {{"hunyuan-dense", "hunyuan_v1_dense", false, false, kHunyuanExperts}, add_nothing},
      {{"hunyuan-moe", "hunyuan_v1_moe", false, false, kHunyuanExperts}, add_hunyuan_moe},
      {{"mistral3", "ministral3", true, false}, add_mistral3},
      {{"qwen2vl", "qwen2", false, false}, add_without_window},
      {{"qwen3vl", "qwen3", false, false}, add_nothing},
      {{"qwen3vlmoe", "qwen3_moe", false, false, kQwenExperts}, add_qwen3_moe}};
  return decoders;
}

}  // namespace locus::families
