// Falcon in its three variants: grouped key heads with two norms (40B), one key head and one norm (7B), ALiBi and
// serial branches (rw).
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

using transformer::LayerSpec;

Status finish_falcon(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_TRY(const bool grouped, config.boolean("new_decoder_architecture", false));
  LOCUS_TRY(const bool one_key, config.boolean("multi_query", true));
  LOCUS_TRY(const bool parallel, config.boolean("parallel_attn", true));
  LOCUS_TRY(const std::int64_t norms, config.integer("num_ln_in_parallel_attn", 2));
  LOCUS_TRY(const std::int64_t key_heads, config.integer("num_kv_heads", plan.spec.first().attention.heads));
  plan.spec.each([&](std::int64_t, LayerSpec& layer) {
    layer.attention.kv_heads = grouped ? key_heads : one_key ? 1 : layer.attention.heads;
    layer.attention.qkv = one_key && !grouped ? transformer::QkvLayout::kFused : transformer::QkvLayout::kPerHead;
    layer.parallel = grouped || parallel;
    layer.shared_norm = layer.parallel && !(grouped && norms == 2);
  });
  LOCUS_CHECK(set_fused_rows(config, plan));
  const bool two = grouped && norms == 2;
  const std::string prefix =
      checkpoint.prefix_of({"transformer.", "", "module.transformer."}, "word_embeddings.weight");
  plan.name("layers.N.attention_norm", prefix + (two ? "h.N.ln_attn" : "h.N.input_layernorm"));
  plan.name("layers.N.feed_forward_norm", prefix + (two ? "h.N.ln_mlp" : "h.N.post_attention_layernorm"));
  LOCUS_TRY(const bool alibi, config.boolean("alibi", false));
  if (alibi) {
    LOCUS_CHECK(set_rope(config, plan));  // in every file, without effect here
    plan.spec.encodings = {{"alibi", {{"before_scaling", true}}}};
    return {};
  }
  return set_rope(config, plan);
}

}  // namespace

const Family kFalcon = [] {
  using namespace slot;
  return Family{
      .name = "falcon",
      .fixed =
          [](Draft& draft) {
            draft.spec.norm = transformer::Norm::kLayer;
            draft.layer.feed_forward.gated = false;
          },
      .fields = {{{"vocab_size"}, vocabulary},
                 {{"hidden_size"}, width},
                 {{"num_hidden_layers", "n_layer"}, layers},
                 {{"num_attention_heads", "n_head"}, heads},
                 {{"ffn_hidden_size"}, inner, kFollows},
                 {{"layer_norm_epsilon"}, norm_eps, 1e-5},
                 {{"activation"}, activation, "gelu"},
                 {{"bias"}, attention_bias, false},
                 {{"bias"}, feed_forward_bias, false},
                 {{"tie_word_embeddings"}, tied, true},
                 {{"max_position_embeddings"}, trained_length, std::int64_t{2048}}},
      .refused = {"apply_residual_connection_post_layernorm"},
      .finish = finish_falcon,
      .prefixes = {"transformer.", "", "module.transformer."},
      .anchor = "word_embeddings.weight",
      .names = {{"embedding.weight", "word_embeddings.weight"},
                {"layers.N.attention.qkv", "h.N.self_attention.query_key_value"},
                {"layers.N.attention.output", "h.N.self_attention.dense"},
                {"layers.N.feed_forward.{up,down}", "h.N.mlp.dense_{h_to_4h,4h_to_h}"},
                {"final_norm", "ln_f"}},
      .outside = {{"head", "lm_head"}},
      .skipped = {"lm_head.weight"},
  };
}();

}  // namespace locus::families
