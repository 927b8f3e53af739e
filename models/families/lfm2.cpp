// LFM2 and LFM3: gated short convolutions in most layers, attention with normed q and k in the others. LFM2 MoE: experts
// behind the first layers. LFM3: norms on both sides, a gate of each head, and windows with a RoPE of their own.
#include <algorithm>
#include <cmath>
#include <utility>

#include "models/families/engine/layer_kinds.h"
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

using transformer::LayerSpec;
using transformer::MixerSpec;
using transformer::Mixing;

constexpr double kWidest = 1 << 24;

Result<MixerSpec> short_convolution(const Config& config, const transformer::Spec& spec, std::int64_t kernel) {
  MixerSpec mixer;
  mixer.kind = Mixing::kConvolution;
  LOCUS_TRY(mixer.kernel, integer_or(config, "conv_L_cache", kernel));
  LOCUS_TRY(mixer.kernel_bias, config.boolean("conv_bias", false));
  mixer.bias = mixer.kernel_bias;
  // As many bands of channels as the other layers have heads.
  const std::int64_t heads = spec.first().attention.heads;
  mixer.heads = spec.width % heads == 0 ? heads : 1;
  mixer.value_width = spec.width / mixer.heads;
  return mixer;
}

// intermediate_size as LFM2's feed-forward takes it: two thirds, times a factor, rounded up.
Status adjust_inner(const Config& config, Plan& plan) {
  LOCUS_TRY(const bool adjust, config.boolean("block_auto_adjust_ff_dim", true));
  if (!adjust) {
    return {};
  }
  LOCUS_TRY(const double factor, config.number("block_ffn_dim_multiplier", 1.0));
  LOCUS_TRY(const std::int64_t multiple, integer_or(config, "block_multiple_of", 256));
  const double thirds = std::floor(2 * static_cast<double>(plan.spec.first().feed_forward.inner) / 3);
  const double inner = std::floor(factor * thirds);
  if (!(inner >= 1 && inner <= kWidest)) {
    return bad_input("expected a factor that leaves 1 to 16777216 channels",
                     config.context("block_ffn_dim_multiplier"));
  }
  const std::int64_t rounded = (static_cast<std::int64_t>(inner) + multiple - 1) / multiple * multiple;
  plan.spec.each([&](std::int64_t, LayerSpec& layer) { layer.feed_forward.inner = rounded; });
  return {};
}

Status mix(const Config& config, Plan& plan) {
  std::vector<std::int64_t> full;
  const bool listed = config.has("full_attn_idxs");
  if (listed) {
    LOCUS_TRY(full, config.integers("full_attn_idxs"));
  }
  LOCUS_TRY(const std::vector<bool> attends, attending_layers(config, plan.spec.depth(), "conv", [&](std::int64_t n) {
              return !listed || std::count(full.begin(), full.end(), n) > 0;
            }));
  LOCUS_TRY(const MixerSpec mixer, short_convolution(config, plan.spec, 3));
  plan.spec.each([&](std::int64_t n, LayerSpec& layer) {
    if (!attends[static_cast<std::size_t>(n)]) {
      mix_instead(layer, mixer);
    }
  });
  return {};
}

Status finish_lfm2(const CheckpointFiles& checkpoint, Plan& plan) {
  LOCUS_CHECK(set_rope(checkpoint.config, plan, 1e6));
  LOCUS_CHECK(adjust_inner(checkpoint.config, plan));
  return mix(checkpoint.config, plan);
}

Status finish_lfm2_moe(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_CHECK(set_rope(config, plan, 1e6));
  LOCUS_TRY(const std::int64_t dense, integer_or(config, "num_dense_layers", 2, 0));
  LOCUS_TRY(const std::int64_t inner, config.integer("intermediate_size", 7168));
  plan.spec.each([&](std::int64_t n, LayerSpec& layer) {
    if (n < dense) {
      layer.feed_forward.experts = {};
      layer.feed_forward.inner = inner;
    }
  });
  return mix(config, plan);
}

Status finish_lfm3(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  const auto usual = [](std::int64_t n) {
    return n % 4 == 2 ? "full_attention" : n % 4 == 0 && n > 0 ? "sliding_attention" : "conv";
  };
  std::vector<std::string> types;
  if (config.has("layer_types")) {
    LOCUS_TRY(types, config.texts("layer_types"));
    LOCUS_CHECK(check_entries(types.size(), plan.spec.depth(), config.context("layer_types")));
  }
  for (std::int64_t n = static_cast<std::int64_t>(types.size()); n < plan.spec.depth(); ++n) {
    types.emplace_back(usual(n));
  }
  LOCUS_TRY(const std::int64_t window, integer_or(config, "sliding_window", 1024));
  LOCUS_TRY(const bool gate, config.boolean("use_attention_gate", true));
  LOCUS_TRY(const bool sandwich, config.boolean("use_sandwich_norm", true));
  LOCUS_TRY(const MixerSpec mixer, short_convolution(config, plan.spec, 7));
  plan.spec.encodings.clear();
  for (const auto& [kind, base] : {std::pair{"full_attention", 1e6}, std::pair{"sliding_attention", 1e4}}) {
    LOCUS_TRY(const Config block, group(config, std::string("rope_parameters.") + kind));
    const bool whole = kind[0] == 'f' && !config.has("rope_parameters");
    LOCUS_TRY(Settings options, rope_options(config, block, base, {whole ? "proportional" : "", 0, true}));
    plan.spec.encodings.push_back({"rope", std::move(options)});
  }
  for (std::size_t n = 0; n < types.size(); ++n) {
    LayerSpec& layer = plan.spec.layers[n];
    layer.attention.gate.form = gate ? transformer::GateForm::kHead : transformer::GateForm::kNone;
    layer.attention_norm = layer.feed_forward_norm =
        sandwich ? transformer::NormPlace::kBoth : transformer::NormPlace::kPre;
    layer.encoding = types[n] == "sliding_attention" ? 1 : 0;
    layer.attention.window = types[n] == "sliding_attention" ? window : 0;
    if (types[n] == "conv") {
      layer.attention.window = 0;
      mix_instead(layer, mixer);
    } else if (types[n] != "sliding_attention" && types[n] != "full_attention") {
      return unsupported("expected conv, full_attention or sliding_attention, found " + types[n],
                         config.context("layer_types"));
    }
  }
  return {};
}

Family lfm2(std::string_view name) {
  Family family = llama(name);
  family.fixed = [](Draft& draft) { draft.layer.attention.norm.form = transformer::QueryNormForm::kHead; };
  family.set({{"norm_eps"}, slot::norm_eps, 1e-5});
  std::erase_if(family.fields, [](const Field& field) { return field.names.front() == "rms_norm_eps"; });
  family.set({{"tie_word_embeddings", "tie_embedding"}, slot::tied, true});
  family.rename({"layers.N.attention_norm", "layers.N.operator_norm"});
  family.rename({"layers.N.feed_forward_norm", "layers.N.ffn_norm"});
  family.rename({"layers.N.feed_forward.{gate,up,down}", "layers.N.feed_forward.{w1,w3,w2}"});
  family.rename({"final_norm", "embedding_norm"});
  family.names.push_back({"layers.N.mixer.{input,output}", "layers.N.conv.{in,out}_proj"});
  family.names.push_back({"layers.N.mixer.convolution.weight", "layers.N.conv.conv.weight", Layout::kReshaped});
  family.names.push_back({"layers.N.mixer.convolution.bias", "layers.N.conv.conv.bias"});
  return family;
}

// Names of LFM2's attention.
void name_attention(Family& family) {
  family.rename({"layers.N.attention.output", "layers.N.self_attn.out_proj"});
  family.names.push_back({"layers.N.attention.{query,key}_norm", "layers.N.self_attn.{q,k}_layernorm"});
}

}  // namespace

const Family kLfm2 = [] {
  Family family = lfm2("lfm2");
  family.set({{"intermediate_size", "block_ff_dim"}, slot::inner, std::int64_t{12288}});
  name_attention(family);
  family.finish = finish_lfm2;
  return family;
}();

const Family kLfm2Moe = [] {
  Family family = lfm2("lfm2_moe");
  family.fixed = [](Draft& draft) {
    draft.layer.attention.norm.form = transformer::QueryNormForm::kHead;
    draft.layer.feed_forward.experts.router = transformer::Router::kSigmoid;
  };
  name_attention(family);
  std::erase_if(family.fields, [](const Field& field) { return field.names.front() == "intermediate_size"; });
  family.set({{"moe_intermediate_size"}, slot::inner, std::int64_t{1792}});
  family.set({{"num_experts", "num_local_experts"}, slot::experts, std::int64_t{32}});
  family.set({{"num_experts_per_tok"}, slot::chosen_experts, std::int64_t{4}});
  family.set({{"norm_topk_prob"}, slot::normalised_experts, true});
  family.set({{"routed_scaling_factor"}, slot::expert_factor, 1.0});
  family.set(
      {{"use_expert_bias"}, +[](Draft& draft) -> bool& { return draft.layer.feed_forward.experts.correction; }, true});
  family.names.push_back(
      {"layers.N.feed_forward.experts.J.{gate,up,down}", "layers.N.feed_forward.experts.J.{w1,w3,w2}"});
  family.names.push_back({"layers.N.feed_forward.router", "layers.N.feed_forward.gate"});
  family.names.push_back({"layers.N.feed_forward.correction", "layers.N.feed_forward.expert_bias"});
  family.finish = finish_lfm2_moe;
  return family;
}();

const Family kLfm3 = [] {
  Family family = lfm2("lfm3");
  family.set({{"intermediate_size", "block_ff_dim"}, slot::inner});
  family.names.push_back({"layers.N.attention_after_norm", "layers.N.post_operator_norm"});
  family.names.push_back({"layers.N.feed_forward_after_norm", "layers.N.post_ffn_norm"});
  family.names.push_back({"layers.N.attention.{query,key}_norm", "layers.N.self_attn.{q,k}_norm"});
  family.names.push_back({"layers.N.attention.gate", "layers.N.self_attn.gate_proj"});
  family.names.push_back({"layers.N.attention.gate", "layers.N.self_attn.g_proj"});
  family.finish = finish_lfm3;
  return family;
}();

}  // namespace locus::families
