// BERT as a masked language model: post-norm, bidirectional, learned positions; every token has segment 0.
#include "models/families/list.h"

#include "models/families/engine/slots.h"

namespace locus::families {

namespace {

Status finish_bert(const CheckpointFiles& /*checkpoint*/, Plan& plan) {
  plan.spec.encodings = {{"learned", {{"length", plan.spec.trained_length}}}};
  return {};
}

}  // namespace

Family bert(std::string_view name) {
  using namespace slot;
  return {
      .name = name,
      .fixed =
          [](Draft& draft) {
            draft.spec.norm = transformer::Norm::kLayer;
            draft.spec.causal = draft.spec.final_norm = false;
            draft.spec.embedding_norm = draft.spec.head_transform = draft.spec.head_bias = true;
            draft.layer.attention_norm = draft.layer.feed_forward_norm = transformer::NormPlace::kPost;
            draft.layer.feed_forward.gated = false;
            draft.attention_bias = draft.layer.feed_forward.bias = true;
          },
      .fields = {{{"vocab_size"}, vocabulary},
                 {{"hidden_size"}, width},
                 {{"num_hidden_layers"}, layers},
                 {{"num_attention_heads"}, heads},
                 {{"intermediate_size"}, inner},
                 {{"layer_norm_eps"}, norm_eps, 1e-12},
                 {{"hidden_act"}, activation, "gelu"},
                 {{"type_vocab_size"}, token_types, std::int64_t{2}},
                 {{"max_position_embeddings"}, trained_length, std::int64_t{512}},
                 {{"tie_word_embeddings"}, tied, true}},
      .refused = {"is_decoder", "add_cross_attention"},
      .fixed_fields = {{"position_embedding_type", {"absolute"}}},
      .finish = finish_bert,
      .prefixes = {"bert.", "", "module.bert."},
      .anchor = "embeddings.word_embeddings.weight",
      .names = {{"embedding.weight", "embeddings.word_embeddings.weight"},
                {"token_type.weight", "embeddings.token_type_embeddings.weight"},
                {"position.position_embedding", "embeddings.position_embeddings.weight"},
                {"embedding_norm", "embeddings.LayerNorm"},
                {"layers.N.attention.{query,key,value}", "encoder.layer.N.attention.self.{query,key,value}"},
                {"layers.N.attention.output", "encoder.layer.N.attention.output.dense"},
                {"layers.N.attention_norm", "encoder.layer.N.attention.output.LayerNorm"},
                {"layers.N.feed_forward.{up,down}", "encoder.layer.N.{intermediate,output}.dense"},
                {"layers.N.feed_forward_norm", "encoder.layer.N.output.LayerNorm"}},
      .outside = {{"head.bias", "cls.predictions.bias"},
                  {"head_transform", "cls.predictions.transform.dense"},
                  {"head_norm", "cls.predictions.transform.LayerNorm"},
                  {"head.weight", "cls.predictions.decoder.weight"}},
      .skipped = {"position_ids", "predictions.decoder.weight", "predictions.decoder.bias"},
  };
}

const Family kBert = bert("bert");

}  // namespace locus::families
