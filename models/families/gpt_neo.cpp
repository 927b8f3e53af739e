// GPT-Neo (TinyStories): learned positions, unscaled scores, a window in every second layer.
#include "core/base/shown.h"
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

// Reads attention_layers, with an entry per layer.
Result<std::vector<std::string>> kinds_of(const Config& config, std::int64_t layers) {
  constexpr const char* kField = "attention_layers";
  LOCUS_TRY(std::vector<std::string> kinds, config.texts(kField));
  for (const std::string& kind : kinds) {
    if (kind != "global" && kind != "local") {
      return bad_input("expected global or local, found " + shown(kind), config.context(kField));
    }
  }
  LOCUS_CHECK(check_entries(kinds.size(), layers, config.context(kField)));
  return kinds;
}

Status finish_gpt_neo(const CheckpointFiles& checkpoint, Plan& plan) {
  plan.spec.encodings = {{"learned", {{"length", plan.spec.trained_length}}}};
  LOCUS_TRY(const std::int64_t window, checkpoint.config.integer("window_size", 256));
  LOCUS_TRY(const std::vector<std::string> kinds, kinds_of(checkpoint.config, plan.spec.depth()));
  plan.spec.each([&](std::int64_t n, transformer::LayerSpec& layer) {
    layer.attention.window = kinds[static_cast<std::size_t>(n)] == "local" ? window : 0;
    layer.attention.scale = 1;
  });
  return {};
}

}  // namespace

const Family kGptNeo = [] {
  using namespace slot;
  return Family{
      .name = "gpt_neo",
      .fixed =
          [](Draft& draft) {
            draft.spec.norm = transformer::Norm::kLayer;
            draft.layer.feed_forward.gated = false;
            draft.layer.feed_forward.bias = draft.layer.attention.output_bias = true;
          },
      .fields = {{{"vocab_size"}, vocabulary},
                 {{"hidden_size"}, width},
                 {{"num_layers"}, layers},
                 {{"num_heads"}, heads},
                 {{"intermediate_size"}, inner, kFollows},
                 {{"layer_norm_epsilon"}, norm_eps, 1e-5},
                 {{"activation_function"}, activation, "gelu_new"},
                 {{"tie_word_embeddings"}, tied, true},
                 {{"max_position_embeddings"}, trained_length, std::int64_t{2048}}},
      .fixed_fields = {{"is_causal", {true}}},  // the library's class masks the future whatever it says
      .finish = finish_gpt_neo,
      .prefixes = {"transformer.", "", "module.transformer."},
      .anchor = "wte.weight",
      .names = {{"embedding.weight", "wte.weight"},
                {"position.position_embedding", "wpe.weight"},
                {"layers.N.attention_norm", "h.N.ln_1"},
                {"layers.N.attention.{query,key,value,output}", "h.N.attn.attention.{q,k,v,out}_proj"},
                {"layers.N.feed_forward_norm", "h.N.ln_2"},
                {"layers.N.feed_forward.{up,down}", "h.N.mlp.c_{fc,proj}"},
                {"final_norm", "ln_f"}},
      .outside = {{"head", "lm_head"}},
      .skipped = {"attn.attention.bias", "attn.attention.masked_bias", "lm_head.weight"},
      .harmless = {"attention_types"},
  };
}();

}  // namespace locus::families
