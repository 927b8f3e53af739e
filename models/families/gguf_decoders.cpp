// GGUF architectures of attention in every layer that are read, not written, and what their files say in other words.
#include <cmath>

#include "models/families/gguf_hybrids.h"

namespace locus::families {

namespace {

using Stems = std::vector<std::pair<std::string_view, std::string_view>>;

const Stems kQwenExperts{{"ffn_gate_inp", "mlp.gate"},
                         {"ffn_gate_inp_shexp", "mlp.shared_expert_gate"},
                         {"ffn_gate_shexp", "mlp.shared_expert.gate_proj"},
                         {"ffn_up_shexp", "mlp.shared_expert.up_proj"},
                         {"ffn_down_shexp", "mlp.shared_expert.down_proj"},
                         {"ffn_gate_exps", "mlp.experts.J.gate_proj"},
                         {"ffn_up_exps", "mlp.experts.J.up_proj"},
                         {"ffn_down_exps", "mlp.experts.J.down_proj"}};
const Stems kMixtralExperts{{"ffn_gate_inp", "block_sparse_moe.gate"},
                            {"ffn_gate_exps", "block_sparse_moe.experts.J.w1"},
                            {"ffn_up_exps", "block_sparse_moe.experts.J.w3"},
                            {"ffn_down_exps", "block_sparse_moe.experts.J.w2"}};
const Stems kGptOssStems{{"post_attention_norm", "post_attention_layernorm"},
                         {"attn_sinks.weight", "self_attn.sinks"},
                         {"ffn_gate_inp", "mlp.router"},
                         {"ffn_gate_exps", "mlp.experts.J.gate_proj"},
                         {"ffn_up_exps", "mlp.experts.J.up_proj"},
                         {"ffn_down_exps", "mlp.experts.J.down_proj"}};
const Stems kGlmExperts{{"post_attention_norm", "post_attention_layernorm"},
                        {"ffn_gate_inp", "mlp.gate"},
                        {"exp_probs_b.bias", "mlp.gate.e_score_correction_bias"},
                        {"ffn_gate_shexp", "mlp.shared_experts.gate_proj"},
                        {"ffn_up_shexp", "mlp.shared_experts.up_proj"},
                        {"ffn_down_shexp", "mlp.shared_experts.down_proj"},
                        {"ffn_gate_exps", "mlp.experts.J.gate_proj"},
                        {"ffn_up_exps", "mlp.experts.J.up_proj"},
                        {"ffn_down_exps", "mlp.experts.J.down_proj"}};
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
      {{"olmo2", "olmo2", false, false, kNormsBehind}, add_without_window},
      {{"exaone4", "exaone4", false, false, kNormsBehind}, add_exaone4},
      {{"smollm3", "smollm3", true, false}, add_nothing},
      {{"starcoder2", "starcoder2", false, false, kStarcoderStems}, add_starcoder2},
      {{"stablelm", "stablelm", false, false}, add_stablelm},
      {{"nemotron", "nemotron", false, true}, add_nemotron_dense},
      {{"arcee", "arcee", true, false}, add_nothing},
      {{"seed_oss", "seed_oss", false, false, kSecondNorm}, add_seed_oss}};
  return decoders;
}

}  // namespace locus::families
