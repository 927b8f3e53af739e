// Gemma 2 and 3: norms of 1 + weight on both sides of each branch, scaled embeddings, a separate attention scale. Gemma
// 2 caps scores and has a window in every second layer; Gemma 3 normalises q and k, and its windowed layers have
// another rotary base.
#include <cmath>

#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

void fix(Draft& draft) {
  draft.layer.attention_norm = draft.layer.feed_forward_norm = transformer::NormPlace::kBoth;
}

// Values without a field or slot: √C, query_pre_attn_scalar^−½, and a cap that null removes.
Status finish_scales(const Config& config, double usual_cap, transformer::Spec& spec) {
  spec.embedding_scale = std::sqrt(static_cast<double>(spec.width));
  LOCUS_TRY(const double scalar, config.number("query_pre_attn_scalar", 256.0));
  LOCUS_TRY(const double written, config.number("attn_logit_softcapping", usual_cap));
  const double cap = config.has_null("attn_logit_softcapping") ? 0 : usual_cap > 0 ? written : 0;
  if (!(scalar > 0) || !(cap >= 0)) {
    return bad_input("expected a query_pre_attn_scalar and a cap above 0", config.file());
  }
  spec.each([&](std::int64_t, transformer::LayerSpec& layer) {
    layer.attention.scale = 1 / std::sqrt(scalar);
    layer.attention.soft_cap = cap;
  });
  return {};
}

Status finish_gemma2(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_CHECK(finish_llama(checkpoint, plan));
  LOCUS_CHECK(finish_scales(config, 50, plan.spec));
  if (config.has_null("final_logit_softcapping")) {
    plan.spec.logit_cap = 0;
  }
  LOCUS_TRY(const std::int64_t window, config.integer("sliding_window", 4096));
  return set_windows(config, plan.spec, window, [](std::int64_t n) { return n % 2 == 0; });
}

// Global layers, then local ones. rope_scaling applies to the global layers and takes precedence there.
Result<std::vector<transformer::EncodingSpec>> gemma3_encodings(const Config& config) {
  LOCUS_TRY(const double old_base, config.number("rope_theta", 1e6));
  LOCUS_TRY(const double base, config.number("rope_parameters.full_attention.rope_theta", old_base));
  LOCUS_TRY(const double local_base, config.number("rope_local_base_freq", 10000.0));
  LOCUS_TRY(const Config scaling, group(config, "rope_scaling"));
  LOCUS_TRY(const Config global, group(config, "rope_parameters.full_attention"));
  LOCUS_TRY(const Config local, group(config, "rope_parameters.sliding_attention"));
  LOCUS_TRY(Settings everywhere, rope_options(config, scaling.names().empty() ? global : scaling, base));
  LOCUS_TRY(Settings near, rope_options(config, local, local_base));
  return std::vector<transformer::EncodingSpec>{{"rope", std::move(everywhere)}, {"rope", std::move(near)}};
}

Status finish_gemma3(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_TRY(const bool both_ways, config.boolean("use_bidirectional_attention", false));
  LOCUS_TRY(plan.spec.encodings, gemma3_encodings(config));
  LOCUS_CHECK(finish_scales(config, 0, plan.spec));
  const std::string_view field = spelled(config, {"sliding_window_pattern", "_sliding_window_pattern"});
  LOCUS_TRY(const std::int64_t pattern, config.integer(field, 6));
  LOCUS_TRY(const std::int64_t window, config.integer("sliding_window", 4096));
  if (pattern < 1 || window < 1) {
    return bad_input("expected a pattern and a window of at least 1, found " + std::to_string(pattern) + " and " +
                         std::to_string(window),
                     config.context(field));
  }
  // Embedding models attend both ways: half of the window to each side, plus the token itself. With is_causal,
  // read_direction() widens the windows by one more, as for every decoder.
  LOCUS_TRY(const bool causal, config.boolean("is_causal", true));
  plan.spec.causal = !both_ways || !causal;
  LOCUS_CHECK(set_windows(config, plan.spec, both_ways ? window / 2 + 1 : window,
                          [&](std::int64_t n) { return (n + 1) % pattern != 0; }));
  plan.spec.each(
      [](std::int64_t, transformer::LayerSpec& layer) { layer.encoding = layer.attention.window > 0 ? 1 : 0; });
  return {};
}

// Llama's table with Gemma's norms.
Family gemma(std::string_view name) {
  Family family = llama(name);
  family.fixed = fix;
  family.set({{"hidden_activation"}, slot::activation, "gelu_pytorch_tanh"});
  family.set({{"head_dim"}, slot::head_width, std::int64_t{256}});
  family.set({{"tie_word_embeddings"}, slot::tied, true});
  family.rename({"final_norm", "norm", Layout::kPlusOne});
  family.rename(
      {"layers.N.{attention,feed_forward}_norm", "layers.N.{input,pre_feedforward}_layernorm", Layout::kPlusOne});
  family.names.push_back({"layers.N.{attention,feed_forward}_after_norm",
                          "layers.N.{post_attention,post_feedforward}_layernorm", Layout::kPlusOne});
  return family;
}

Status finish_gemma(const CheckpointFiles& checkpoint, Plan& plan) {
  plan.spec.embedding_scale = std::sqrt(static_cast<double>(plan.spec.width));
  return finish_llama(checkpoint, plan);
}

}  // namespace

Family gemma_text() {
  Family family = gemma("gemma");
  family.fixed = nullptr;
  std::erase_if(family.names, [](const Name& row) { return row.parameter.find("after_norm") != row.parameter.npos; });
  family.rename(
      {"layers.N.{attention,feed_forward}_norm", "layers.N.{input,post_attention}_layernorm", Layout::kPlusOne});
  family.finish = finish_gemma;
  return family;
}

const Family kGemma2 = [] {
  Family family = gemma("gemma2");
  family.set({{"final_logit_softcapping"}, slot::logit_cap, 30.0});
  family.finish = finish_gemma2;
  return family;
}();

const Family kGemma3 = [] {
  Family family = gemma("gemma3_text");
  family.fixed = [](Draft& draft) {
    fix(draft);
    draft.layer.attention.norm.form = transformer::QueryNormForm::kHead;
  };
  family.set({{"final_logit_softcapping"}, slot::logit_cap, 0.0});
  family.names.push_back({"layers.N.attention.{query,key}_norm", "layers.N.self_attn.{q,k}_norm", Layout::kPlusOne});
  family.finish = finish_gemma3;
  return family;
}();

}  // namespace locus::families
