// Hybrids of Mamba-2 and attention: Bamba, Granite 4 (experts beside a shared feed-forward), Falcon-H1 (both in every
// layer), Nemotron-H (each layer is one of Mamba-2, attention or a feed-forward).
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/base/numbers.h"
#include "core/base/shown.h"
#include "models/families/engine/layer_kinds.h"
#include "models/families/engine/slots.h"
#include "models/families/list.h"
#include "models/families/state_space_fields.h"

namespace locus::families {

namespace {

using transformer::LayerSpec;
using transformer::MixerNorm;
using transformer::MixerSpec;
using transformer::Mixing;

Result<MixerSpec> state_space(const Config& config, double norm_eps, const StateSpaceFields& fields,
                              std::int64_t groups) {
  MixerSpec mixer;
  mixer.kind = Mixing::kStateSpace;
  LOCUS_TRY(mixer.heads, integer_or(config, fields.heads, 128));
  LOCUS_TRY(mixer.value_width, integer_or(config, fields.head_width, 64));
  LOCUS_TRY(mixer.key_width, integer_or(config, fields.states, 256));
  LOCUS_TRY(mixer.key_heads, integer_or(config, fields.groups, groups));
  LOCUS_TRY(mixer.kernel, integer_or(config, fields.kernel, 4));
  LOCUS_TRY(mixer.kernel_bias, config.boolean(fields.kernel_bias, true));
  LOCUS_TRY(mixer.bias, config.boolean(fields.bias, false));
  mixer.norm = MixerNorm::kGateThenNorm;
  mixer.norm_eps = norm_eps;
  mixer.norm_groups = mixer.key_heads;
  if (config.has("time_step_limit")) {
    LOCUS_TRY(const std::vector<double> limits, config.numbers("time_step_limit"));
    if (limits.size() != 2 || !(limits[0] >= 0) || !(limits[1] >= limits[0])) {
      return bad_input("expected two numbers in order, the first at least 0", config.context("time_step_limit"));
    }
    const bool limited = std::isfinite(limits[1]);
    if (limits[0] > 0 || limited) {
      mixer.least_step = limits[0];
      mixer.most_step = limited ? limits[1] : std::numeric_limits<float>::max();
    }
  }
  return mixer;
}

// Width of the mixer: heads of a width must fill it.
Status check_inner(const Config& config, const MixerSpec& mixer, std::int64_t width, const char* expand) {
  LOCUS_TRY(const double factor, config.number(expand, 2.0));
  if (const double inner = std::floor(factor * static_cast<double>(width));
      inner != static_cast<double>(mixer.inner())) {
    return bad_input("expected heads that fill " + general_text(inner, 12) + " channels, found " +
                         std::to_string(mixer.heads) + " of " + std::to_string(mixer.value_width),
                     config.context(expand));
  }
  return {};
}

void name_mixer(Family& family, const std::string& place) {
  for (const auto& [parameter, tensor] :
       {std::pair{"input", "in_proj"}, std::pair{"rate", "A_log"}, std::pair{"step_bias", "dt_bias"},
        std::pair{"skip", "D"}, std::pair{"norm", "norm"}, std::pair{"output", "out_proj"},
        std::pair{"convolution.bias", "conv1d.bias"}}) {
    family.names.push_back({std::string("layers.N.mixer.") + parameter, place + tensor});
  }
  family.names.push_back({"layers.N.mixer.convolution.weight", place + "conv1d.weight", Layout::kReshaped});
}

Status finish_bamba(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_CHECK(check_fixed_fields(config, {{"hidden_act", {"silu"}}, {"layer_types"}}));
  LOCUS_TRY(const double fraction, rotated_fraction(config, 0.5));
  LOCUS_CHECK(set_rope(config, plan, 10000.0, "half", fraction));
  LOCUS_TRY(const MixerSpec mixer, state_space(config, plan.spec.norm_eps, {}, 1));
  LOCUS_CHECK(check_inner(config, mixer, plan.spec.width, "mamba_expand"));
  std::vector<std::int64_t> attend;
  if (config.has("attn_layer_indices")) {
    LOCUS_TRY(attend, config.integers("attn_layer_indices"));
  }
  plan.spec.each([&](std::int64_t n, LayerSpec& layer) {
    if (std::count(attend.begin(), attend.end(), n) == 0) {
      mix_instead(layer, mixer);
    }
  });
  return {};
}

Status finish_granite_hybrid(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_CHECK(check_fixed_fields(config, {{"hidden_act", {"silu"}}}));
  LOCUS_TRY(const double divisor, config.number("logits_scaling", 1.0));
  if (!(divisor > 0)) {
    return bad_input("expected a number above 0", config.context("logits_scaling"));
  }
  plan.spec.logit_scale = 1 / divisor;
  LOCUS_TRY(const std::string positions, config.text("position_embedding_type", "nope"));
  if (positions != "rope" && positions != "nope") {
    return unsupported("expected rope or nope, found " + shown(positions), config.context("position_embedding_type"));
  }
  if (positions == "rope") {
    LOCUS_CHECK(set_rope(config, plan));
  } else {
    plan.spec.encodings = {{"none", {}}};
  }
  LOCUS_TRY(const MixerSpec mixer, state_space(config, plan.spec.norm_eps, {}, 1));
  LOCUS_CHECK(check_inner(config, mixer, plan.spec.width, "mamba_expand"));
  LOCUS_TRY(const std::int64_t shared, integer_or(config, "shared_intermediate_size", 1024));
  std::vector<std::string> words;
  if (config.has("layer_types")) {
    LOCUS_TRY(words, config.texts("layer_types"));
  }
  const bool early = std::count(words.begin(), words.end(), "mamba") > 0;
  LOCUS_TRY(const std::vector<bool> attends,
            early
                ? layers_of_type(config, "layer_types", plan.spec.depth(), "attention", "mamba", nullptr)
                : attending_layers(config, plan.spec.depth(), "linear_attention", [](std::int64_t) { return false; }));
  plan.spec.each([&](std::int64_t n, LayerSpec& layer) {
    transformer::FeedForwardSpec& feed_forward = layer.feed_forward;
    if (feed_forward.experts.count > 0) {
      feed_forward.experts.shared = shared;
    } else {
      feed_forward.inner = shared;
    }
    if (!attends[static_cast<std::size_t>(n)]) {
      mix_instead(layer, mixer);
    }
  });
  return {};
}

// A list of factors; 1 each where the field is absent.
Result<std::vector<double>> factors(const Config& config, const char* field, std::size_t count) {
  if (!config.has(field)) {
    return std::vector<double>(count, 1.0);
  }
  LOCUS_TRY(std::vector<double> found, config.numbers(field));
  if (found.size() != count) {
    return bad_input("expected " + std::to_string(count) + " numbers, found " + std::to_string(found.size()),
                     config.context(field));
  }
  return found;
}

Status finish_falcon_h1(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_CHECK(check_fixed_fields(config, {{"hidden_act", {"silu"}}, {"layer_types"}}));
  LOCUS_CHECK(set_rope(config, plan));
  LOCUS_TRY(MixerSpec mixer, state_space(config, plan.spec.norm_eps, {}, 1));
  if (config.has("mamba_d_ssm")) {
    LOCUS_TRY(const std::int64_t inner, config.integer("mamba_d_ssm"));
    if (inner != mixer.inner()) {
      return bad_input("expected heads that fill it, found " + std::to_string(mixer.heads) + " of " +
                           std::to_string(mixer.value_width),
                       config.context("mamba_d_ssm"));
    }
  } else {
    LOCUS_CHECK(check_inner(config, mixer, plan.spec.width, "mamba_expand"));
  }
  LOCUS_TRY(const bool normed, config.boolean("mamba_rms_norm", false));
  LOCUS_TRY(const bool first, config.boolean("mamba_norm_before_gate", true));
  mixer.norm = !normed ? MixerNorm::kNone : first ? MixerNorm::kNormThenGate : MixerNorm::kGateThenNorm;
  LOCUS_TRY(const bool output_bias, config.boolean("projectors_bias", false));
  if (output_bias != mixer.bias) {
    return unsupported("expected mamba_proj_bias, found " + std::string(output_bias ? "true" : "false"),
                       config.context("projectors_bias"));
  }
  LOCUS_TRY(const std::vector<double> parts, factors(config, "ssm_multipliers", 5));
  mixer.gate_factor = parts[0];
  mixer.value_factor = parts[1];
  mixer.write_factor = parts[2];
  mixer.read_factor = parts[3];
  mixer.step_factor = parts[4];
  LOCUS_TRY(const std::vector<double> feed, factors(config, "mlp_multipliers", 2));
  LOCUS_TRY(const double key, config.number("key_multiplier", 1.0));
  LayerSpec factor;
  LOCUS_TRY(factor.attention_input, config.number("attention_in_multiplier", 1.0));
  LOCUS_TRY(factor.attention_output, config.number("attention_out_multiplier", 1.0));
  LOCUS_TRY(factor.mixer_input, config.number("ssm_in_multiplier", 1.0));
  LOCUS_TRY(factor.mixer_output, config.number("ssm_out_multiplier", 1.0));
  if (!(key > 0)) {
    return unsupported("expected a number above 0, found " + general_text(key, 12), config.context("key_multiplier"));
  }
  plan.spec.each([&](std::int64_t, LayerSpec& layer) {
    layer.mixer = mixer;
    layer.attention_input = factor.attention_input;
    layer.attention_output = factor.attention_output;
    layer.mixer_input = factor.mixer_input;
    layer.mixer_output = factor.mixer_output;
    layer.attention.scale = key == 1 ? 0 : key / std::sqrt(static_cast<double>(layer.attention.head_width));
    layer.feed_forward.gate_factor = feed[0];
    layer.feed_forward_sum.branch = feed[1];
  });
  return {};
}

// The kinds of layers: a list, or letters (M Mamba-2, * attention, E experts, - feed-forward).
Result<std::vector<std::string>> nemotron_layers(const Config& config) {
  if (config.has("layers_block_type") || !config.has("hybrid_override_pattern")) {
    LOCUS_TRY(std::vector<std::string> kinds, config.texts("layers_block_type"));
    for (std::string& kind : kinds) {
      kind = kind == "mamba" ? "linear_attention" : kind == "attention" ? "full_attention" : kind;
    }
    return kinds;
  }
  LOCUS_TRY(const std::string letters, config.text("hybrid_override_pattern"));
  std::vector<std::string> kinds;
  for (const char letter : letters) {
    kinds.emplace_back(letter == 'M'   ? "linear_attention"
                       : letter == '*' ? "full_attention"
                       : letter == 'E' ? "moe"
                       : letter == '-' ? "mlp"
                                       : std::string(1, letter));
  }
  return kinds;
}

Status finish_nemotron_h(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_CHECK(check_fixed_fields(config, {{"mamba_hidden_act", {"silu"}}, {"moe_latent_size"}, {"sliding_window"}}));
  plan.spec.encodings = {{"none", {}}};
  LOCUS_TRY(MixerSpec mixer, state_space(config, plan.spec.norm_eps,
                                         {"mamba_num_heads", "mamba_head_dim", "ssm_state_size", "n_groups",
                                          "conv_kernel", "use_conv_bias", "use_bias"},
                                         8));
  LOCUS_TRY(mixer.least_step, config.number("time_step_min", 0.001));
  mixer.most_step = std::numeric_limits<float>::max();
  LOCUS_TRY(const std::vector<std::string> kinds, nemotron_layers(config));
  LOCUS_TRY(const std::int64_t inner, integer_or(config, "intermediate_size", 21504));
  LOCUS_TRY(const std::int64_t shared_inner, integer_or(config, "moe_shared_expert_intermediate_size", 7688));
  LOCUS_TRY(const std::int64_t shared, integer_or(config, "n_shared_experts", 1, 0));
  for (std::size_t n = 0; n < kinds.size(); ++n) {
    LayerSpec& layer = plan.spec.layers[n];
    const std::string& kind = kinds[n];
    layer.feeds = kind == "mlp" || kind == "moe";
    layer.feed_forward.experts.shared = shared > 0 ? shared_inner : 0;
    if (kind == "linear_attention") {
      mix_instead(layer, mixer);
    } else if (layer.feeds) {
      layer.attends = false;
      layer.encoding = -1;
    } else if (kind != "full_attention") {
      return unsupported("expected linear_attention, full_attention, mlp or moe, found " + shown(kind),
                         config.context("layers_block_type"));
    }
    if (kind == "mlp") {
      layer.feed_forward.experts = {};
      layer.feed_forward.inner = inner;
    }
  }
  return {};
}

}  // namespace

const Family kBamba = [] {
  Family family = llama("bamba");
  family.set({{"rms_norm_eps"}, slot::norm_eps, 1e-5});
  family.finish = finish_bamba;
  family.rename({"layers.N.feed_forward_norm", "layers.N.pre_ff_layernorm"});
  family.rename({"layers.N.feed_forward.{gate,up,down}", "layers.N.feed_forward.{gate,up,down}_proj"});
  family.rename({"final_norm", "final_layernorm"});
  name_mixer(family, "layers.N.mamba.");
  family.harmless = {"mamba_chunk_size", "num_logits_to_keep", "z_loss_coefficient"};
  return family;
}();

const Family kGraniteHybrid = [] {
  Family family = llama("granitemoehybrid");
  family.fixed = [](Draft& draft) { draft.layer.feed_forward.experts.router = transformer::Router::kTopSoftmax; };
  family.set({{"embedding_multiplier"}, slot::embedding_scale, 1.0});
  family.set({{"residual_multiplier"}, slot::residual_scale, 1.0});
  family.set({{"attention_multiplier"}, slot::attention_scale, 1.0});
  family.set({{"num_local_experts", "num_experts"}, slot::experts, std::int64_t{8}});
  family.set({{"num_experts_per_tok"}, slot::chosen_experts, std::int64_t{2}});
  family.finish = finish_granite_hybrid;
  name_mixer(family, "layers.N.mamba.");
  // The feed-forward of all tokens: the only one, or beside experts.
  std::erase_if(family.names, [](const Name& row) { return row.tensor.find(".mlp.") != row.tensor.npos; });
  for (const char* const own : {"layers.N.feed_forward.", "layers.N.feed_forward.shared."}) {
    const std::string parameter = own;
    family.names.push_back(
        {parameter + "gate", "layers.N.shared_mlp.input_linear", Layout::kAsIs, {.index = 0, .of = 2}});
    family.names.push_back(
        {parameter + "up", "layers.N.shared_mlp.input_linear", Layout::kAsIs, {.index = 1, .of = 2}});
    family.names.push_back({parameter + "down", "layers.N.shared_mlp.output_linear"});
    family.names.push_back({parameter + "{gate,up}", "layers.N.shared_mlp.{gate,up}_proj"});  // in GGUF files
  }
  family.names.push_back({"layers.N.feed_forward.router", "layers.N.block_sparse_moe.router.layer"});
  const std::string experts = "layers.N.block_sparse_moe.";
  family.names.push_back({"layers.N.feed_forward.experts.J.gate",
                          experts + "input_linear",
                          Layout::kAsIs,
                          {.index = 0, .of = 2, .stacked = true}});
  family.names.push_back({"layers.N.feed_forward.experts.J.up",
                          experts + "input_linear",
                          Layout::kAsIs,
                          {.index = 1, .of = 2, .stacked = true}});
  family.names.push_back(
      {"layers.N.feed_forward.experts.J.down", experts + "output_linear", Layout::kAsIs, {.stacked = true}});
  family.names.push_back(  // in GGUF files
      {"layers.N.feed_forward.experts.J.{gate,up,down}", experts + "experts.J.{gate,up,down}_proj"});
  family.harmless = {"mamba_chunk_size"};
  return family;
}();

const Family kFalconH1 = [] {
  Family family = llama("falcon_h1");
  family.set({{"rms_norm_eps"}, slot::norm_eps, 1e-5});
  family.set({{"embedding_multiplier"}, slot::embedding_scale, 1.0});
  family.set({{"lm_head_multiplier"}, slot::logit_scale, 1.0});
  family.finish = finish_falcon_h1;
  family.rename({"layers.N.feed_forward_norm", "layers.N.pre_ff_layernorm"});
  family.rename({"layers.N.feed_forward.{gate,up,down}", "layers.N.feed_forward.{gate,up,down}_proj"});
  family.rename({"final_norm", "final_layernorm"});
  name_mixer(family, "layers.N.mamba.");
  family.harmless = {"mamba_chunk_size", "num_logits_to_keep", "mamba_expand"};
  return family;
}();

const Family kNemotronH = [] {
  Family family = llama("nemotron_h");
  family.fixed = [](Draft& draft) {
    draft.layer.feed_forward.gated = false;
    draft.layer.feed_forward.experts.router = transformer::Router::kSigmoid;
    draft.layer.feed_forward.experts.correction = true;
  };
  family.set({{"layer_norm_epsilon"}, slot::norm_eps, 1e-5});
  std::erase_if(family.fields, [](const Field& field) {
    const std::string_view name = field.names.front();
    return name == "rms_norm_eps" || name == "hidden_act" || name == "intermediate_size" || name == "num_hidden_layers";
  });
  family.steps.push_back({"layers", [](const Config& config, Draft& draft) -> Status {
                            LOCUS_TRY(const std::vector<std::string> kinds, nemotron_layers(config));
                            draft.count = static_cast<std::int64_t>(kinds.size());
                            LOCUS_TRY(const std::int64_t count, config.integer("num_hidden_layers", draft.count));
                            return count == draft.count ? Status()
                                                        : Status(bad_input("expected " + std::to_string(draft.count) +
                                                                               ", the number of its layers, found " +
                                                                               std::to_string(count),
                                                                           config.context("num_hidden_layers")));
                          }});
  family.set({{"mlp_hidden_act"}, slot::activation, "relu2"});
  family.set({{"head_dim"}, slot::head_width, std::int64_t{128}});
  family.set({{"moe_intermediate_size"}, slot::inner, std::int64_t{7688}});
  family.set({{"n_routed_experts", "num_local_experts"}, slot::experts, std::int64_t{8}});
  family.set({{"num_experts_per_tok"}, slot::chosen_experts, std::int64_t{2}});
  family.set({{"n_group"}, slot::expert_groups, std::int64_t{1}});
  family.set({{"topk_group"}, slot::chosen_groups, std::int64_t{1}});
  family.set({{"norm_topk_prob"}, slot::normalised_experts, true});
  family.set({{"routed_scaling_factor"}, slot::expert_factor, 1.0});
  family.finish = finish_nemotron_h;
  family.prefixes = {"backbone.", "model.", ""};
  family.anchor = "embeddings.weight";
  family.rename({"embedding.weight", "embeddings.weight"});
  family.rename({"layers.N.attention_norm", "layers.N.norm"});
  family.rename({"layers.N.feed_forward_norm", "layers.N.norm"});
  family.rename({"layers.N.attention.{query,key,value,output}", "layers.N.mixer.{q,k,v,o}_proj"});
  family.rename({"layers.N.feed_forward.{gate,up,down}", "layers.N.mixer.{gate,up,down}_proj"});
  family.names.push_back({"layers.N.feed_forward.experts.J.{up,down}", "layers.N.mixer.experts.J.{up,down}_proj"});
  family.names.push_back({"layers.N.feed_forward.shared.{up,down}", "layers.N.mixer.shared_experts.{up,down}_proj"});
  family.names.push_back({"layers.N.feed_forward.router", "layers.N.mixer.gate"});
  family.names.push_back({"layers.N.feed_forward.correction", "layers.N.mixer.gate.e_score_correction_bias"});
  family.rename({"final_norm", "norm_f"});
  name_mixer(family, "layers.N.mixer.");
  family.skipped.push_back("mtp.*");
  family.harmless = {"chunk_size",
                     "expand",
                     "mamba_proj_bias",
                     "mamba_ssm_cache_dtype",
                     "moe_shared_expert_overlap",
                     "mtp_layers_block_type",
                     "num_logits_to_keep",
                     "num_nextn_predict_layers",
                     "rescale_prenorm_residual",
                     "residual_in_fp32",
                     "time_step_floor",
                     "time_step_max",
                     "time_step_limit",
                     "use_mamba_kernels"};
  return family;
}();

}  // namespace locus::families
