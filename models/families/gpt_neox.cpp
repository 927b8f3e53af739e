// GPT-NeoX and Pythia: partial half-rotate RoPE, parallel residual, q|k|v interleaved per head, untied head.
#include "models/families/engine/rope.h"
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

Status finish_gpt_neox(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_TRY(const double base, config.number("rotary_emb_base", 10000.0));
  LOCUS_TRY(const Config block, rope_block(config));
  LOCUS_TRY(Settings options, rope_options(config, block, base));
  LOCUS_TRY(const double old_fraction, config.number("rotary_pct", 0.25));
  LOCUS_TRY(const double fraction, block.number("partial_rotary_factor", old_fraction));
  options.set("fraction", fraction);
  plan.spec.encodings = {{"rope", std::move(options)}};
  return set_fused_rows(config, plan);
}

}  // namespace

Status set_fused_rows(const Config& config, Plan& plan) {
  LOCUS_TRY(const bool fused, config.boolean("fused_qkv", false));
  plan.spec.each([&](std::int64_t, transformer::LayerSpec& layer) {
    layer.attention.qkv = fused ? transformer::QkvLayout::kFused : layer.attention.qkv;
  });
  return {};
}

const Family kGptNeox = [] {
  using namespace slot;
  return Family{
      .name = "gpt_neox",
      .fixed =
          [](Draft& draft) {
            draft.spec.norm = transformer::Norm::kLayer;
            draft.layer.feed_forward.gated = false;
            draft.layer.feed_forward.bias = true;
            draft.layer.attention.qkv = transformer::QkvLayout::kPerHead;
          },
      .fields = {{{"vocab_size"}, vocabulary},
                 {{"hidden_size"}, width},
                 {{"num_hidden_layers"}, layers},
                 {{"num_attention_heads"}, heads},
                 {{"intermediate_size"}, inner},
                 {{"layer_norm_eps"}, norm_eps, 1e-5},
                 {{"hidden_act"}, activation, "gelu"},
                 {{"use_parallel_residual"}, parallel, true},
                 {{"tie_word_embeddings"}, tied, false},
                 {{"max_position_embeddings"}, trained_length, std::int64_t{2048}},
                 {{"attention_bias"}, attention_bias, true}},
      .finish = finish_gpt_neox,
      .prefixes = {"gpt_neox.", "", "module.gpt_neox."},
      .anchor = "embed_in.weight",
      .names = {{"embedding.weight", "embed_in.weight"},
                {"layers.N.attention_norm", "layers.N.input_layernorm"},
                {"layers.N.attention.qkv", "layers.N.attention.query_key_value"},
                {"layers.N.attention.output", "layers.N.attention.dense"},
                {"layers.N.feed_forward_norm", "layers.N.post_attention_layernorm"},
                {"layers.N.feed_forward.{up,down}", "layers.N.mlp.dense_{h_to_4h,4h_to_h}"},
                {"final_norm", "final_layer_norm"}},
      .outside = {{"head", "embed_out"}},
      .skipped = {"attention.bias", "attention.masked_bias", "rotary_emb.inv_freq", "embed_out.weight"},
  };
}();

}  // namespace locus::families
