// BERT as a masked language model: post-norm, both ways, learned positions; every token of segment 0.
#include "models/transformer/families/list.h"

namespace locus::families {

namespace {

// A norm under its new (weight, bias) or old (gamma, beta) names.
void bind_norm(const Checkpoint& checkpoint, Plan& plan, const std::string& to, const std::string& from) {
  const bool old = checkpoint.find(from + ".gamma") != nullptr;
  plan.bind(to + ".weight", from + (old ? ".gamma" : ".weight"));
  plan.bind(to + ".bias", from + (old ? ".beta" : ".bias"));
}

void bind(const Checkpoint& checkpoint, Plan& plan) {
  const std::string prefix = checkpoint.prefix_of({"bert.", "", "module.bert."}, "embeddings.word_embeddings.weight");
  const std::string embeddings = prefix + "embeddings.";
  plan.bind("embedding.weight", embeddings + "word_embeddings.weight");
  plan.bind("token_type.weight", embeddings + "token_type_embeddings.weight");
  plan.bind("position.position_embedding", embeddings + "position_embeddings.weight");
  bind_norm(checkpoint, plan, "embedding_norm", embeddings + "LayerNorm");
  for (std::int64_t n = 0; n < plan.spec.layers; ++n) {
    const std::string to = layer_prefix("layers.", n);
    const std::string from = layer_prefix(prefix + "encoder.layer.", n);
    plan.linear(to + "attention.query", from + "attention.self.query", true);
    plan.linear(to + "attention.key", from + "attention.self.key", true);
    plan.linear(to + "attention.value", from + "attention.self.value", true);
    plan.linear(to + "attention.output", from + "attention.output.dense", true);
    bind_norm(checkpoint, plan, to + "attention_norm", from + "attention.output.LayerNorm");
    plan.linear(to + "feed_forward.up", from + "intermediate.dense", true);
    plan.linear(to + "feed_forward.down", from + "output.dense", true);
    bind_norm(checkpoint, plan, to + "feed_forward_norm", from + "output.LayerNorm");
  }
  const std::string head = checkpoint.prefix_of({"", "module."}, "cls.predictions.bias") + "cls.predictions.";
  plan.linear("head_transform", head + "transform.dense", true);
  bind_norm(checkpoint, plan, "head_norm", head + "transform.LayerNorm");
  plan.bind("head.bias", head + "bias");
  if (!plan.spec.tied_head) {
    plan.bind("head.weight", head + "decoder.weight");
  }
  plan.skipped = {"pooler.dense.weight",       "pooler.dense.bias", "cls.seq_relationship.weight",
                  "cls.seq_relationship.bias", "position_ids",      "predictions.decoder.weight",
                  "predictions.decoder.bias"};
}

Result<Plan> read(const Checkpoint& checkpoint) {
  const Config& config = checkpoint.config;
  Plan plan;
  transformer::Spec& spec = plan.spec;
  LOCUS_TRY(spec.vocabulary, config.integer("vocab_size"));
  LOCUS_CHECK(read_sizes(spec, config, "layer_norm_eps", 1e-12, "gelu"));
  LOCUS_TRY(spec.token_types, config.integer("type_vocab_size", 2));
  LOCUS_TRY(spec.trained_length, config.integer("max_position_embeddings", 512));
  LOCUS_TRY(spec.tied_head, config.boolean("tie_word_embeddings", true));
  LOCUS_TRY(const std::string positions, config.text("position_embedding_type", "absolute"));
  if (positions != "absolute") {
    return unsupported("field position_embedding_type: expected absolute, found " + positions, config.file());
  }
  LOCUS_CHECK(divide_heads(spec, config));
  spec.kv_heads = spec.heads;
  spec.norm = transformer::Norm::kLayer;
  spec.norm_place = transformer::NormPlace::kPost;
  spec.gated = false;
  spec.causal = false;
  spec.qkv = transformer::QkvLayout::kSeparate;
  spec.qkv_bias = spec.output_bias = spec.feed_forward_bias = true;
  spec.embedding_norm = true;
  spec.final_norm = false;
  spec.head_transform = spec.head_bias = true;
  spec.encoding = "learned";
  spec.encoding_options = {{"length", spec.trained_length}};
  LOCUS_CHECK(check_spec(spec, config));
  bind(checkpoint, plan);
  return plan;
}

}  // namespace

const Family kBert{"bert", [](const Checkpoint& checkpoint) { return model_type(checkpoint) == "bert"; }, read};

}  // namespace locus::families
