// GPT-2: `[transformer.]h.N.…`, Conv1D weights [in, out], learned positions.
#include "models/families/list.h"

#include "models/families/engine/slots.h"

namespace locus::families {

namespace {

bool recognises_gpt2(const CheckpointFiles& checkpoint) {
  const std::string type = model_type(checkpoint);
  return type == "gpt2" || (type.empty() && checkpoint.find(checkpoint.prefix_of({"transformer.", ""}, "wpe.weight") +
                                                            "wpe.weight") != nullptr);
}

Status finish_gpt2(const CheckpointFiles& /*checkpoint*/, Plan& plan) {
  plan.spec.encodings = {{"learned", {{"length", plan.spec.trained_length}}}};
  return {};
}

}  // namespace

Family gpt2(std::string_view name) {
  using namespace slot;
  constexpr Layout kConv1d = Layout::kTransposed;
  return {
      .name = name,
      .fixed =
          [](Draft& draft) {
            draft.spec.norm = transformer::Norm::kLayer;
            draft.layer.feed_forward.gated = false;
            draft.layer.attention.qkv = transformer::QkvLayout::kFused;
            draft.attention_bias = draft.layer.feed_forward.bias = true;
          },
      .fields = {{{"vocab_size"}, vocabulary},
                 {{"n_embd", "hidden_size"}, width},
                 {{"n_layer", "num_hidden_layers"}, layers},
                 {{"n_head", "num_attention_heads"}, heads},
                 {{"n_inner"}, inner, kFollows},
                 {{"layer_norm_epsilon"}, norm_eps, 1e-5},
                 {{"activation_function"}, activation, "gelu_new"},
                 {{"tie_word_embeddings"}, tied, true},
                 {{"n_positions", "n_ctx", "max_position_embeddings"}, trained_length, std::int64_t{1024}}},
      .refused = {"scale_attn_by_inverse_layer_idx", "add_cross_attention"},
      .fixed_fields = {{"scale_attn_weights", {true}}},
      .prefixes = {"transformer.", "", "module.transformer."},
      .anchor = "wte.weight",
      .names = {{"embedding.weight", "wte.weight"},
                {"layers.N.attention_norm", "h.N.ln_1"},
                {"layers.N.attention.qkv", "h.N.attn.c_attn", kConv1d},
                {"layers.N.attention.output", "h.N.attn.c_proj", kConv1d},
                {"layers.N.feed_forward_norm", "h.N.ln_2"},
                {"layers.N.feed_forward.up", "h.N.mlp.c_fc", kConv1d},
                {"layers.N.feed_forward.down", "h.N.mlp.c_proj", kConv1d},
                {"final_norm", "ln_f"},
                {"position.position_embedding", "wpe.weight"}},
      .outside = {{"head", "lm_head"}},
      .skipped = {"attn.bias", "attn.masked_bias", "lm_head.weight"},
  };
}

const Family kGpt2 = [] {
  Family family = gpt2("gpt2");
  family.recognises = recognises_gpt2;
  family.finish = finish_gpt2;
  // Names in GGUF files, whose matrices are the other way round.
  family.names.push_back({"layers.N.attention.{qkv,output}", "h.N.attn.c_{attn,proj}_rows"});
  family.names.push_back({"layers.N.feed_forward.{up,down}", "h.N.mlp.c_{fc,proj}_rows"});
  return family;
}();

}  // namespace locus::families
