// Models with layers of the gated delta rule: Qwen3-Next and Qwen3.5 (attention in every fourth layer, with a gate),
// OLMo Hybrid (OLMo 2's attention layers), Lara Mini (windows with positions beside full attention without), Kimi Linear
// and Bailing Hybrid (KDA beside latent attention, without and with positions).
#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <utility>

#include "core/base/shown.h"
#include "models/families/engine/computed.h"
#include "models/families/engine/layer_kinds.h"
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

using transformer::LayerSpec;
using transformer::MixerSpec;
using transformer::Mixing;
using transformer::QkvLayout;

// The mixer of fields `linear_…`.
Result<MixerSpec> delta_mixer(const Config& config, double norm_eps) {
  LOCUS_CHECK(check_fixed_fields(config, {{"hidden_act", {"silu"}}}));
  MixerSpec mixer;
  mixer.kind = Mixing::kDelta;
  LOCUS_TRY(mixer.key_heads, integer_or(config, "linear_num_key_heads", 16));
  LOCUS_TRY(mixer.heads, integer_or(config, "linear_num_value_heads", 32));
  LOCUS_TRY(mixer.key_width, integer_or(config, "linear_key_head_dim", 128));
  LOCUS_TRY(mixer.value_width, integer_or(config, "linear_value_head_dim", 128));
  LOCUS_TRY(mixer.kernel, integer_or(config, "linear_conv_kernel_dim", 4));
  mixer.norm_eps = norm_eps;
  return mixer;
}

// Layers other than those of `full_attention` have the mixer; without a list of layer types each `interval`-th layer,
// counted from 1, attends.
Status set_mixers(const Config& config, Plan& plan, const MixerSpec& mixer, const char* interval_field) {
  LOCUS_TRY(const std::int64_t interval, integer_or(config, interval_field, 4));
  LOCUS_TRY(const std::vector<bool> attends, attending_layers(config, plan.spec.depth(), "linear_attention",
                                                              [&](std::int64_t n) { return (n + 1) % interval == 0; }));
  plan.spec.each([&](std::int64_t n, LayerSpec& layer) {
    if (!attends[static_cast<std::size_t>(n)]) {
      mix_instead(layer, mixer);
    }
  });
  return {};
}

// q_proj holds, head by head, the queries and their gates.
void split_queries(Plan& plan) {
  for (Name& row : plan.names) {
    if (row.parameter == "layers.N.attention.query" || row.parameter == "layers.N.attention.gate") {
      row.piece.blocks = plan.spec.first().attention.heads;
    }
  }
}

// Whether q|k|v and the gates are two matrices, as in GGUF files, in which beta and decay stay one.
bool holds_apart(const CheckpointFiles& checkpoint, const Plan& plan) {
  for (std::int64_t n = 0; n < plan.spec.depth(); ++n) {
    if (checkpoint.find(layer_prefix("model.layers.", n) + "linear_attn.in_proj_qkv.weight") != nullptr) {
      return true;
    }
  }
  return false;
}

// in_proj_ba holds, key head by key head, the rows of beta and those of the decay.
void split_beta_decay(Plan& plan, std::int64_t key_heads) {
  for (const auto& [parameter, index] : {std::pair{"beta", 0}, std::pair{"decay", 1}}) {
    plan.name(std::string("layers.N.mixer.") + parameter, "model.layers.N.linear_attn.in_proj_ba", Layout::kAsIs,
              {.index = index, .of = 2, .blocks = key_heads});
  }
}

// Layers that mlp_only_layers or decoder_sparse_step keep dense.
Status keep_dense_layers(const Config& config, Plan& plan) {
  if (plan.spec.first().feed_forward.experts.count == 0) {
    return {};
  }
  LOCUS_TRY(const std::int64_t step, integer_or(config, "decoder_sparse_step", 1));
  LOCUS_TRY(const std::int64_t inner, config.integer("intermediate_size", plan.spec.first().feed_forward.inner));
  std::vector<std::int64_t> dense;
  if (config.has("mlp_only_layers")) {
    LOCUS_TRY(dense, config.integers("mlp_only_layers"));
  }
  plan.spec.each([&](std::int64_t n, LayerSpec& layer) {
    if ((n + 1) % step != 0 || std::count(dense.begin(), dense.end(), n) > 0) {
      layer.feed_forward.experts = {};
      layer.feed_forward.inner = inner;
    }
  });
  return {};
}

template <QkvLayout kLayout>
Status finish_qwen(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_TRY(const double fraction, rotated_fraction(config, 0.25));
  LOCUS_CHECK(set_rope(config, plan, 10000.0, "half", fraction));
  if (plan.spec.encodings.front().options.has("sections")) {
    LOCUS_CHECK(interleave_sections(plan, {}));
  }
  LOCUS_CHECK(keep_dense_layers(config, plan));
  LOCUS_TRY(MixerSpec mixer, delta_mixer(config, plan.spec.norm_eps));
  mixer.qkv = kLayout;
  LOCUS_TRY(mixer.tiled_values, config.boolean("linear_value_heads_tiled", false));
  split_queries(plan);
  if (kLayout == QkvLayout::kPerHead && holds_apart(checkpoint, plan)) {
    mixer.qkv = QkvLayout::kFused;
    split_beta_decay(plan, mixer.key_heads);
  }
  return set_mixers(config, plan, mixer, "full_attention_interval");
}

// Convolutions of q, k and v that are three tensors of a file.
Status join_convolutions(const CheckpointFiles& checkpoint, Plan& plan, const std::string& mixer) {
  std::vector<OfRows> joined;
  for (std::int64_t n = 0; n < plan.spec.depth() && checkpoint.tensors != nullptr; ++n) {
    const std::string prefix = layer_prefix("model.layers.", n) + mixer;
    if (checkpoint.find(prefix + "q_conv1d.weight") != nullptr) {
      joined.push_back({prefix + "conv1d.weight",
                        {{prefix + "q_conv1d.weight"}, {prefix + "k_conv1d.weight"}, {prefix + "v_conv1d.weight"}}});
    }
  }
  if (!joined.empty()) {
    LOCUS_CHECK(compute_rows(checkpoint, joined, plan));
    plan.skipped.insert(plan.skipped.end(),
                        {mixer + "q_conv1d.weight", mixer + "k_conv1d.weight", mixer + "v_conv1d.weight",
                         "ssm_conv1d_q.weight", "ssm_conv1d_k.weight", "ssm_conv1d_v.weight"});
  }
  return {};
}

Status finish_olmo_hybrid(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_TRY(const Config block, rope_block(config));
  const bool turns = config.has("rope_theta") || block.has("rope_theta");
  if (turns) {
    LOCUS_CHECK(set_rope(config, plan));
  } else {
    plan.spec.encodings = {{"none", {}}};
  }
  LOCUS_TRY(MixerSpec mixer, delta_mixer(config, 1e-5));
  mixer.qkv = QkvLayout::kSeparate;
  LOCUS_TRY(const bool turning_writes, config.boolean("linear_allow_neg_eigval", true));
  mixer.beta_scale = turning_writes ? 2 : 1;
  LOCUS_CHECK(set_mixers(config, plan, mixer, "full_attention_interval"));
  plan.spec.each([&](std::int64_t, LayerSpec& layer) {
    if (layer.has_mixer()) {
      layer.attention_norm = layer.feed_forward_norm = transformer::NormPlace::kPre;
    }
  });
  return join_convolutions(checkpoint, plan, "linear_attn.");
}

Status finish_kimi(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_CHECK(check_fixed_fields(config, {{"hidden_act", {"silu"}}}));
  plan.spec.encodings = {{"none", {}}};
  MixerSpec mixer;
  mixer.kind = Mixing::kDelta;
  mixer.qkv = QkvLayout::kSeparate;
  mixer.channel_decay = mixer.sigmoid_gate = true;
  mixer.norm_eps = plan.spec.norm_eps;
  LOCUS_TRY(const Config old, group(config, "linear_attn_config"));
  const bool grouped = config.has("linear_attn_config");
  LOCUS_TRY(mixer.heads, grouped ? integer_or(old, "num_heads", 32) : integer_or(config, "linear_num_heads", 32));
  LOCUS_TRY(mixer.key_width, grouped ? integer_or(old, "head_dim", 128) : integer_or(config, "linear_head_dim", 128));
  LOCUS_TRY(mixer.kernel,
            grouped ? integer_or(old, "short_conv_kernel_size", 4) : integer_or(config, "linear_conv_kernel_dim", 4));
  mixer.key_heads = mixer.heads;
  mixer.value_width = mixer.gate_rank = mixer.key_width;
  std::vector<std::int64_t> full;
  if (old.has("full_attn_layers")) {
    LOCUS_TRY(full, old.integers("full_attn_layers"));  // counted from 1
  }
  LOCUS_TRY(const std::vector<bool> attends,
            attending_layers(config, plan.spec.depth(), "linear_attention", [&](std::int64_t n) {
              return grouped ? std::count(full.begin(), full.end(), n + 1) > 0 : (n + 1) % 4 == 0;
            }));
  LOCUS_CHECK(set_dense_layers(config, plan, 1, "num_shared_experts"));
  plan.spec.each([&](std::int64_t n, LayerSpec& layer) {
    if (!attends[static_cast<std::size_t>(n)]) {
      mix_instead(layer, mixer);
    }
  });
  LOCUS_CHECK(join_latent(checkpoint, plan));
  return join_convolutions(checkpoint, plan, "self_attn.");
}

// One matrix holds the rows q|k|v|gate|beta|decay of a mixer.
Status split_inputs(const CheckpointFiles& checkpoint, const MixerSpec& mixer, Plan& plan) {
  const std::int64_t mixed = 2 * mixer.key_heads * mixer.key_width + mixer.inner();
  std::vector<OfRows> parts;
  for (std::int64_t n = 0; n < plan.spec.depth() && checkpoint.tensors != nullptr; ++n) {
    const std::string input = layer_prefix("model.layers.", n) + "linear_attn.in_proj";
    std::int64_t first = 0;
    for (const auto& [name, count] : {std::pair{"_qkv", mixed}, std::pair{"_z", mixer.inner()},
                                      std::pair{"_b", mixer.heads}, std::pair{"_a", mixer.heads}}) {
      if (plan.spec.layers[static_cast<std::size_t>(n)].has_mixer()) {
        parts.push_back({input + name + ".weight", {{input + ".weight", first, count}}});
      }
      first += count;
    }
  }
  plan.skipped.emplace_back("linear_attn.in_proj.weight");
  return compute_rows(checkpoint, parts, plan);
}

Status finish_lara(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_CHECK(set_rope(config, plan));
  LOCUS_TRY(const MixerSpec mixer, delta_mixer(config, plan.spec.norm_eps));
  LOCUS_TRY(const std::int64_t window, integer_or(config, "sliding_window", 512));
  std::vector<std::string> kinds;
  constexpr std::array<const char*, 5> kUsual{"linear_attention", "sliding_attention", "linear_attention",
                                              "full_attention", "sliding_attention"};
  for (std::int64_t n = 0; n < plan.spec.depth(); ++n) {
    kinds.emplace_back(kUsual[static_cast<std::size_t>(n) % kUsual.size()]);
  }
  if (config.has("layer_types")) {
    LOCUS_TRY(kinds, config.texts("layer_types"));
    LOCUS_CHECK(check_entries(kinds.size(), plan.spec.depth(), config.context("layer_types")));
  }
  for (std::size_t n = 0; n < kinds.size(); ++n) {
    LayerSpec& layer = plan.spec.layers[n];
    if (kinds[n] == "linear_attention") {
      mix_instead(layer, mixer);
    } else if (kinds[n] == "sliding_attention") {
      layer.attention.window = window;
    } else if (kinds[n] == "full_attention") {
      layer.encoding = -1;
    } else {
      return unsupported("expected linear_attention, sliding_attention or full_attention, found " + shown(kinds[n]),
                         config.context("layer_types"));
    }
  }
  return split_inputs(checkpoint, mixer, plan);
}

Status finish_bailing(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_CHECK(check_fixed_fields(config, {{"hidden_act", {"silu"}}}));
  const transformer::AttentionSpec& attention = plan.spec.first().attention;
  const auto width = static_cast<double>(attention.head_width);
  LOCUS_CHECK(set_rope(config, plan, 6e6, "interleaved", static_cast<double>(attention.latent.rotated) / width));
  LOCUS_TRY(const double factor, rope_score_factor(config));
  MixerSpec mixer;
  mixer.kind = Mixing::kDelta;
  mixer.qkv = QkvLayout::kSeparate;
  mixer.channel_decay = mixer.sigmoid_gate = true;
  mixer.norm_eps = plan.spec.norm_eps;
  // The published fields: as many heads as attention has, and head_dim, which the library later sets to the width
  // that turns.
  LOCUS_TRY(mixer.heads, integer_or(config, "linear_num_heads", attention.heads));
  LOCUS_TRY(const std::int64_t head_width, integer_or(config, "head_dim", 128));
  LOCUS_TRY(mixer.key_width, integer_or(config, "linear_head_dim", head_width));
  LOCUS_TRY(const std::int64_t kernel, integer_or(config, "linear_conv_kernel_dim", 4));
  LOCUS_TRY(mixer.kernel, integer_or(config, "short_conv_kernel_size", kernel));
  mixer.key_heads = mixer.heads;
  mixer.value_width = mixer.key_width;
  LOCUS_TRY(const bool bounded, config.boolean("kda_safe_gate", true));
  LOCUS_TRY(const double bound, config.number("kda_lower_bound", -5.0));
  mixer.decay_floor = bounded ? bound : 0;
  LOCUS_TRY(const std::int64_t group, integer_or(config, "layer_group_size", 6));
  LOCUS_TRY(const std::vector<bool> attends, attending_layers(config, plan.spec.depth(), "linear_attention",
                                                              [&](std::int64_t n) { return (n + 1) % group == 0; }));
  LOCUS_CHECK(set_dense_layers(config, plan, 2, "num_shared_experts"));
  plan.spec.each([&](std::int64_t n, LayerSpec& layer) {
    layer.attention.scale = factor == 1 ? 0 : factor / std::sqrt(width);
    layer.attention.query_bias = layer.attention.query_bias && layer.attention.latent.query_rank > 0;
    if (!attends[static_cast<std::size_t>(n)]) {
      mix_instead(layer, mixer);
    }
  });
  LOCUS_CHECK(skip_further_layers(config, 1, plan));
  return join_convolutions(checkpoint, plan, "attention.");
}

void add_mixer(Family& family) {
  const auto name = [&](const char* parameter, const char* tensor, Layout layout = Layout::kAsIs) {
    family.names.push_back(
        {std::string("layers.N.mixer.") + parameter, std::string("layers.N.linear_attn.") + tensor, layout});
  };
  name("qkvz", "in_proj_qkvz");
  name("beta_decay", "in_proj_ba");
  name("qkv", "in_proj_qkv");
  name("gate", "in_proj_z");
  name("beta", "in_proj_b");
  name("decay", "in_proj_a");
  name("convolution.weight", "conv1d.weight", Layout::kReshaped);
  name("rate", "A_log");
  name("step_bias", "dt_bias");
  name("norm", "norm");
  name("output", "out_proj");
}

// Parameters of a mixer and the tensors below `place` that hold them.
void name_mixer(Family& family, const std::string& place,
                std::initializer_list<std::pair<const char*, const char*>> names) {
  for (const auto& [parameter, tensor] : names) {
    family.names.push_back({std::string("layers.N.mixer.") + parameter, place + tensor});
  }
}

Family qwen(std::string_view name) {
  Family family = llama(name);
  family.fixed = [](Draft& draft) {
    draft.layer.attention.norm.form = transformer::QueryNormForm::kHead;
    draft.layer.attention.gate.form = transformer::GateForm::kChannel;
  };
  family.set({{"head_dim"}, slot::head_width, std::int64_t{256}});
  for (const char* place : {"attention_norm", "feed_forward_norm"}) {
    const std::string_view tensor = place[0] == 'a' ? "input_layernorm" : "post_attention_layernorm";
    family.rename({std::string("layers.N.") + place, "layers.N." + std::string(tensor), Layout::kPlusOne});
  }
  family.rename({"final_norm", "norm", Layout::kPlusOne});
  family.names.push_back({"layers.N.attention.{query,key}_norm", "layers.N.self_attn.{q,k}_norm", Layout::kPlusOne});
  family.rename({"layers.N.attention.query", "layers.N.self_attn.q_proj", Layout::kAsIs, {.index = 0, .of = 2}});
  family.rename({"layers.N.attention.gate", "layers.N.self_attn.q_proj", Layout::kAsIs, {.index = 1, .of = 2}});
  family.skipped.push_back("mtp.*");
  add_mixer(family);
  return family;
}

// Fields of the published files of Qwen3.5, of which the library reads none.
void set_published_fields(Family& family) {
  family.fixed_fields = {{"attn_output_gate", {true}}};
  family.harmless = {"mamba_ssm_dtype", "mtp_num_hidden_layers", "mtp_use_dedicated_embeddings",
                     "rope_parameters.mrope_interleaved", "rope_scaling.mrope_interleaved"};
}

void add_experts(Family& family) {
  auto fixed = family.fixed;
  family.fixed = [fixed](Draft& draft) {
    fixed(draft);
    draft.layer.feed_forward.experts.shared_gate = true;
    draft.layer.feed_forward.experts.normalised = true;
  };
  family.set({{"num_experts", "num_local_experts"}, slot::experts, std::int64_t{512}});
  family.set({{"num_experts_per_tok"}, slot::chosen_experts, std::int64_t{10}});
  family.set({{"norm_topk_prob"}, slot::normalised_experts, true});
  family.set({{"moe_intermediate_size"}, slot::inner, std::int64_t{512}});
  family.set({{"shared_expert_intermediate_size"}, slot::shared_expert, std::int64_t{512}});
  family.names.push_back(
      {"layers.N.feed_forward.experts.J.{gate,up,down}", "layers.N.mlp.experts.J.{gate,up,down}_proj"});
  family.names.push_back(
      {"layers.N.feed_forward.shared.{gate,up,down}", "layers.N.mlp.shared_expert.{gate,up,down}_proj"});
  family.names.push_back({"layers.N.feed_forward.router", "layers.N.mlp.gate"});
  family.names.push_back({"layers.N.feed_forward.shared_gate", "layers.N.mlp.shared_expert_gate"});
}

}  // namespace

const Family kQwen3Next = [] {
  Family family = qwen("qwen3_next");
  add_experts(family);
  family.finish = finish_qwen<QkvLayout::kPerHead>;
  return family;
}();

const Family kQwen35 = [] {
  Family family = qwen("qwen3_5_text");
  set_published_fields(family);
  family.harmless.emplace_back("mlp_only_layers");  // of experts
  family.finish = finish_qwen<QkvLayout::kFused>;
  return family;
}();

const Family kQwen35Moe = [] {
  Family family = qwen("qwen3_5_moe_text");
  set_published_fields(family);
  add_experts(family);
  name_stacked_experts(family);
  family.finish = finish_qwen<QkvLayout::kFused>;
  return family;
}();

const Family kOlmoHybrid = [] {
  Family family = llama("olmo_hybrid");
  family.fixed = [](Draft& draft) {
    draft.layer.attention_norm = draft.layer.feed_forward_norm = transformer::NormPlace::kAfter;
    draft.layer.attention.norm.form = transformer::QueryNormForm::kWhole;
  };
  family.finish = finish_olmo_hybrid;
  family.names.push_back(
      {"layers.N.{attention,feed_forward}_after_norm", "layers.N.{post_attention,post_feedforward}_layernorm"});
  family.names.push_back({"layers.N.attention.{query,key}_norm", "layers.N.self_attn.{q,k}_norm"});
  family.rename({"layers.N.attention_norm", "layers.N.attention_layer_norm"});
  family.names.push_back({"layers.N.attention_norm", "layers.N.input_layernorm"});
  family.rename({"layers.N.feed_forward_norm", "layers.N.feedforward_layer_norm"});
  family.names.push_back({"layers.N.feed_forward_norm", "layers.N.post_attention_layernorm"});
  family.names.push_back({"layers.N.attention_after_norm", "layers.N.feedforward_layer_norm"});
  name_mixer(family, "layers.N.linear_attn.",
             {{"query", "q_proj"},
              {"key", "k_proj"},
              {"value", "v_proj"},
              {"gate", "g_proj"},
              {"beta", "b_proj"},
              {"decay", "a_proj"},
              {"rate", "A_log"},
              {"step_bias", "dt_bias"},
              {"norm", "o_norm"},
              {"output", "o_proj"}});
  family.names.push_back(
      {"layers.N.mixer.convolution.weight", "layers.N.linear_attn.conv1d.weight", Layout::kReshaped});
  family.harmless = {"linear_a_log_max", "linear_a_log_min", "linear_dt_init_floor", "linear_dt_max", "linear_dt_min"};
  return family;
}();

const Family kLaraMini = [] {
  Family family = llama("lara_mini");
  add_mixer(family);
  add_experts(family);
  family.fixed = [](Draft& draft) { draft.layer.attention.norm.form = transformer::QueryNormForm::kHead; };
  family.set({{"head_dim"}, slot::head_width, std::int64_t{128}});
  family.set({{"tie_word_embeddings"}, slot::tied, true});
  family.set({{"num_experts", "num_local_experts"}, slot::experts, std::int64_t{128}});
  family.set({{"num_experts_per_tok"}, slot::chosen_experts, std::int64_t{4}});
  family.finish = finish_lara;
  family.names.push_back({"layers.N.attention.{query,key}_norm", "layers.N.self_attn.{q,k}_norm"});
  family.rename({"layers.N.mixer.norm", "layers.N.linear_attn.out_norm"});
  name_stacked_experts(family);
  return family;
}();

const Family kBailingHybrid = [] {
  using namespace slot;
  Family family = latent_llama("bailing_hybrid");
  family.fixed = [](Draft& draft) {
    draft.layer.feed_forward.experts.router = transformer::Router::kSigmoid;
    draft.layer.feed_forward.experts.correction = true;
    draft.layer.attention.gate.form = transformer::GateForm::kHead;
  };
  family.set({{"model_max_length", "max_position_embeddings"}, trained_length, std::int64_t{0}});
  family.set({{"qk_rope_head_dim"}, rotated_width, std::int64_t{64}});
  family.set({{"qk_nope_head_dim"}, plain_width, std::int64_t{128}});
  family.set({{"v_head_dim"}, value_width, std::int64_t{128}});
  family.set({{"kv_lora_rank"}, latent_rank, std::int64_t{512}});
  family.set({{"moe_intermediate_size"}, inner, std::int64_t{768}});
  family.set({{"num_experts", "num_local_experts"}, experts, std::int64_t{512}});
  family.set({{"num_experts_per_token", "num_experts_per_tok"}, chosen_experts, std::int64_t{8}});
  family.set({{"num_expert_group", "n_group"}, expert_groups, std::int64_t{8}});
  family.set({{"topk_group"}, chosen_groups, std::int64_t{4}});
  family.set({{"moe_renormalize", "norm_topk_prob"}, normalised_experts, true});
  family.set({{"routed_scaling_factor"}, expert_factor, 2.5});
  family.harmless = {"num_key_value_heads", "qk_head_dim", "mtp_loss_scaling_factor", "head_dim"};
  family.finish = finish_bailing;
  family.prefixes = {"model.", ""};
  family.anchor = "word_embeddings.weight";
  family.rename({"embedding.weight", "word_embeddings.weight"});
  family.rename({"layers.N.attention.query", "layers.N.attention.q_proj"});
  family.rename({"layers.N.attention.output", "layers.N.attention.dense"});
  family.names.push_back({"layers.N.attention.gate", "layers.N.attention.g_proj"});
  family.names.push_back({"layers.N.attention.{query_down,query_latent_norm,query_up}",
                          "layers.N.attention.{q_a_proj,q_a_layernorm,q_b_proj}"});
  family.names.push_back({"layers.N.attention.{latent_down,latent_norm,latent_up}",
                          "layers.N.attention.{kv_a_proj_with_mqa,kv_a_layernorm,kv_b_proj}"});
  name_mixer(family, "layers.N.attention.",
             {{"query", "q_proj"},
              {"key", "k_proj"},
              {"value", "v_proj"},
              {"gate", "g_proj"},
              {"decay", "f_proj"},
              {"beta", "b_proj"},
              {"rate", "A_log"},
              {"step_bias", "dt_bias"},
              {"norm", "o_norm"},
              {"output", "dense"}});
  family.names.push_back({"layers.N.mixer.convolution.weight", "layers.N.attention.conv1d.weight", Layout::kReshaped});
  family.names.push_back(
      {"layers.N.feed_forward.experts.J.{gate,up,down}", "layers.N.mlp.experts.J.{gate,up,down}_proj"});
  family.names.push_back(
      {"layers.N.feed_forward.shared.{gate,up,down}", "layers.N.mlp.shared_experts.{gate,up,down}_proj"});
  family.names.push_back({"layers.N.feed_forward.router", "layers.N.mlp.gate"});
  family.names.push_back({"layers.N.feed_forward.correction", "layers.N.mlp.gate.expert_bias"});
  return family;
}();

const Family kKimiLinear = [] {
  Family family = latent_llama("kimi_linear");
  family.fixed = [](Draft& draft) {
    draft.layer.feed_forward.experts.router = transformer::Router::kSigmoid;
    draft.layer.feed_forward.experts.correction = true;
  };
  family.set({{"moe_intermediate_size"}, slot::inner});
  family.set({{"topk_group"}, slot::chosen_groups, std::int64_t{1}});
  family.set({{"routed_scaling_factor"}, slot::expert_factor, 1.0});
  family.set({{"num_experts", "num_local_experts"}, slot::experts, std::int64_t{256}});
  family.set({{"num_experts_per_token"}, slot::chosen_experts, std::int64_t{8}});
  family.set({{"moe_renormalize"}, slot::normalised_experts, true});
  family.set({{"num_expert_group"}, slot::expert_groups, std::int64_t{1}});
  family.harmless = {"head_dim", "model_max_length", "num_key_value_heads", "qk_head_dim"};
  family.fixed_fields = {
      {"moe_router_activation_func", {"sigmoid"}}, {"use_grouped_topk", {true}}, {"mla_use_nope", {true}}};
  family.finish = finish_kimi;
  name_mixer(family, "layers.N.self_attn.",
             {{"query", "q_proj"},
              {"key", "k_proj"},
              {"value", "v_proj"},
              {"gate_down", "g_a_proj"},
              {"gate_up", "g_b_proj"},
              {"decay_down", "f_a_proj"},
              {"decay_up", "f_b_proj"},
              {"beta", "b_proj"},
              {"step_bias", "dt_bias"},
              {"norm", "o_norm"},
              {"output", "o_proj"}});
  family.names.push_back({"layers.N.mixer.rate", "layers.N.self_attn.A_log", Layout::kReshaped});
  family.names.push_back({"layers.N.mixer.convolution.weight", "layers.N.self_attn.conv1d.weight", Layout::kReshaped});
  for (const char* place : {"block_sparse_moe", "mlp"}) {
    const std::string layer = "layers.N." + std::string(place) + ".";
    family.names.push_back({"layers.N.feed_forward.{gate,up,down}", layer + "{gate,up,down}_proj"});
    family.names.push_back({"layers.N.feed_forward.experts.J.{gate,up,down}", layer + "experts.J.{w1,w3,w2}"});
    family.names.push_back(
        {"layers.N.feed_forward.shared.{gate,up,down}", layer + "shared_experts.{gate,up,down}_proj"});
    family.names.push_back({"layers.N.feed_forward.router", layer + "gate"});
    family.names.push_back({"layers.N.feed_forward.correction", layer + "gate.e_score_correction_bias"});
  }
  return family;
}();

}  // namespace locus::families
