// OLMo 2: Llama with norms after the branches, and q and k normalised over all heads; with pe_config, from some layer on
// with learned positions (RePo). EXAONE 4: the same with q and k
// normalised per head; most layers have windows and RoPE, the others neither.
#include <algorithm>

#include "core/base/lists.h"
#include "core/base/numbers.h"
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

// The layers with learned positions: those from a first one on, of a list where there is one ("5,6,7"). The published code
// reads the misspelt names, and published files have both.
Result<std::function<bool(std::int64_t)>> repo_layers(const Config& config) {
  const auto field = [&](const std::string& misspelt, const std::string& name) {
    return "pe_config." + (config.has("pe_config." + misspelt) ? misspelt : name);
  };
  LOCUS_TRY(const std::int64_t first,
            config.integer(field("dynmaic_pe_start_layer", "dynamic_pe_start_layer"), std::int64_t{0}));
  const std::string list_field = field("dynmaic_pe_layer_ids", "dynamic_pe_layer_ids");
  std::vector<std::int64_t> listed;
  if (config.kind(list_field) == "list") {
    LOCUS_TRY(listed, config.integers(list_field));
  } else {
    LOCUS_TRY(const std::string text, config.text(list_field, ""));
    for (const std::string_view word : text.empty() ? std::vector<std::string_view>() : split(text)) {
      const auto layer = parse_number<std::int64_t>(word);
      if (!layer) {
        return bad_input("expected numbers of layers, separated by commas, found " + shown(text),
                         config.context(list_field));
      }
      listed.push_back(*layer);
    }
  }
  return std::function<bool(std::int64_t)>([first, listed](std::int64_t n) {
    return n >= first && (listed.empty() || std::find(listed.begin(), listed.end(), n) != listed.end());
  });
}

Status finish_olmo2(const CheckpointFiles& checkpoint, Plan& plan) {
  const Config& config = checkpoint.config;
  LOCUS_CHECK(finish_llama(checkpoint, plan));
  if (!config.has("pe_config")) {
    return {};
  }
  constexpr const char* kMode = "pe_config.dynamic_pe_mode";
  LOCUS_TRY(const std::string mode, config.text(kMode, "none"));
  const std::string form = mode == "swigluex_multihead"     ? "gated"
                           : mode == "multihead_continuous" ? "linear"
                           : mode == "continuous"           ? "shared"
                                                            : "";
  if (mode == "none") {
    return {};
  }
  if (form.empty() && mode != "nope") {
    return unsupported(
        "expected swigluex_multihead, multihead_continuous, continuous, nope or none, found " + shown(mode),
        config.context(kMode));
  }
  LOCUS_TRY(const auto learned, repo_layers(config));
  const transformer::EncodingSpec rope = plan.spec.encodings.front();
  LOCUS_TRY(const std::string scaling, rope.options.text("scaling", "none"));
  if (!form.empty() && scaling != "none") {
    return unsupported("expected learned positions without a scaling of RoPE, found " + shown(scaling),
                       config.context("rope_scaling"));
  }
  const transformer::AttentionSpec& attention = plan.spec.first().attention;
  if (!form.empty() && attention.kv_heads != attention.heads) {
    return unsupported("expected a key head for each of the " + std::to_string(attention.heads) +
                           " query heads beside learned positions, found " + std::to_string(attention.kv_heads),
                       config.context("num_key_value_heads"));
  }
  std::int64_t others = 0;
  plan.spec.each([&](std::int64_t n, transformer::LayerSpec& layer) {
    others += learned(n) ? 0 : 1;
    layer.encoding = learned(n) ? (form.empty() ? -1 : 0) : (form.empty() ? 0 : 1);
  });
  if (!form.empty()) {
    LOCUS_TRY(const double base, rope.options.number("base", 10000.0));
    plan.spec.encodings = {{"repo", {{"form", form}, {"base", base}}}};
    if (others > 0) {
      plan.spec.encodings.push_back(rope);
    }
  }
  return {};
}

}  // namespace

const Family kOlmo2 = [] {
  Family family = norms_after("olmo2");
  family.fixed = fix<transformer::QueryNormForm::kWhole>;
  family.finish = finish_olmo2;
  family.names.push_back({"position.layers.N.{gate,content,final,dynamic}_map",
                          "layers.N.self_attn.{gate,content,final,dynamic}_map.weight"});
  family.harmless.push_back("pe_config.dynamic_pe_start_layer");
  family.harmless.push_back("pe_config.dynamic_pe_layer_ids");
  return family;
}();

const Family kExaone4 = [] {
  Family family = norms_after("exaone4");
  family.fixed = fix<transformer::QueryNormForm::kHead>;
  family.finish = finish_exaone;
  return family;
}();

}  // namespace locus::families
