// GPT-NeoX and Pythia: partial half-rotate RoPE, parallel residual, q|k|v interleaved per head, untied head.
#include "models/transformer/families/list.h"

namespace locus::families {

namespace {

void bind(const Checkpoint& checkpoint, Plan& plan) {
  const transformer::Spec& spec = plan.spec;
  const std::string prefix = checkpoint.prefix_of({"gpt_neox.", "", "module.gpt_neox."}, "embed_in.weight");
  plan.bind("embedding.weight", prefix + "embed_in.weight");
  for (std::int64_t n = 0; n < spec.layers; ++n) {
    const std::string to = layer_prefix("layers.", n);
    const std::string from = layer_prefix(prefix + "layers.", n);
    plan.norm(to + "attention_norm", from + "input_layernorm");
    plan.linear(to + "attention.qkv", from + "attention.query_key_value", spec.qkv_bias);
    plan.linear(to + "attention.output", from + "attention.dense", spec.output_bias);
    plan.norm(to + "feed_forward_norm", from + "post_attention_layernorm");
    plan.linear(to + "feed_forward.up", from + "mlp.dense_h_to_4h", true);
    plan.linear(to + "feed_forward.down", from + "mlp.dense_4h_to_h", true);
  }
  plan.norm("final_norm", prefix + "final_layer_norm");
  plan.skipped = {"attention.bias", "attention.masked_bias", "rotary_emb.inv_freq"};
  if (spec.tied_head) {
    plan.skipped.emplace_back("embed_out.weight");
  } else {
    plan.bind("head.weight", "embed_out.weight");
  }
}

Result<Plan> read(const Checkpoint& checkpoint) {
  const Config& config = checkpoint.config;
  Plan plan;
  transformer::Spec& spec = plan.spec;
  LOCUS_TRY(spec.vocabulary, config.integer("vocab_size"));
  LOCUS_CHECK(read_sizes(spec, config, "layer_norm_eps", 1e-5, "gelu"));
  LOCUS_TRY(spec.parallel_residual, config.boolean("use_parallel_residual", true));
  LOCUS_TRY(spec.tied_head, config.boolean("tie_word_embeddings", false));
  LOCUS_TRY(spec.trained_length, config.integer("max_position_embeddings", 2048));
  LOCUS_TRY(const bool attention_bias, config.boolean("attention_bias", true));
  LOCUS_CHECK(divide_heads(spec, config));
  spec.kv_heads = spec.heads;
  spec.norm = transformer::Norm::kLayer;
  spec.gated = false;
  spec.qkv = transformer::QkvLayout::kPerHead;
  spec.qkv_bias = spec.output_bias = attention_bias;
  spec.feed_forward_bias = true;
  LOCUS_CHECK(check_spec(spec, config));

  LOCUS_TRY(const double base, config.number("rotary_emb_base", 10000.0));
  LOCUS_TRY(Settings options, rope_options(config, base));
  LOCUS_TRY(const double old_fraction, config.number(spelled(config, {"rotary_pct", "partial_rotary_factor"}), 0.25));
  LOCUS_TRY(const double fraction, config.number("rope_parameters.partial_rotary_factor", old_fraction));
  options.set("fraction", fraction);
  spec.encoding = "rope";
  spec.encoding_options = options;
  bind(checkpoint, plan);
  return plan;
}

}  // namespace

const Family kGptNeox{"gpt_neox", [](const Checkpoint& checkpoint) { return model_type(checkpoint) == "gpt_neox"; },
                      read};

}  // namespace locus::families
