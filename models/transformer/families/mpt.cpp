// MPT: ALiBi, no biases at all, LayerNorm without bias, q|k|v in one matrix.
#include "models/transformer/families/list.h"
#include "models/transformer/families/slots.h"

namespace locus::families {

namespace {

Status finish_mpt(const Checkpoint& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_TRY(const Config attention, group(config, "attn_config"));
  LOCUS_TRY(const bool alibi, attention.boolean("alibi", true));
  LOCUS_TRY(const bool normed, attention.boolean("qk_ln", false));
  LOCUS_TRY(const bool prefix, attention.boolean("prefix_lm", false));
  if (!alibi || normed || prefix || attention.has("clip_qkv")) {
    return unsupported("field attn_config: expected alibi, and neither clip_qkv, qk_ln nor prefix_lm", config.file());
  }
  LOCUS_TRY(const double scale, attention.number("softmax_scale", 0.0));
  plan.spec.each([&](std::int64_t, transformer::LayerSpec& layer) { layer.attention.scale = scale; });
  plan.spec.encodings = {{"alibi", {}}};
  return {};
}

}  // namespace

const Family kMpt = [] {
  using namespace slot;
  return Family{
      .name = "mpt",
      .fixed =
          [](Draft& draft) {
            draft.spec.norm = transformer::Norm::kLayer;
            draft.spec.norm_bias = false;
            draft.layer.feed_forward.gated = false;
            draft.layer.feed_forward.activation = transformer::Activation::kGelu;
            draft.layer.attention.qkv = transformer::QkvLayout::kFused;
          },
      .fields = {{{"vocab_size"}, vocabulary},
                 {{"d_model"}, width},
                 {{"n_layers"}, layers},
                 {{"n_heads"}, heads},
                 {{"layer_norm_epsilon"}, norm_eps, 1e-5},
                 {{"tie_word_embeddings"}, tied, true},
                 {{"max_seq_len"}, trained_length, std::int64_t{2048}}},
      .finish = finish_mpt,
      .prefixes = {"transformer.", "", "module.transformer."},
      .anchor = "wte.weight",
      .names = {{"embedding.weight", "wte.weight"},
                {"layers.N.attention_norm", "blocks.N.norm_1"},
                {"layers.N.attention.qkv", "blocks.N.attn.Wqkv"},
                {"layers.N.attention.output", "blocks.N.attn.out_proj"},
                {"layers.N.feed_forward_norm", "blocks.N.norm_2"},
                {"layers.N.feed_forward.up", "blocks.N.ffn.up_proj"},
                {"layers.N.feed_forward.down", "blocks.N.ffn.down_proj"},
                {"final_norm", "norm_f"}},
      .outside = {{"head", "lm_head"}},
      .skipped = {"lm_head.weight"},
  };
}();

}  // namespace locus::families
