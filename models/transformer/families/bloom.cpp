// BLOOM: ALiBi, a norm after the embedding, q|k|v interleaved per head, tied head.
#include "models/transformer/families/list.h"

namespace locus::families {

namespace {

void bind(const Checkpoint& checkpoint, Plan& plan) {
  const transformer::Spec& spec = plan.spec;
  const std::string prefix = checkpoint.prefix_of({"transformer.", "", "module."}, "word_embeddings.weight");
  plan.bind("embedding.weight", prefix + "word_embeddings.weight");
  plan.norm("embedding_norm", prefix + "word_embeddings_layernorm");
  for (std::int64_t n = 0; n < spec.layers; ++n) {
    const std::string to = layer_prefix("layers.", n);
    const std::string from = layer_prefix(prefix + "h.", n);
    plan.norm(to + "attention_norm", from + "input_layernorm");
    plan.linear(to + "attention.qkv", from + "self_attention.query_key_value", true);
    plan.linear(to + "attention.output", from + "self_attention.dense", true);
    plan.norm(to + "feed_forward_norm", from + "post_attention_layernorm");
    plan.linear(to + "feed_forward.up", from + "mlp.dense_h_to_4h", true);
    plan.linear(to + "feed_forward.down", from + "mlp.dense_4h_to_h", true);
  }
  plan.norm("final_norm", prefix + "ln_f");
  if (spec.tied_head) {
    plan.skipped = {"lm_head.weight"};
  } else {
    plan.bind("head.weight", "lm_head.weight");
  }
}

Result<Plan> read(const Checkpoint& checkpoint) {
  const Config& config = checkpoint.config;
  Plan plan;
  transformer::Spec& spec = plan.spec;
  LOCUS_TRY(spec.vocabulary, config.integer("vocab_size"));
  LOCUS_TRY(spec.width, config.integer(spelled(config, {"hidden_size", "n_embed"})));
  LOCUS_TRY(spec.layers, config.integer(spelled(config, {"n_layer", "num_hidden_layers"})));
  LOCUS_TRY(spec.heads, config.integer(spelled(config, {"n_head", "num_attention_heads"})));
  LOCUS_TRY(spec.norm_eps, config.number("layer_norm_epsilon", 1e-5));
  LOCUS_TRY(spec.residual_from_norm, config.boolean("apply_residual_connection_post_layernorm", false));
  LOCUS_TRY(spec.tied_head, config.boolean("tie_word_embeddings", true));
  LOCUS_TRY(spec.trained_length, config.integer("seq_length", 0));
  LOCUS_CHECK(divide_heads(spec, config));
  spec.kv_heads = spec.heads;
  spec.inner = 4 * spec.width;
  spec.norm = transformer::Norm::kLayer;
  spec.activation = transformer::Activation::kGeluTanh;
  spec.gated = false;
  spec.embedding_norm = true;
  spec.qkv = transformer::QkvLayout::kPerHead;
  spec.qkv_bias = spec.output_bias = spec.feed_forward_bias = true;
  spec.encoding = "alibi";
  LOCUS_CHECK(check_spec(spec, config));
  bind(checkpoint, plan);
  return plan;
}

}  // namespace

const Family kBloom{"bloom", [](const Checkpoint& checkpoint) { return model_type(checkpoint) == "bloom"; }, read};

}  // namespace locus::families
