// OPT: pre-norm, learned positions with two unused rows at the start, ReLU.
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

Status finish_opt(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  for (const auto& [flag, expected] :
       {std::pair{"do_layer_norm_before", true}, std::pair{"enable_bias", true},
        std::pair{"layer_norm_elementwise_affine", true}, std::pair{"_remove_final_layer_norm", false}}) {
    LOCUS_TRY(const bool found, config.boolean(flag, expected));
    if (found != expected) {
      return unsupported(std::string("field ") + flag + ": expected " + (expected ? "true" : "false"), config.file());
    }
  }
  LOCUS_TRY(const std::int64_t projected, config.integer("word_embed_proj_dim", plan.spec.width));
  if (projected != plan.spec.width) {
    return unsupported("field word_embed_proj_dim: expected the width " + std::to_string(plan.spec.width) + ", found " +
                           std::to_string(projected),
                       config.file());
  }
  plan.spec.encodings = {{"learned", {{"length", plan.spec.trained_length}, {"class_rows", std::int64_t{2}}}}};
  return {};
}

}  // namespace

const Family kOpt = [] {
  using namespace slot;
  return Family{
      .name = "opt",
      .fixed =
          [](Draft& draft) {
            draft.spec.norm = transformer::Norm::kLayer;
            draft.layer.feed_forward.gated = false;
            draft.attention_bias = draft.layer.feed_forward.bias = true;
          },
      .fields = {{{"vocab_size"}, vocabulary},
                 {{"hidden_size"}, width},
                 {{"num_hidden_layers"}, layers},
                 {{"num_attention_heads"}, heads},
                 {{"ffn_dim"}, inner},
                 {{"activation_function"}, activation, "relu"},
                 {{"tie_word_embeddings"}, tied, true},
                 {{"max_position_embeddings"}, trained_length, std::int64_t{2048}}},
      .finish = finish_opt,
      .prefixes = {"model.decoder.", "decoder.", "module.model.decoder."},
      .anchor = "embed_tokens.weight",
      .names = {{"embedding.weight", "embed_tokens.weight"},
                {"position.position_embedding", "embed_positions.weight"},
                {"layers.N.attention_norm", "layers.N.self_attn_layer_norm"},
                {"layers.N.attention.{query,key,value,output}", "layers.N.self_attn.{q,k,v,out}_proj"},
                {"layers.N.feed_forward_norm", "layers.N.final_layer_norm"},
                {"layers.N.feed_forward.{up,down}", "layers.N.fc{1,2}"},
                {"final_norm", "final_layer_norm"}},
      .outside = {{"head", "lm_head"}},
      .skipped = {"lm_head.weight"},
  };
}();

}  // namespace locus::families
