// BLOOM: ALiBi, a norm after the embedding, q|k|v interleaved per head, tied head.
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

const Family kBloom = [] {
  using namespace slot;
  return Family{
      .name = "bloom",
      .fixed =
          [](Draft& draft) {
            draft.spec.norm = transformer::Norm::kLayer;
            draft.spec.embedding_norm = true;
            draft.spec.encodings = {{"alibi", {}}};
            draft.layer.feed_forward.activation = transformer::Activation::kGeluTanh;
            draft.layer.feed_forward.gated = false;
            draft.layer.attention.qkv = transformer::QkvLayout::kPerHead;
            draft.attention_bias = draft.layer.feed_forward.bias = true;
          },
      .fields = {{{"vocab_size"}, vocabulary},
                 {{"hidden_size", "n_embed"}, width},
                 {{"n_layer", "num_hidden_layers"}, layers},
                 {{"n_head", "num_attention_heads"}, heads},
                 {{"layer_norm_epsilon"}, norm_eps, 1e-5},
                 {{"apply_residual_connection_post_layernorm"}, residual_from_norm, false},
                 {{"tie_word_embeddings"}, tied, true},
                 {{"seq_length"}, trained_length, std::int64_t{0}}},
      .finish = [](const CheckpointFiles& checkpoint, Plan& plan) { return set_fused_rows(checkpoint.config, plan); },
      .prefixes = {"transformer.", "", "module."},
      .anchor = "word_embeddings.weight",
      .names = {{"embedding.weight", "word_embeddings.weight"},
                {"embedding_norm", "word_embeddings_layernorm"},
                {"layers.N.attention_norm", "h.N.input_layernorm"},
                {"layers.N.attention.qkv", "h.N.self_attention.query_key_value"},
                {"layers.N.attention.output", "h.N.self_attention.dense"},
                {"layers.N.feed_forward_norm", "h.N.post_attention_layernorm"},
                {"layers.N.feed_forward.{up,down}", "h.N.mlp.dense_{h_to_4h,4h_to_h}"},
                {"final_norm", "ln_f"}},
      .outside = {{"head", "lm_head"}},
      .skipped = {"lm_head.weight"},
      .harmless = {"slow_but_exact", "seq_length"},
  };
}();

}  // namespace locus::families
