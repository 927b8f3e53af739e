// OLMo 2: Llama with norms after the branches, and q and k normalised over all heads. EXAONE 4: the same with q and k
// normalised per head; most layers have windows and RoPE, the others neither.
#include "core/base/shown.h"
#include "models/families/engine/slots.h"
#include "models/families/list.h"

namespace locus::families {

namespace {

// Llama's table with norms after the branches.
Family norms_after(std::string_view name) {
  Family family = llama(name);
  family.set({{"rms_norm_eps"}, slot::norm_eps, 1e-5});
  family.names.push_back(
      {"layers.N.{attention,feed_forward}_after_norm", "layers.N.{post_attention,post_feedforward}_layernorm"});
  family.names.push_back({"layers.N.attention.{query,key}_norm", "layers.N.self_attn.{q,k}_norm"});
  return family;
}

template <transformer::QueryNormForm kForm>
void fix(Draft& draft) {
  draft.layer.attention_norm = draft.layer.feed_forward_norm = transformer::NormPlace::kAfter;
  draft.layer.attention.norm.form = kForm;
}

// sliding_window_pattern: a number (every such layer is global) or letters ("LLLG", repeated; the last layer is
// global).
Result<std::function<bool(std::int64_t)>> local_layers(const Config& config, std::int64_t layers) {
  constexpr const char* kField = "sliding_window_pattern";
  if (config.kind(kField) == "text") {
    LOCUS_TRY(const std::string letters, config.text(kField));
    if (letters.empty() || letters.find_first_not_of("LG") != letters.npos) {
      return bad_input("expected the letters L and G, found " + shown(letters), config.context(kField));
    }
    return std::function<bool(std::int64_t)>([letters, layers](std::int64_t n) {
      return n + 1 != layers && letters[static_cast<std::size_t>(n) % letters.size()] == 'L';
    });
  }
  LOCUS_TRY(const std::int64_t pattern, config.integer(kField, 4));
  if (pattern < 1) {
    return bad_input("expected at least 1, found " + std::to_string(pattern), config.context(kField));
  }
  return std::function<bool(std::int64_t)>([pattern](std::int64_t n) { return (n + 1) % pattern != 0; });
}

Status finish_exaone(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_CHECK(finish_llama(checkpoint, plan));
  if (!config.has("sliding_window")) {
    return {};
  }
  LOCUS_TRY(const std::int64_t window, config.integer("sliding_window"));
  LOCUS_TRY(const auto local, local_layers(config, plan.spec.depth()));
  LOCUS_CHECK(set_windows(config, plan.spec, window, local));
  plan.spec.each(
      [](std::int64_t, transformer::LayerSpec& layer) { layer.encoding = layer.attention.window > 0 ? 0 : -1; });
  return {};
}

}  // namespace

const Family kOlmo2 = [] {
  Family family = norms_after("olmo2");
  family.fixed = fix<transformer::QueryNormForm::kWhole>;
  return family;
}();

const Family kExaone4 = [] {
  Family family = norms_after("exaone4");
  family.fixed = fix<transformer::QueryNormForm::kHead>;
  family.finish = finish_exaone;
  return family;
}();

}  // namespace locus::families
