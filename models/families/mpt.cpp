// MPT: ALiBi, no biases, LayerNorm without bias, q|k|v in one matrix.
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

Status finish_mpt(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_TRY(const Config attention, group(config, "attn_config"));
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
      .fixed_fields = {{"norm_type", {"low_precision_layernorm", "layernorm"}},
                       {"logit_scale"},
                       {"no_bias", {true}},
                       {"expansion_ratio", {4.0}},
                       {"attn_config.alibi", {true}},
                       {"attn_config.alibi_bias_max", {8.0}},
                       {"attn_config.attn_type", {"multihead_attention"}},
                       {"attn_config.attn_uses_sequence_id", {false}},
                       {"attn_config.clip_qkv"},
                       {"attn_config.qk_ln", {false}},
                       {"attn_config.qk_gn", {false}},
                       {"attn_config.prefix_lm", {false}},
                       {"attn_config.rope", {false}},
                       {"attn_config.sliding_window_size", {-1.0}},
                       {"ffn_config.ffn_type", {"mptmlp"}}},
      .finish = finish_mpt,
      .prefixes = {"transformer.", "", "module.transformer."},
      .anchor = "wte.weight",
      .names = {{"embedding.weight", "wte.weight"},
                {"layers.N.attention_norm", "blocks.N.norm_1"},
                {"layers.N.attention.qkv", "blocks.N.attn.Wqkv"},
                {"layers.N.attention.output", "blocks.N.attn.out_proj"},
                {"layers.N.feed_forward_norm", "blocks.N.norm_2"},
                {"layers.N.feed_forward.{up,down}", "blocks.N.ffn.{up,down}_proj"},
                {"final_norm", "norm_f"}},
      .outside = {{"head", "lm_head"}},
      .skipped = {"lm_head.weight"},
      .harmless = {"attn_config.attn_impl", "init_device", "verbose", "embedding_fraction", "learned_pos_emb"},
  };
}();

}  // namespace locus::families
