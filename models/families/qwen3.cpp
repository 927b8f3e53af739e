// Qwen3: Llama with q and k normalised per head. Qwen3-MoE, Qwen2-MoE and the text of Qwen3-VL-MoE: experts in most
// layers.
#include <algorithm>
#include <string>
#include <string_view>

#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

// A window only with use_sliding_window, in the layers from max_window_layers on.
Status finish_windows(const CheckpointFiles& checkpoint, Plan& plan) {
  LOCUS_CHECK(finish_llama(checkpoint, plan));
  return set_late_windows(checkpoint.config, 0, plan.spec);
}

// Layers that mlp_only_layers or decoder_sparse_step keep dense have one feed-forward of intermediate_size.
Status finish_experts(const CheckpointFiles& checkpoint, Plan& plan) {
  LOCUS_CHECK(finish_windows(checkpoint, plan));
  const Config& config = checkpoint.config;
  LOCUS_TRY(const std::int64_t step, integer_or(config, "decoder_sparse_step", 1));
  LOCUS_TRY(const std::int64_t dense_inner, config.integer("intermediate_size", plan.spec.first().feed_forward.inner));
  std::vector<std::int64_t> dense;
  if (config.has("mlp_only_layers")) {
    LOCUS_TRY(dense, config.integers("mlp_only_layers"));
  }
  plan.spec.each([&](std::int64_t n, transformer::LayerSpec& layer) {
    if ((n + 1) % step != 0 || std::count(dense.begin(), dense.end(), n) > 0) {
      layer.feed_forward.inner = dense_inner;
      layer.feed_forward.experts = {};
    }
  });
  return {};
}

void norm_heads(Draft& draft) {
  draft.layer.attention.norm.form = transformer::QueryNormForm::kHead;
}

const Name kQueryNorms{"layers.N.attention.{query,key}_norm", "layers.N.self_attn.{q,k}_norm"};

void add_experts(Family& family) {
  family.set({{"num_experts", "num_local_experts"}, slot::experts});
  family.set({{"num_experts_per_tok"}, slot::chosen_experts});
  family.set({{"norm_topk_prob"}, slot::normalised_experts, false});
  family.set({{"moe_intermediate_size"}, slot::inner});
  family.names.push_back(
      {"layers.N.feed_forward.experts.J.{gate,up,down}", "layers.N.mlp.experts.J.{gate,up,down}_proj"});
  family.names.push_back(
      {"layers.N.feed_forward.shared.{gate,up,down}", "layers.N.mlp.shared_expert.{gate,up,down}_proj"});
  family.names.push_back({"layers.N.feed_forward.router", "layers.N.mlp.gate"});
  family.names.push_back({"layers.N.feed_forward.shared_gate", "layers.N.mlp.shared_expert_gate"});
  family.finish = finish_experts;
}

// Whether the first tensor with this ending is [E, parts · rows, columns]: as it is, else transposed.
Layout experts_layout(const CheckpointFiles& checkpoint, std::string_view ending, std::int64_t parts, std::int64_t rows,
                      std::int64_t columns) {
  if (checkpoint.tensors == nullptr) {
    return Layout::kTransposed;
  }
  const auto& tensors = checkpoint.tensors->tensors();
  const auto found =
      std::find_if(tensors.begin(), tensors.end(), [&](const auto& each) { return each.name.ends_with(ending); });
  const bool same = found != tensors.end() && found->shape.size() == 3 && found->shape[1] % parts == 0 &&
                    found->shape[1] / parts == rows && found->shape[2] == columns;
  return same ? Layout::kAsIs : Layout::kTransposed;
}

}  // namespace

const Family kQwen3 = [] {
  Family family = llama("qwen3");
  family.fixed = norm_heads;
  family.set({{"head_dim"}, slot::head_width, std::int64_t{128}});
  family.finish = finish_windows;
  family.names.push_back(kQueryNorms);
  return family;
}();

const Family kQwen3Moe = [] {
  Family family = llama("qwen3_moe");
  family.fixed = norm_heads;
  family.names.push_back(kQueryNorms);
  add_experts(family);
  return family;
}();

// Weights of the chosen experts always add up to 1, whatever norm_topk_prob says. As in the library, matrices are taken
// as they are where the shape allows it: transformers 5 saves [E, out, in], published files have [E, in, out].
Result<Family> qwen3_vl_moe_text(const CheckpointFiles& checkpoint, const Config& text) {
  LOCUS_TRY(const std::int64_t width, text.integer("hidden_size"));
  LOCUS_TRY(const std::int64_t inner, text.integer("moe_intermediate_size"));
  Family family = kQwen3Moe;
  family.fixed = [](Draft& draft) {
    norm_heads(draft);
    draft.layer.feed_forward.experts.normalised = true;
  };
  std::erase_if(family.fields, [](const Field& field) { return field.names.front() == "norm_topk_prob"; });
  const std::string to = "layers.N.feed_forward.experts.J.";
  const std::string from = "layers.N.mlp.experts.";
  const Layout joined = experts_layout(checkpoint, "mlp.experts.gate_up_proj", 2, inner, width);
  const Layout down = experts_layout(checkpoint, "mlp.experts.down_proj", 1, width, inner);
  family.names.push_back({to + "gate.weight", from + "gate_up_proj", joined, {.index = 0, .of = 2, .stacked = true}});
  family.names.push_back({to + "up.weight", from + "gate_up_proj", joined, {.index = 1, .of = 2, .stacked = true}});
  family.names.push_back({to + "down.weight", from + "down_proj", down, {.stacked = true}});
  return family;
}

const Family kQwen2Moe = [] {
  Family family = llama("qwen2_moe");
  family.fixed = [](Draft& draft) { draft.layer.feed_forward.experts.shared_gate = true; };
  family.set({{"qkv_bias"}, slot::qkv_bias, true});
  family.set({{"shared_expert_intermediate_size"}, slot::shared_expert});
  add_experts(family);
  return family;
}();

}  // namespace locus::families
