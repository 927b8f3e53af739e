// GRAPE, the authors' repository (arXiv:2512.07805): a decoder with RMSNorms and three forms of its encoding, each a class of
// its own. All of them say `model_type: gpt2`: their tensors tell which one it is.
#include <cmath>
#include <string>
#include <tuple>
#include <utility>

#include "core/base/shown.h"
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

constexpr const char* kGrapeAttention = "transformer.h.0.attn.";

bool has_part(const CheckpointFiles& checkpoint, const std::string& tensor) {
  return checkpoint.find(kGrapeAttention + tensor) != nullptr;
}

bool recognises_grape(const CheckpointFiles& checkpoint) {
  return model_type(checkpoint) == "gpt2" && has_part(checkpoint, "c_q.weight");
}

// The names of the encoding's parameters in a layer, and its options.
Result<Settings> read_form(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  const auto name = [&](const char* parameter, const std::string& tensor) {
    plan.name(std::string("position.layers.N.") + parameter, "transformer.h.N.attn." + tensor);
  };
  Settings options;
  if (has_part(checkpoint, "grape.log_freq")) {
    const bool contextual = has_part(checkpoint, "omega_proj.weight");
    options.set("form", std::string(contextual ? "contextual" : "multiplicative"));
    LOCUS_TRY(const double scale, config.number("grape_log_freq_scale", 16.0));
    LOCUS_TRY(const double clock, config.number("grape_ctx_omega_scale", scale));
    options.set("scale", contextual ? clock : scale);
    name("log_frequencies", "grape.log_freq");
    if (contextual) {
      LOCUS_TRY(const bool per_head, config.boolean("grape_ctx_per_head", false));
      options.set("per_head", per_head);
      name("clock", "omega_proj.weight");
      name("clock_bias", "omega_proj.bias");
    }
    return options;
  }
  for (const std::string gated : {"key", "query", "both"}) {
    const std::string part = (gated == "both" ? "querykey" : gated) + "gated_bias.";
    if (has_part(checkpoint, part + "omega")) {
      options.set("form", std::string("additive"));
      options.set("gated", gated);
      name("rate", part + "omega");
      name("key_direction", part + "u");
      name("query_direction", part + "v");
      return options;
    }
  }
  if (has_part(checkpoint, "c_p.weight")) {
    options.set("form", std::string("path"));
    LOCUS_TRY(const std::int64_t width, integer_or(config, "p_head_dim", 0));
    options.set("width", width);
    name("path", "c_p.weight");
    return options;
  }
  return unsupported("expected the tensors of a form of GRAPE (grape.log_freq, …gated_bias.omega or c_p.weight) in " +
                         std::string(kGrapeAttention) + ", found none",
                     config.file());
}

Status finish_grape(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_TRY(Settings options, read_form(checkpoint, plan));
  LOCUS_TRY(const std::string form, options.text("form", ""));
  LOCUS_TRY(const bool normed, config.boolean("use_qk_rmsnorm", true));
  const bool behind = normed && (form == "multiplicative" || form == "contextual");
  if (behind) {
    options.set("norm", true);
    options.set("norm_eps", plan.spec.norm_eps);
    plan.name("position.layers.N.query_norm", "transformer.h.N.attn.q_rms.weight");
    plan.name("position.layers.N.key_norm", "transformer.h.N.attn.k_rms.weight");
  }
  LOCUS_TRY(const bool key, config.boolean("use_k_shift", false));
  LOCUS_TRY(const bool value, config.boolean("use_v_shift", false));
  for (const auto& [shifts, parameter, tensor] : {std::tuple(key, "key", "c_k"), std::tuple(value, "value", "c_v")}) {
    const std::string ours = std::string("layers.N.attention.") + parameter;
    const std::string theirs = std::string("transformer.h.N.attn.") + tensor;
    plan.name(ours, theirs + (shifts ? ".linear" : ""));
    if (shifts) {
      plan.name(ours + "_shift", theirs + ".shift_proj");
    }
  }
  constexpr double kRatio = 8.0 / 3;  // as the authors round it
  const auto inner = static_cast<std::int64_t>(std::floor(kRatio * static_cast<double>(plan.spec.width)));
  plan.spec.encodings = {{"grape", std::move(options)}};
  plan.spec.each([&](std::int64_t, transformer::LayerSpec& layer) {
    layer.feed_forward.inner = inner;
    layer.attention.key_shift = key;
    layer.attention.value_shift = value;
    if (normed && !behind) {
      layer.attention.norm.form = transformer::QueryNormForm::kHead;
      layer.attention.norm.eps = plan.spec.norm_eps;
    }
  });
  return {};
}

}  // namespace

const Family kGrape = [] {
  using namespace slot;
  Family family;
  family.name = "grape";
  family.recognises = recognises_grape;
  family.fixed = [](Draft& draft) {
    draft.spec.norm = transformer::Norm::kRms;
    draft.spec.norm_eps = 1e-5;
    draft.spec.tied_head = true;
    draft.layer.feed_forward.inner = 1;  // from the width, see finish_grape()
  };
  // Fields that a file leaves out have the values of its class.
  family.fields = {{{"vocab_size"}, vocabulary, std::int64_t{50304}},
                   {{"n_embd", "hidden_size"}, width, std::int64_t{768}},
                   {{"n_layer", "num_hidden_layers"}, layers, std::int64_t{12}},
                   {{"n_head", "num_attention_heads"}, heads, std::int64_t{6}},
                   {{"head_dim"}, head_width, std::int64_t{128}},
                   {{"block_size"}, trained_length, std::int64_t{1024}}};
  family.fixed_fields = {{"using_groupnorm", {false}},         {"grape_learnable_freq", {true}},
                         {"grape_share_across_heads", {true}}, {"keygated_u_l2_norm", {true}},
                         {"keygated_u_l2_eps", {1e-6}},        {"querygated_v_l2_norm", {true}},
                         {"querygated_v_l2_eps", {1e-6}},      {"p_tie_mode", {"none"}}};
  family.finish = finish_grape;
  family.prefixes = {"transformer."};
  family.anchor = "wte.weight";
  family.names = {{"embedding.weight", "wte.weight"},
                  {"layers.N.attention_norm", "h.N.ln_1"},
                  {"layers.N.attention.{query,output}", "h.N.attn.c_{q,proj}"},
                  {"layers.N.attention.{query,key}_norm", "h.N.attn.{q,k}_rms"},
                  {"layers.N.feed_forward_norm", "h.N.ln_2"},
                  {"layers.N.feed_forward.{gate,up,down}", "h.N.mlp.c_{fc1,fc2,proj}"}};
  family.outside = {{"final_norm", "ln_f"}, {"head", "lm_head"}, {"embedding.weight", "lm_head.weight"}};
  family.skipped = {"lm_head.weight"};
  // Initial values, and what their classes do not read.
  family.harmless = {"bias",
                     "dropout",
                     "scale_attn_by_inverse_layer_idx",
                     "embedding_init_std",
                     "hidden_init_std_factor",
                     "grape_base",
                     "grape_ctx_init_omega",
                     "keygated_omega_init",
                     "keygated_u_init_std",
                     "querygated_omega_init",
                     "querygated_v_init_std",
                     "querykeygated_omega_init",
                     "q_rank",
                     "rank",
                     "tie_word_embeddings"};
  return family;
}();

}  // namespace locus::families
