// GPT-J: parallel branches after one LayerNorm, the first rotary_dim channels rotated in interleaved pairs.
#include <algorithm>

#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

Status finish_gptj(const CheckpointFiles& checkpoint, Plan& plan) {
  const std::int64_t width = plan.spec.first().attention.head_width;
  LOCUS_TRY(const std::int64_t rotated, checkpoint.config.integer("rotary_dim", std::min<std::int64_t>(64, width)));
  if (checkpoint.config.has_null("rotary_dim")) {
    return unsupported("expected a number, found null", checkpoint.config.context("rotary_dim"));
  }
  if (rotated < 1 || rotated > width) {
    return bad_input("expected 1 to " + std::to_string(width) + ", found " + std::to_string(rotated),
                     checkpoint.config.context("rotary_dim"));
  }
  const double fraction = static_cast<double>(rotated) / static_cast<double>(width);
  plan.spec.encodings = {{"rope", {{"layout", std::string("interleaved")}, {"fraction", fraction}}}};
  return {};
}

}  // namespace

const Family kGptj = [] {
  using namespace slot;
  return Family{
      .name = "gptj",
      .fixed =
          [](Draft& draft) {
            draft.spec.norm = transformer::Norm::kLayer;
            draft.spec.head_bias = true;
            draft.layer.parallel = draft.layer.shared_norm = true;
            draft.layer.feed_forward.gated = false;
            draft.layer.feed_forward.bias = true;
          },
      .fields = {{{"vocab_size"}, vocabulary},
                 {{"n_embd"}, width},
                 {{"n_layer"}, layers},
                 {{"n_head"}, heads},
                 {{"n_inner"}, inner, kFollows},
                 {{"layer_norm_epsilon"}, norm_eps, 1e-5},
                 {{"activation_function"}, activation, "gelu_new"},
                 {{"tie_word_embeddings"}, tied, false},
                 {{"n_positions"}, trained_length, std::int64_t{2048}}},
      .finish = finish_gptj,
      .prefixes = {"transformer.", "", "module.transformer."},
      .anchor = "wte.weight",
      .names = {{"embedding.weight", "wte.weight"},
                {"layers.N.attention_norm", "h.N.ln_1"},
                {"layers.N.attention.{query,key,value,output}", "h.N.attn.{q,k,v,out}_proj"},
                {"layers.N.feed_forward.{up,down}", "h.N.mlp.fc_{in,out}"},
                {"final_norm", "ln_f"}},
      .outside = {{"head", "lm_head"}},
      .skipped = {"attn.bias", "attn.masked_bias"},
  };
}();

}  // namespace locus::families
