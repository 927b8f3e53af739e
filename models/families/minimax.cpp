// MiniMax 01: lightning attention in most layers, soft-max attention in the others; experts. A branch starts from its
// norm, and branch and stream have factors of their own. MiniMax M3: an index chooses blocks of keys in long texts.
#include <ATen/ATen.h>

#include <algorithm>

#include "models/families/engine/layer_kinds.h"
#include "models/families/engine/slots.h"
#include "models/families/list.h"
#include "models/transformer/mixers/kinds.h"
#include "models/transformer/weights.h"

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

// Slopes that a file stores must be those that are computed, up to the rounding of 16 bits.
Status check_slopes(const CheckpointFiles& checkpoint, const Plan& plan) {
  constexpr double kRounding = 8e-3;
  for (std::int64_t n = 0; n < plan.spec.depth() && checkpoint.tensors != nullptr; ++n) {
    const std::string name = layer_prefix("model.layers.", n) + "self_attn.slope_rate";
    const formats::TensorInfo* const stored = checkpoint.find(name);
    const LayerSpec& layer = plan.spec.layers[static_cast<std::size_t>(n)];
    if (stored == nullptr || !layer.has_mixer()) {
      continue;
    }
    const at::Tensor slopes = transformer::lightning_slopes(layer.mixer.heads, n, plan.spec.depth());
    const bool fits = stored->elements() == slopes.numel() &&
                      (stored->dtype == formats::DType::kF32 || stored->dtype == formats::DType::kF16 ||
                       stored->dtype == formats::DType::kBF16);
    if (!fits || !at::allclose(transformer::to_tensor(*stored, checkpoint.tensors).flatten(), slopes, kRounding, 0)) {
      return unsupported("expected the slopes 2^(−8(h+1)/H)·(1 − l/(L − 1) + 10⁻⁵) of " +
                             std::to_string(slopes.numel()) + " heads, found other numbers",
                         stored->file.string() + ": tensor " + name);
    }
  }
  return {};
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
  return check_slopes(checkpoint, plan);
}

// The field, or the one that a published configuration has in an object.
Result<std::int64_t> sparse_field(const Config& config, const char* field, const char* published, std::int64_t usual) {
  LOCUS_TRY(const Config block, group(config, "sparse_attention_config"));
  return block.has(published) ? integer_or(block, published, usual) : integer_or(config, field, usual);
}

// In sparse layers each query reads some blocks of keys; all of a text that has no more blocks.
Status finish_m3(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_TRY(const double fraction, rotated_fraction(config, 1.0));
  LOCUS_CHECK(set_rope(config, plan, 5e6, "half", fraction));
  LOCUS_TRY(const std::vector<bool> chooses,
            layers_of_type(config, "layer_types", plan.spec.depth(), "minimax_m3_sparse", "full_attention",
                           [](std::int64_t) { return false; }));
  LOCUS_TRY(const std::int64_t block, sparse_field(config, "index_block_size", "sparse_block_size", 128));
  LOCUS_TRY(const std::int64_t blocks, sparse_field(config, "index_topk_blocks", "sparse_topk_blocks", 16));
  LOCUS_TRY(const Config published, group(config, "sparse_attention_config"));
  const bool listed = published.has("sparse_attention_freq") && !config.has("layer_types");
  LOCUS_TRY(const std::vector<std::int64_t> freq,
            listed ? layer_list(published, "sparse_attention_freq", plan.spec.depth())
                   : Result<std::vector<std::int64_t>>(std::vector<std::int64_t>()));
  const bool any = std::count(chooses.begin(), chooses.end(), true) > 0 ||
                   std::any_of(freq.begin(), freq.end(), [](std::int64_t each) { return each != 0; });
  plan.spec.all_seen = any ? block * blocks : 0;
  LOCUS_TRY(const std::int64_t dense_inner, integer_or(config, "dense_intermediate_size", 12288));
  LOCUS_TRY(const std::vector<std::int64_t> routed, config.has("mlp_layer_types")
                                                        ? Result<std::vector<std::int64_t>>(std::vector<std::int64_t>())
                                                        : layer_list(config, "moe_layer_freq", plan.spec.depth()));
  LOCUS_TRY(const std::vector<bool> sparse,
            layers_of_type(config, "mlp_layer_types", plan.spec.depth(), "sparse", "dense",
                           [&](std::int64_t n) { return routed.empty() || routed[static_cast<std::size_t>(n)] != 0; }));
  plan.spec.each([&](std::int64_t n, LayerSpec& layer) {
    if (!sparse[static_cast<std::size_t>(n)]) {
      layer.feed_forward.experts = {};
      layer.feed_forward.inner = dense_inner;
    }
  });
  for (const char* const part : {"q_proj", "k_proj", "q_norm", "k_norm"}) {
    plan.skipped.push_back("indexer." + std::string(part) + ".weight");
    plan.skipped.push_back("self_attn.index_" + std::string(part) + ".weight");
  }
  return {};
}

double& clamp(Draft& draft) {
  return draft.layer.feed_forward.clamp;
}
double& alpha(Draft& draft) {
  return draft.layer.feed_forward.alpha;
}

}  // namespace

const Family kMiniMaxM3 = [] {
  using namespace slot;
  Family family = llama("minimax_m3_vl_text");
  family.fixed = [](Draft& draft) {
    draft.layer.attention.norm.form = transformer::QueryNormForm::kHead;
    draft.layer.feed_forward.experts.router = transformer::Router::kSigmoid;
    draft.layer.feed_forward.experts.correction = draft.layer.feed_forward.experts.normalised = true;
  };
  family.set({{"head_dim"}, head_width, std::int64_t{128}});
  family.set({{"num_local_experts", "num_experts"}, experts, std::int64_t{128}});
  family.set({{"num_experts_per_tok"}, chosen_experts, std::int64_t{4}});
  family.set({{"shared_intermediate_size"}, shared_expert, std::int64_t{3072}});
  family.set({{"routed_scaling_factor"}, expert_factor, 2.0});
  family.set({{"swiglu_limit"}, clamp, 7.0});
  family.set({{"swiglu_alpha"}, alpha, 1.702});
  std::erase_if(family.fields, [](const Field& field) {
    return field.names.front() == "hidden_act" || field.names.front() == "attention_bias" ||
           field.names.front() == "mlp_bias";
  });
  // The activation is the clamped one whatever the field says; rotary_dim is not read.
  family.harmless = {"hidden_act",    "rotary_dim",         "router_jitter_noise",    "index_head_dim",
                     "index_n_heads", "index_local_blocks", "sparse_attention_config"};
  family.finish = finish_m3;
  for (const auto& [parameter, tensor] : {std::pair{"layers.N.attention_norm", "layers.N.input_layernorm"},
                                          std::pair{"layers.N.feed_forward_norm", "layers.N.post_attention_layernorm"},
                                          std::pair{"final_norm", "norm"}}) {
    family.rename({parameter, tensor, Layout::kPlusOne});
  }
  family.names.push_back({"layers.N.attention.{query,key}_norm", "layers.N.self_attn.{q,k}_norm", Layout::kPlusOne});
  const std::string to = "layers.N.feed_forward.";
  for (const char* const place : {"mlp", "block_sparse_moe"}) {
    const std::string from = "layers.N." + std::string(place) + ".";
    family.names.push_back({to + "router", from + "gate"});
    family.names.push_back({to + "correction", from + (from.ends_with(".mlp.") ? "gate.e_score_correction_bias"
                                                                               : "e_score_correction_bias")});
    family.names.push_back({to + "experts.J.{gate,up,down}", from + "experts.J.{w1,w3,w2}"});
    family.names.push_back({to + "shared.{gate,up,down}", from + "shared_experts.{gate,up,down}_proj"});
    for (const auto& [part, index] : {std::pair{"gate", 0}, std::pair{"up", 1}}) {
      const std::string end = std::string(part) + ".weight";
      family.names.push_back(
          {to + "shared." + end, from + "shared_experts.gate_up_proj.weight", {}, {.index = index, .of = 2}});
      family.names.push_back(
          {to + "experts.J." + end, from + "experts.gate_up_proj", {}, {.index = index, .of = 2, .stacked = true}});
      family.names.push_back({to + end, from + "gate_up_proj.weight", {}, {.index = index, .of = 2}});
    }
    family.names.push_back({to + "experts.J.down.weight", from + "experts.down_proj", {}, {.stacked = true}});
  }
  return family;
}();

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
