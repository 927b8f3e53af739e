// Doge: Llama with norms of queries and keys, whose keys have a learned part of their scores, and whose sums weight the
// stream channel by channel.
#include <cmath>

#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

Status finish_doge(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  const std::int64_t width = plan.spec.first().attention.head_width;
  plan.spec.each([width](std::int64_t, transformer::LayerSpec& layer) {
    layer.attention.key_bonus = true;
    layer.attention.value_width = width;
    layer.attention.head_width = width + 1;
    layer.attention.scale = 1 / std::sqrt(static_cast<double>(width));
    layer.attention_sum.learned = layer.feed_forward_sum.learned = true;
  });
  // Each query reads the best keys alone, of those that its window shows.
  LOCUS_TRY(const std::int64_t kept, integer_or(config, "keep_window_size", 2048));
  const std::int64_t window = plan.spec.first().attention.window;
  plan.spec.all_seen = window > 0 && window <= kept ? 0 : kept;
  return set_rope(config, plan, 10000.0, "half", static_cast<double>(width) / static_cast<double>(width + 1));
}

}  // namespace

const Family kDoge = [] {
  Family family = llama("doge");
  family.fixed = [](Draft& draft) { draft.layer.attention.norm.form = transformer::QueryNormForm::kHead; };
  family.set({{"sliding_window"}, slot::window, std::int64_t{0}});
  family.refused = {"is_moe"};
  family.finish = finish_doge;
  family.names.push_back({"layers.N.attention.{query,key}_norm", "layers.N.self_attn.{q,k}_norm"});
  family.names.push_back({"layers.N.attention.bonus", "layers.N.self_attn.dt_proj"});
  family.names.push_back({"layers.N.attention.bonus_rate", "layers.N.self_attn.A"});
  family.names.push_back({"layers.N.{attention,feed_forward}_stream", "layers.N.{input,post_attention}_residual"});
  family.harmless = {"num_experts", "num_experts_per_tok", "norm_topk_prob"};
  return family;
}();

}  // namespace locus::families
