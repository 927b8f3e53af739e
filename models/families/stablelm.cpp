// StableLM: Llama with LayerNorms and rotation of a quarter of each head; optionally parallel branches, optionally q
// and k normalised per head with separate vectors.
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

Status finish_stablelm(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_TRY(const double fraction, rotated_fraction(config, 0.25));
  LOCUS_CHECK(set_rope(config, plan, 10000.0, "half", fraction));
  LOCUS_TRY(const bool parallel, config.boolean("use_parallel_residual", false));
  LOCUS_TRY(const bool normed, config.boolean("qk_layernorm", false));
  plan.spec.each([&](std::int64_t, transformer::LayerSpec& layer) {
    layer.parallel = layer.shared_norm = parallel;
    if (normed) {
      layer.attention.norm = {transformer::QueryNormForm::kOwn, transformer::Norm::kLayer, true, false,
                              plan.spec.norm_eps};
    }
  });
  return {};
}

}  // namespace

const Family kStablelm = [] {
  Family family = llama("stablelm");
  family.fixed = [](Draft& draft) { draft.spec.norm = transformer::Norm::kLayer; };
  family.set({{"layer_norm_eps"}, slot::norm_eps, 1e-5});
  family.set({{"use_qkv_bias"}, slot::qkv_bias, false});
  family.finish = finish_stablelm;
  family.names.push_back({"layers.N.attention.{query,key}_norm.J", "layers.N.self_attn.{q,k}_layernorm.norms.J"});
  return family;
}();

}  // namespace locus::families
