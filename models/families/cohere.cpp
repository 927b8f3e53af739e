// Cohere (Command R) and Cohere 2: parallel branches after one LayerNorm without bias, interleaved RoPE, scaled logits.
// In Cohere 2 most layers have a window, and the others no positions.
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

Family cohere(std::string_view name) {
  Family family = llama(name);
  family.fixed = [](Draft& draft) {
    draft.spec.norm = transformer::Norm::kLayer;
    draft.spec.norm_bias = false;
    draft.layer.parallel = draft.layer.shared_norm = true;
  };
  family.set({{"layer_norm_eps"}, slot::norm_eps, 1e-5});
  family.set({{"logit_scale"}, slot::logit_scale, 0.0625});
  family.set({{"tie_word_embeddings"}, slot::tied, true});
  return family;
}

Status finish_cohere(const CheckpointFiles& checkpoint, Plan& plan) {
  LOCUS_CHECK(set_rope(checkpoint.config, plan, 500000.0, "interleaved"));
  LOCUS_TRY(const bool normed, checkpoint.config.boolean("use_qk_norm", false));
  plan.spec.each([&](std::int64_t, transformer::LayerSpec& layer) {
    if (normed) {
      layer.attention.norm = {transformer::QueryNormForm::kOwn, transformer::Norm::kLayer, true, false,
                              plan.spec.norm_eps};
    }
  });
  return {};
}

Status finish2(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_CHECK(set_rope(config, plan, 10000.0, "interleaved"));
  LOCUS_TRY(const std::int64_t window, config.integer("sliding_window", 4096));
  LOCUS_TRY(const std::int64_t pattern, config.integer("sliding_window_pattern", 4));
  if (pattern < 1 || window < 1) {
    return bad_input("expected a pattern and a window of at least 1, found " + std::to_string(pattern) + " and " +
                         std::to_string(window),
                     config.file());
  }
  LOCUS_CHECK(set_windows(config, plan.spec, window, [&](std::int64_t n) { return (n + 1) % pattern != 0; }));
  plan.spec.each(
      [](std::int64_t, transformer::LayerSpec& layer) { layer.encoding = layer.attention.window > 0 ? 0 : -1; });
  return {};
}

}  // namespace

const Family kCohere = [] {
  Family family = cohere("cohere");
  family.finish = finish_cohere;
  // A name row for one tensor per head.
  const Piece row{.stacked = true};
  family.names.push_back(
      {"layers.N.attention.{query,key}_norm.J.weight", "layers.N.self_attn.{q,k}_norm.weight", {}, row});
  return family;
}();

const Family kCohere2 = [] {
  Family family = cohere("cohere2");
  family.refused = {"use_qk_norm"};
  family.fixed_fields = {{"position_embedding_type", {"rope_gptj"}},
                         {"rotary_pct", {1.0}},
                         {"use_gated_activation", {true}},
                         {"use_parallel_block", {true}},
                         {"order_of_interleaved_layers", {"local_attn_first"}}};
  family.finish = finish2;
  return family;
}();

}  // namespace locus::families
