// T5's encoder (T5, v1.1, FLAN and mT5 files): pre-norm with RMSNorm, no biases, scores that are not divided, and one
// table of distance buckets for all layers. The decoder of a file of both is left out.
#include "models/transformer/families/list.h"
#include "models/transformer/families/slots.h"

namespace locus::families {

namespace {

bool recognises_t5(const Checkpoint& checkpoint) {
  const std::string type = model_type(checkpoint);
  return type == "t5" || type == "mt5";
}

// feed_forward_proj: "relu", "gated-gelu", …
Status read_feed_forward(const Config& config, Plan& plan) {
  LOCUS_TRY(const std::string named, config.text("feed_forward_proj", "relu"));
  const bool gated = named.starts_with("gated-");
  const std::string plain = gated ? named.substr(std::string("gated-").size()) : named;
  // Its gated GELU is the tanh form, whatever it is called.
  const auto activation = transformer::parse_activation(gated && plain == "gelu" ? "gelu_new" : plain);
  if (!activation.ok()) {
    return activation.error().within(config.context("feed_forward_proj"));
  }
  plan.spec.each([&](std::int64_t, transformer::LayerSpec& layer) {
    layer.feed_forward.gated = gated;
    layer.feed_forward.activation = *activation;
  });
  // What the matrix behind the activation is called.
  std::erase_if(plan.names, [&](const Name& row) { return row.tensor.ends_with(gated ? ".wi" : ".wi_1"); });
  return {};
}

Status finish_t5(const Checkpoint& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  if (checkpoint.find("decoder.final_layer_norm.weight") != nullptr) {
    plan.warnings.push_back(checkpoint.path.string() +
                            ": the decoder is not read: these are the encoder's maps and states");
  }
  LOCUS_CHECK(read_feed_forward(config, plan));
  LOCUS_TRY(const std::int64_t buckets, config.integer("relative_attention_num_buckets", 32));
  LOCUS_TRY(const std::int64_t longest, config.integer("relative_attention_max_distance", 128));
  plan.spec.encodings = {{"t5", {{"buckets", buckets}, {"max_distance", longest}}}};
  return {};
}

}  // namespace

const Family kT5 = [] {
  using namespace slot;
  const std::string block = "encoder.block.N.layer.";
  return Family{
      .name = "t5",
      .recognises = recognises_t5,
      .fixed = [](Draft& draft) { draft.spec.causal = draft.spec.head = false; },
      .fields = {{{"vocab_size"}, vocabulary},
                 {{"d_model"}, width},
                 {{"num_layers"}, layers},
                 {{"num_heads"}, heads},
                 {{"d_kv"}, head_width, std::int64_t{64}},
                 {{"d_ff"}, inner},
                 {{"layer_norm_epsilon"}, norm_eps, 1e-6}},
      .finish = finish_t5,
      .prefixes = {"", "module."},
      .anchor = "shared.weight",
      .names = {{"embedding.weight", "shared.weight"},
                {"embedding.weight", "encoder.embed_tokens.weight"},
                {"position.relative_attention_bias",
                 "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"},
                {"layers.N.attention_norm", block + "0.layer_norm"},
                {"layers.N.attention.query", block + "0.SelfAttention.q"},
                {"layers.N.attention.key", block + "0.SelfAttention.k"},
                {"layers.N.attention.value", block + "0.SelfAttention.v"},
                {"layers.N.attention.output", block + "0.SelfAttention.o"},
                {"layers.N.feed_forward_norm", block + "1.layer_norm"},
                {"layers.N.feed_forward.gate", block + "1.DenseReluDense.wi_0"},
                {"layers.N.feed_forward.up", block + "1.DenseReluDense.wi_1"},
                {"layers.N.feed_forward.up", block + "1.DenseReluDense.wi"},
                {"layers.N.feed_forward.down", block + "1.DenseReluDense.wo"},
                {"final_norm", "encoder.final_layer_norm"}},
      .skipped = {"embed_tokens.weight", "decoder.*", "lm_head.weight"},
  };
}();

}  // namespace locus::families
