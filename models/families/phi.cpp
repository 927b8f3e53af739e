// Phi (1, 1.5, 2): parallel branches after one LayerNorm, partial rotation of each head, a head bias. Phi-3: Llama with
// q|k|v in one matrix, gate and up in another, and LongRoPE.
#include "core/base/shown.h"
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

Status finish_phi(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_TRY(const double fraction, rotated_fraction(config, 0.5));
  LOCUS_CHECK(set_rope(config, plan, 10000.0, "half", fraction));
  LOCUS_TRY(const bool normed, config.boolean("qk_layernorm", false));
  plan.spec.each([&](std::int64_t, transformer::LayerSpec& layer) {
    if (normed) {
      layer.attention.norm = {transformer::QueryNormForm::kHead, transformer::Norm::kLayer, true, true,
                              plan.spec.norm_eps};
    }
  });
  return {};
}

Status finish_phi3(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_TRY(const Config scaling, rope_block(config));
  LOCUS_TRY(const double base, config.number("rope_theta", 10000.0));
  // Old files of this family call longrope, its only scaling, su or yarn.
  LOCUS_TRY(const std::string named, scaling.text(spelled(scaling, {"rope_type", "type"}), "default"));
  if (named != "default" && named != "longrope" && named != "su" && named != "yarn") {
    return unsupported("expected longrope, found " + shown(named),
                       scaling.context(spelled(scaling, {"rope_type", "type"})));
  }
  // The length before scaling is the config's own field, even if the block has one.
  LOCUS_TRY(const std::int64_t original, integer_or(config, "original_max_position_embeddings", 4096));
  LOCUS_TRY(Settings options, rope_options(config, scaling, base, {named == "default" ? named : "longrope", original}));
  LOCUS_TRY(const double fraction, rotated_fraction(config, 1.0));
  options.set("fraction", fraction);
  plan.spec.encodings = {{"rope", std::move(options)}};
  return {};
}

}  // namespace

const Family kPhi = [] {
  Family family = llama("phi");
  family.fixed = [](Draft& draft) {
    draft.spec.norm = transformer::Norm::kLayer;
    draft.spec.head_bias = true;
    draft.layer.parallel = draft.layer.shared_norm = true;
    draft.layer.feed_forward.gated = false;
  };
  family.set({{"layer_norm_eps"}, slot::norm_eps, 1e-5});
  family.set({{"hidden_act"}, slot::activation, "gelu_new"});
  family.set({{"attention_bias"}, slot::attention_bias, true});
  family.set({{"mlp_bias"}, slot::feed_forward_bias, true});
  family.finish = finish_phi;
  family.rename({"layers.N.attention.output", "layers.N.self_attn.dense"});
  family.rename({"layers.N.feed_forward.{up,down}", "layers.N.mlp.fc{1,2}"});
  family.rename({"final_norm", "final_layernorm"});
  family.names.push_back({"layers.N.attention.{query,key}_norm", "layers.N.self_attn.{q,k}_layernorm"});
  return family;
}();

const Family kPhi3 = [] {
  Family family = llama("phi3");
  family.fixed = [](Draft& draft) { draft.layer.attention.qkv = transformer::QkvLayout::kFused; };
  family.set({{"rms_norm_eps"}, slot::norm_eps, 1e-5});
  family.set({{"sliding_window"}, slot::window, std::int64_t{0}});
  family.finish = finish_phi3;
  family.names.push_back({"layers.N.attention.qkv", "layers.N.self_attn.qkv_proj"});
  family.rename({"layers.N.feed_forward.gate", "layers.N.mlp.gate_up_proj", Layout::kAsIs, {0, 2}});
  family.rename({"layers.N.feed_forward.up", "layers.N.mlp.gate_up_proj", Layout::kAsIs, {1, 2}});
  return family;
}();

}  // namespace locus::families
