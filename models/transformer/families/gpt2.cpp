// GPT-2: `[transformer.]h.N.…`, Conv1D weights [in, out].
#include "models/transformer/families/gpt2.h"

#include "models/transformer/families/list.h"

namespace locus::families {

namespace {

bool recognises(const Checkpoint& checkpoint) {
  const std::string type = model_type(checkpoint);
  return type == "gpt2" || (type.empty() && checkpoint.find(checkpoint.prefix_of({"transformer.", ""}, "wpe.weight") +
                                                            "wpe.weight") != nullptr);
}

Result<Plan> read(const Checkpoint& checkpoint) {
  LOCUS_TRY(Plan plan, read_gpt2(checkpoint));
  const std::string prefix = checkpoint.prefix_of({"transformer.", "", "module.transformer."}, "wte.weight");
  LOCUS_TRY(const std::int64_t length,
            checkpoint.config.integer(spelled(checkpoint.config, {"n_positions", "n_ctx"}), 1024));
  plan.spec.encoding = "learned";
  plan.spec.encoding_options = {{"length", length}};
  plan.bind("position.position_embedding", prefix + "wpe.weight");
  return plan;
}

}  // namespace

const Family kGpt2{"gpt2", recognises, read};

Result<Plan> read_gpt2(const Checkpoint& checkpoint) {
  const Config& config = checkpoint.config;
  Plan plan;
  transformer::Spec& spec = plan.spec;
  LOCUS_TRY(spec.vocabulary, config.integer("vocab_size"));
  LOCUS_TRY(spec.width, config.integer(spelled(config, {"n_embd", "hidden_size"})));
  LOCUS_TRY(spec.layers, config.integer(spelled(config, {"n_layer", "num_hidden_layers"})));
  LOCUS_TRY(spec.heads, config.integer(spelled(config, {"n_head", "num_attention_heads"})));
  LOCUS_TRY(spec.inner, config.integer("n_inner", 4 * spec.width));
  LOCUS_TRY(spec.norm_eps, config.number("layer_norm_epsilon", 1e-5));
  LOCUS_TRY(const std::string activation, config.text("activation_function", "gelu_new"));
  LOCUS_TRY(spec.activation, transformer::parse_activation(activation));
  LOCUS_TRY(spec.tied_head, config.boolean("tie_word_embeddings", true));
  LOCUS_TRY(spec.trained_length, config.integer(spelled(config, {"n_positions", "n_ctx"}), 1024));
  for (const char* flag : {"scale_attn_by_inverse_layer_idx", "add_cross_attention"}) {
    LOCUS_TRY(const bool set, config.boolean(flag, false));
    if (set) {
      return unsupported(std::string("field ") + flag + ": Locus reads checkpoints without it", config.file());
    }
  }
  LOCUS_CHECK(divide_heads(spec, config));
  spec.kv_heads = spec.heads;
  spec.norm = transformer::Norm::kLayer;
  spec.gated = false;
  spec.qkv = transformer::QkvLayout::kFused;
  spec.qkv_bias = spec.output_bias = spec.feed_forward_bias = true;

  LOCUS_CHECK(check_spec(spec, config));

  const std::string prefix = checkpoint.prefix_of({"transformer.", "", "module.transformer."}, "wte.weight");
  plan.bind("embedding.weight", prefix + "wte.weight");
  for (std::int64_t n = 0; n < spec.layers; ++n) {
    const std::string to = layer_prefix("layers.", n);
    const std::string from = layer_prefix(prefix + "h.", n);
    plan.norm(to + "attention_norm", from + "ln_1");
    plan.linear(to + "attention.qkv", from + "attn.c_attn", true, Layout::kTransposed);
    plan.linear(to + "attention.output", from + "attn.c_proj", true, Layout::kTransposed);
    plan.norm(to + "feed_forward_norm", from + "ln_2");
    plan.linear(to + "feed_forward.up", from + "mlp.c_fc", true, Layout::kTransposed);
    plan.linear(to + "feed_forward.down", from + "mlp.c_proj", true, Layout::kTransposed);
  }
  plan.norm("final_norm", prefix + "ln_f");
  if (!spec.tied_head) {
    plan.bind("head.weight", "lm_head.weight");
  }
  plan.skipped = {"attn.bias", "attn.masked_bias"};
  if (spec.tied_head) {
    plan.skipped.emplace_back("lm_head.weight");
  }
  return plan;
}

}  // namespace locus::families
