// Llama: `model.layers.N.self_attn.…`, RMSNorm, SwiGLU, half-rotate RoPE, grouped key heads.
#include "models/transformer/families/llama.h"

#include "models/transformer/families/list.h"

namespace locus::families {

namespace {

void bind_llama(const Checkpoint& checkpoint, Plan& plan) {
  const transformer::Spec& spec = plan.spec;
  const std::string prefix = checkpoint.prefix_of({"model.", "", "module.model."}, "embed_tokens.weight");
  plan.bind("embedding.weight", prefix + "embed_tokens.weight");
  for (std::int64_t n = 0; n < spec.layers; ++n) {
    const std::string to = layer_prefix("layers.", n);
    const std::string from = layer_prefix(prefix + "layers.", n);
    plan.norm(to + "attention_norm", from + "input_layernorm");
    plan.linear(to + "attention.query", from + "self_attn.q_proj", spec.qkv_bias);
    plan.linear(to + "attention.key", from + "self_attn.k_proj", spec.qkv_bias);
    plan.linear(to + "attention.value", from + "self_attn.v_proj", spec.qkv_bias);
    plan.linear(to + "attention.output", from + "self_attn.o_proj", spec.output_bias);
    plan.norm(to + "feed_forward_norm", from + "post_attention_layernorm");
    plan.linear(to + "feed_forward.gate", from + "mlp.gate_proj", spec.feed_forward_bias);
    plan.linear(to + "feed_forward.up", from + "mlp.up_proj", spec.feed_forward_bias);
    plan.linear(to + "feed_forward.down", from + "mlp.down_proj", spec.feed_forward_bias);
  }
  plan.norm("final_norm", prefix + "norm");
  plan.skipped = {"rotary_emb.inv_freq"};
  if (spec.tied_head) {
    plan.skipped.emplace_back("lm_head.weight");
  } else {
    plan.bind("head.weight", checkpoint.prefix_of({"", "module."}, "lm_head.weight") + "lm_head.weight");
  }
}

}  // namespace

const Family kLlama{"llama", [](const Checkpoint& checkpoint) { return model_type(checkpoint) == "llama"; },
                    read_llama_rope};

Result<Plan> read_llama(const Checkpoint& checkpoint) {
  const Config& config = checkpoint.config;
  Plan plan;
  transformer::Spec& spec = plan.spec;
  LOCUS_TRY(spec.vocabulary, config.integer("vocab_size"));
  LOCUS_CHECK(read_sizes(spec, config, "rms_norm_eps", 1e-6, "silu"));
  LOCUS_TRY(spec.kv_heads, config.integer("num_key_value_heads", spec.heads));
  LOCUS_TRY(spec.tied_head, config.boolean("tie_word_embeddings", false));
  LOCUS_TRY(spec.trained_length, config.integer("max_position_embeddings", 0));
  LOCUS_TRY(const bool attention_bias, config.boolean("attention_bias", false));
  LOCUS_TRY(spec.feed_forward_bias, config.boolean("mlp_bias", false));
  if (config.has("head_dim")) {
    LOCUS_TRY(spec.head_width, config.integer("head_dim"));
  } else {
    LOCUS_CHECK(divide_heads(spec, config));
  }
  spec.norm = transformer::Norm::kRms;
  spec.gated = true;
  spec.qkv = transformer::QkvLayout::kSeparate;
  spec.qkv_bias = attention_bias || model_type(checkpoint) == "qwen2";
  spec.output_bias = attention_bias;
  LOCUS_CHECK(check_spec(spec, config));
  bind_llama(checkpoint, plan);
  return plan;
}

Result<Plan> read_llama_rope(const Checkpoint& checkpoint) {
  // TAPE's authors train Llamas with other encodings too and write this field; their plain ones are called rope.
  const std::string encoding = text_or_nothing(checkpoint.config, "rpe_type");
  if (!encoding.empty() && encoding != "rope") {
    return unsupported("field rpe_type: expected rope or one of TAPE's, found " + encoding, checkpoint.config.file());
  }
  LOCUS_TRY(Plan plan, read_llama(checkpoint));
  plan.spec.encoding = "rope";
  LOCUS_TRY(plan.spec.encoding_options, rope_options(checkpoint.config));
  return plan;
}

}  // namespace locus::families
