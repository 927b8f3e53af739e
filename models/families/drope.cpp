// DroPE: Llama and Qwen2 trained with RoPE, then without it (arXiv:2512.12167). Their files still have a rope_theta, which
// means nothing.
#include <algorithm>
#include <iterator>
#include <string_view>

#include "core/base/shown.h"
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

struct Normed {
  std::string_view type;
  transformer::QueryNormForm form;
  transformer::NormedSides sides;
};
constexpr Normed kNormed[]{
    {"nope", transformer::QueryNormForm::kNone, transformer::NormedSides::kBoth},
    {"qk_norm_nope", transformer::QueryNormForm::kWhole, transformer::NormedSides::kBoth},
    {"q_norm_nope", transformer::QueryNormForm::kWhole, transformer::NormedSides::kQuery},
    {"k_norm_nope", transformer::QueryNormForm::kWhole, transformer::NormedSides::kKey},
};

Status finish_drope(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_TRY(const std::string type, config.text("attention_type", "nope"));
  const auto* const found = std::ranges::find_if(kNormed, [&](const Normed& each) { return type == each.type; });
  if (found == std::end(kNormed)) {
    return unsupported("expected nope, qk_norm_nope, q_norm_nope or k_norm_nope, found " + shown(type),
                       config.context("attention_type"));
  }
  plan.spec.encodings = {{"none", {}}};
  plan.spec.each([&](std::int64_t, transformer::LayerSpec& layer) {
    layer.attention.norm.form = found->form;
    layer.attention.norm.sides = found->sides;
    layer.attention.norm.eps = plan.spec.norm_eps;
  });
  return {};
}

Status finish_qwen2_drope(const CheckpointFiles& checkpoint, Plan& plan) {
  LOCUS_CHECK(finish_drope(checkpoint, plan));
  return set_late_windows(checkpoint.config, 4096, plan.spec);
}

Family drope(std::string_view name) {
  Family family = llama(name);
  family.set({{"softmax_scale"}, slot::attention_scale, 0.0});
  family.names.push_back({"layers.N.attention.{query,key}_norm", "layers.N.self_attn.{q,k}_norm"});
  family.finish = finish_drope;
  for (const std::string_view field : {"rope_theta", "rope_scaling", "rope_parameters"}) {
    family.harmless.push_back(field);
  }
  return family;
}

}  // namespace

const Family kLlamaDrope = drope("llama_drope");

const Family kQwen2Drope = [] {
  Family family = drope("qwen2_drope");
  family.fixed = [](Draft& draft) { draft.qkv_bias = true; };
  family.finish = finish_qwen2_drope;
  return family;
}();

}  // namespace locus::families
