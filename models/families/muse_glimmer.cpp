// Muse Glimmer (text): Llama with norms of 1 + weight on both sides, a normed embedding, q and k normed without weight and
// gated attention; every fourth layer, counted from the last, sees all keys without positions.
#include <cmath>

#include "core/base/numbers.h"
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

Status finish_muse(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  const std::int64_t depth = plan.spec.depth();
  const auto whole = [&](std::int64_t n) { return (depth - 1 - n) % 4 == 0; };
  LOCUS_CHECK(set_rope(config, plan));
  LOCUS_TRY(const double base, plan.spec.encodings.front().options.number("base", 10000.0));
  LOCUS_TRY(const std::int64_t window, config.integer("sliding_window", 2048));
  LOCUS_CHECK(set_windows(config, plan.spec, window, [&](std::int64_t n) { return !whole(n); }));
  // A base of 0 is a layer without positions; the others have the base of all layers.
  std::vector<double> bases;
  if (config.has("layer_rope_theta")) {
    LOCUS_TRY(bases, config.numbers("layer_rope_theta"));
    LOCUS_CHECK(check_entries(bases.size(), depth, config.context("layer_rope_theta")));
  }
  for (const double own : bases) {
    if (own != 0 && own != base) {
      return unsupported("expected 0 or rope_theta " + general_text(base, 12) + ", found " + general_text(own, 12),
                         config.context("layer_rope_theta"));
    }
  }
  if (!(plan.spec.after_norm_eps > 0)) {
    return unsupported("expected a number above 0, found " + general_text(plan.spec.after_norm_eps, 6),
                       config.context("post_norm_eps"));
  }
  LOCUS_TRY(const double factor, config.number("qk_scale_factor", 3.87));
  plan.spec.each([&](std::int64_t n, transformer::LayerSpec& layer) {
    const bool still = bases.empty() ? whole(n) : bases[static_cast<std::size_t>(n)] == 0;
    layer.encoding = still ? -1 : 0;
    layer.attention.scale = factor / std::sqrt(static_cast<double>(layer.attention.head_width));
  });
  return {};
}

}  // namespace

const Family kMuseGlimmer = [] {
  Family family = llama("muse_glimmer_text");
  family.fixed = [](Draft& draft) {
    draft.spec.embedding_norm = true;
    draft.spec.embedding_norm_weight = false;
    draft.layer.attention.norm.form = transformer::QueryNormForm::kHead;
    draft.layer.attention.norm.weight = false;
    draft.layer.attention.gate.form = transformer::GateForm::kChannel;
    draft.layer.attention_norm = draft.layer.feed_forward_norm = transformer::NormPlace::kBoth;
  };
  family.set({{"rms_norm_eps"}, slot::norm_eps, 1e-5});
  family.set({{"post_norm_eps"}, +[](Draft& draft) -> double& { return draft.spec.after_norm_eps; }, 1e-8});
  family.set({{"hidden_activation"}, slot::activation, "silu"});
  family.set({{"head_dim"}, slot::head_width, std::int64_t{128}});
  family.set({{"output_multiplier"}, slot::logit_scale, 0.19611613513818404});
  family.set({{"final_logit_softcapping"}, slot::logit_cap, 20.0});
  family.finish = finish_muse;
  family.rename({"layers.N.attention_norm", "layers.N.input_layernorm", Layout::kPlusOne});
  family.rename({"layers.N.attention_after_norm", "layers.N.post_attention_layernorm", Layout::kPlusOne});
  family.rename({"layers.N.feed_forward_norm", "layers.N.pre_feedforward_layernorm", Layout::kPlusOne});
  family.rename({"layers.N.feed_forward_after_norm", "layers.N.post_feedforward_layernorm", Layout::kPlusOne});
  family.names.push_back({"layers.N.attention.gate", "layers.N.self_attn.gate_proj"});
  return family;
}();

}  // namespace locus::families
