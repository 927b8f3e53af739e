// GGUF architectures of latent attention that are read, not written. Newer files hold the up projection as two tensors,
// keys turned within their heads; older ones as one.
#include "models/families/gguf_hybrids.h"

namespace locus::families {

namespace {

const GgufStems kLatentStems = joined_stems({GgufStems{{"attn_kv_a_mqa", "self_attn.kv_a_proj_with_mqa"},
                                                       {"attn_kv_a_norm", "self_attn.kv_a_layernorm"},
                                                       {"attn_kv_b", "self_attn.kv_b_proj"},
                                                       {"attn_k_b", "self_attn.k_b_proj"},
                                                       {"attn_v_b", "self_attn.v_b_proj"},
                                                       {"attn_q_a", "self_attn.q_a_proj"},
                                                       {"attn_q_a_norm", "self_attn.q_a_layernorm"},
                                                       {"attn_q_b", "self_attn.q_b_proj"},
                                                       {"indexer.k_norm", "self_attn.indexer.k_norm"},
                                                       {"indexer.proj", "self_attn.indexer.weights_proj"},
                                                       {"indexer.attn_k", "self_attn.indexer.wk"},
                                                       {"indexer.attn_q_b", "self_attn.indexer.wq_b"},
                                                       {"ffn_gate_inp", "mlp.gate"},
                                                       {"exp_probs_b.bias", "mlp.gate.e_score_correction_bias"}},
                                             shared_experts(), routed_experts()});

// Widths and ranks. Files with one up projection state the widths of a head under their usual names; in those with two
// these are the latent's.
Status add_latent_widths(const GgufReading& reading, GgufFields& fields) {
  for (const char* field : {"num_key_value_heads", "head_dim", "partial_rotary_factor"}) {
    fields.erase(field);
  }
  const bool divided = reading.has("attention.key_length_mla");
  const char* const key = divided ? "attention.key_length_mla" : "attention.key_length";
  LOCUS_TRY(const std::int64_t rotated, reading.integer("rope.dimension_count"));
  LOCUS_TRY(const std::int64_t whole, reading.integer(key));
  if (rotated < 1 || whole <= rotated) {
    return bad_input("expected more than the " + std::to_string(rotated) + " of rope.dimension_count, found " +
                         std::to_string(whole),
                     reading.context(key));
  }
  fields["qk_rope_head_dim"] = rotated;
  fields["qk_nope_head_dim"] = whole - rotated;
  if (divided || reading.has("attention.value_length")) {
    LOCUS_TRY(fields["v_head_dim"], reading.integer(divided ? "attention.value_length_mla" : "attention.value_length"));
  }
  LOCUS_TRY(fields["kv_lora_rank"], reading.integer("attention.kv_lora_rank"));
  LOCUS_TRY(fields["q_lora_rank"], reading.integer("attention.q_lora_rank", 0));
  LOCUS_TRY(fields["rope_theta"], reading.number("rope.freq_base", 10000.0));
  return {};
}

// Groups of experts, which files of the first converters do not state: of models of 160 and 256 experts published with
// groups, they cannot be read right.
Status add_groups(const GgufReading& reading, GgufFields& fields) {
  constexpr std::int64_t kInThree = 160;
  constexpr std::int64_t kInFour = 256;
  if (!reading.has("expert_group_count") &&
      (fields["n_routed_experts"] == kInThree || fields["n_routed_experts"] == kInFour)) {
    return unsupported(
        "expected the groups of the experts, found none, as early converters wrote: convert the model again",
        reading.context("expert_group_count"));
  }
  LOCUS_TRY(fields["n_group"], reading.integer("expert_group_count", 1));
  LOCUS_TRY(fields["topk_group"], reading.integer("expert_group_used_count", 1));
  return {};
}

Status add_latent_experts(const GgufReading& reading, GgufFields& fields) {
  LOCUS_CHECK(add_gguf_experts(reading, fields, "n_routed_experts", "num_experts_per_tok", "moe_intermediate_size"));
  LOCUS_CHECK(add_groups(reading, fields));
  LOCUS_TRY(fields["n_shared_experts"], reading.integer("expert_shared_count", 0));
  LOCUS_TRY(fields["first_k_dense_replace"], reading.integer("leading_dense_block_count", 0));
  LOCUS_TRY(fields["norm_topk_prob"], reading.boolean("expert_weights_norm", false));
  LOCUS_TRY(fields["routed_scaling_factor"], reading.number("expert_weights_scale", 1.0));
  return {};
}

// What kind of model it is: without experts Youtu, with a sigmoid DeepSeek V3, with a soft-max V2.
Status add_deepseek2(const GgufReading& reading, GgufFields& fields) {
  LOCUS_CHECK(add_latent_widths(reading, fields));
  LOCUS_TRY(const double growth, reading.number("attention.temperature_scale", 0.0));
  if (growth != 0) {
    return unsupported("expected queries that do not grow with their position, found " + std::to_string(growth),
                       reading.context("attention.temperature_scale"));
  }
  LOCUS_TRY(const std::int64_t experts, reading.integer("expert_count", 0));
  if (experts == 0) {
    fields["model_type"] = "youtu";
    fields["rope_interleave"] = true;
    return {};
  }
  LOCUS_CHECK(add_latent_experts(reading, fields));
  const bool corrected = reading.first("exp_probs_b.bias") != nullptr;
  LOCUS_TRY(const bool sigmoid, has_sigmoid_gate(reading, corrected));
  if (sigmoid) {
    fields["rope_interleave"] = true;
    return {};
  }
  fields["model_type"] = "deepseek_v2";
  fields["topk_method"] = fields["n_group"] == 1 ? "greedy" : "group_limited_greedy";
  return {};
}

// DeepSeek V3.2 and GLM 5.
Status add_indexed(const GgufReading& reading, GgufFields& fields) {
  LOCUS_CHECK(add_latent_widths(reading, fields));
  LOCUS_CHECK(add_latent_experts(reading, fields));
  LOCUS_CHECK(expect_sigmoid_gate(reading));
  LOCUS_TRY(fields["index_topk"], reading.integer("attention.indexer.top_k"));
  return {};
}

// The factors of the embedding, the branches and the logits are those of the published model; files do not state them.
Status add_minicpm3(const GgufReading& reading, GgufFields& fields) {
  fields["scale_emb"] = 12;
  fields["scale_depth"] = 1.4;
  fields["dim_model_base"] = 256;
  LOCUS_CHECK(add_latent_widths(reading, fields));
  const auto heads = fields["num_attention_heads"].get<std::int64_t>();
  const auto width = fields["hidden_size"].get<std::int64_t>();
  fields["v_head_dim"] = width / heads;
  return width % heads == 0 ? Status()
                            : Status(bad_input("expected heads that divide the width " + std::to_string(width) +
                                                   ", found " + std::to_string(heads),
                                               reading.context("attention.head_count")));
}

}  // namespace

std::vector<GgufHybrid> gguf_latent_decoders() {
  return {{{"deepseek2", "deepseek_v3", false, false, kLatentStems}, add_deepseek2},
          {{"deepseek32", "deepseek_v32", false, false, kLatentStems}, add_indexed},
          {{"glm-dsa", "glm_moe_dsa", false, false, kLatentStems}, add_indexed},
          {{"minicpm3", "minicpm3", false, false, kLatentStems}, add_minicpm3}};
}

}  // namespace locus::families
