// MiniMax 01: lightning attention in most layers, soft-max attention in the others; experts. A branch starts from its
// norm, and branch and stream have factors of their own.
#include "models/families/engine/layer_kinds.h"
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

using transformer::LayerSpec;
using transformer::MixerSpec;
using transformer::Mixing;

// Fields of the published configuration, under other names in transformers.
Result<double> factor(const Config& config, const char* field, const char* published) {
  return config.number(config.has(field) ? field : published, 1.0);
}

Result<std::vector<bool>> softmax_layers(const Config& config, std::int64_t layers) {
  if (config.has("layer_types") || !config.has("attn_type_list")) {
    return attending_layers(config, layers, "linear_attention", [](std::int64_t n) { return (n + 1) % 2 != 0; });
  }
  LOCUS_TRY(const std::vector<std::int64_t> kinds, layer_list(config, "attn_type_list", layers));
  std::vector<bool> attends;
  for (const std::int64_t kind : kinds) {
    attends.push_back(kind == 1);
  }
  return attends;
}

Status finish_minimax(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_CHECK(check_fixed_fields(config, {{"hidden_act", {"silu"}}}));
  LOCUS_CHECK(set_rope(config, plan, 1e6));
  LOCUS_TRY(const std::vector<bool> attends, softmax_layers(config, plan.spec.depth()));
  const transformer::AttentionSpec& shape = plan.spec.first().attention;
  MixerSpec mixer;
  mixer.kind = Mixing::kLightning;
  mixer.heads = mixer.key_heads = shape.heads;
  mixer.key_width = mixer.value_width = shape.head_width;
  mixer.norm_eps = 1e-6;  // whatever rms_norm_eps says
  LayerSpec full;
  LayerSpec linear;
  LOCUS_TRY(full.attention_sum.stream, factor(config, "full_attn_alpha_factor", "layernorm_full_attention_alpha"));
  LOCUS_TRY(full.attention_sum.branch, factor(config, "full_attn_beta_factor", "layernorm_full_attention_beta"));
  LOCUS_TRY(linear.attention_sum.stream,
            factor(config, "linear_attn_alpha_factor", "layernorm_linear_attention_alpha"));
  LOCUS_TRY(linear.attention_sum.branch, factor(config, "linear_attn_beta_factor", "layernorm_linear_attention_beta"));
  LOCUS_TRY(const double stream, factor(config, "mlp_alpha_factor", "layernorm_mlp_alpha"));
  LOCUS_TRY(const double branch, factor(config, "mlp_beta_factor", "layernorm_mlp_beta"));
  plan.spec.each([&](std::int64_t n, LayerSpec& layer) {
    const bool whole = attends[static_cast<std::size_t>(n)];
    layer.attention_sum = whole ? full.attention_sum : linear.attention_sum;
    layer.feed_forward_sum = {stream, branch};
    if (!whole) {
      layer.attention.window = 0;
      mix_instead(layer, mixer);
    }
  });
  return {};
}

}  // namespace

const Family kMiniMax = [] {
  Family family = llama("minimax");
  family.fixed = [](Draft& draft) {
    draft.layer.residual_from_norm = true;
    draft.layer.feed_forward.experts.normalised = true;
  };
  family.set({{"rms_norm_eps"}, slot::norm_eps, 1e-5});
  family.set({{"num_local_experts", "num_experts"}, slot::experts, std::int64_t{8}});
  family.set({{"num_experts_per_tok"}, slot::chosen_experts, std::int64_t{2}});
  family.set({{"sliding_window"}, slot::window, std::int64_t{0}});
  family.finish = finish_minimax;
  family.names.push_back({"layers.N.feed_forward.router", "layers.N.block_sparse_moe.gate"});
  family.names.push_back(
      {"layers.N.feed_forward.experts.J.{gate,up,down}", "layers.N.block_sparse_moe.experts.J.{w1,w3,w2}"});
  family.names.push_back({"layers.N.mixer.qkv", "layers.N.self_attn.qkv_proj"});
  family.names.push_back({"layers.N.mixer.gate", "layers.N.self_attn.output_gate"});
  family.names.push_back({"layers.N.mixer.norm", "layers.N.self_attn.norm"});
  family.names.push_back({"layers.N.mixer.output", "layers.N.self_attn.out_proj"});
  family.skipped.insert(family.skipped.end(), {"self_attn.slope_rate", "self_attn.query_decay", "self_attn.key_decay",
                                               "self_attn.diagonal_decay"});
  family.harmless = {"block_size", "router_jitter_noise"};
  return family;
}();

}  // namespace locus::families
