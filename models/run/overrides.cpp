// Overrides: what they reach, and what they say.
#include <algorithm>
#include <cmath>
#include <string_view>

#include "core/base/numbers.h"
#include "core/base/shown.h"
#include "core/position/list.h"
#include "models/run/loaded_model.h"

namespace locus::models {

namespace {

// `option` is "base" or "scaling".
bool can_override(const std::string& encoding, std::string_view option, const Settings& options) {
  const position::Description* const known = position::find_description(encoding);
  return known != nullptr && position::can_override(*known, option, options);
}

// "linear:4" -> scaling linear, factor 4. The stretch of yarn-turns is the input's length over the trained one.
Status apply_scaling(const std::string& text, Settings& options) {
  const std::size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  const bool is_bare = text == "yarn-turns";
  const auto factor = parse_number<double>(is_bare ? "1" : colon == std::string::npos ? "" : text.substr(colon + 1));
  const bool known = kind == "linear" || kind == "ntk" || kind == "dynamic" || kind == "yarn" || is_bare;
  if (!known || !factor || !(*factor >= 1 && std::isfinite(*factor))) {
    return usage(
        "rope scaling: expected linear:S, ntk:S, dynamic:S or yarn:S with S at least 1, or yarn-turns, found " +
        shown(text));
  }
  for (const char* name : {"attention_factor", "beta_fast", "beta_slow", "low_freq_factor", "high_freq_factor",
                           "original_max_position_embeddings", "max_position_embeddings"}) {
    options.erase(name);
  }
  options.set("scaling", kind);
  options.set("factor", *factor);
  return {};
}

}  // namespace

std::string label_of(const Overrides& overrides) {
  std::string label;
  if (overrides.rope_base) {
    label += " base " + locus::to_text(SettingValue(*overrides.rope_base));
  }
  if (!overrides.rope_scaling.empty()) {
    label += " " + overrides.rope_scaling;
  }
  return label;
}

Overrides shortest(Overrides overrides) {
  const std::size_t colon = overrides.rope_scaling.find(':');
  if (colon != std::string::npos) {
    const auto factor = parse_number<double>(overrides.rope_scaling.substr(colon + 1));
    overrides.rope_scaling.replace(colon + 1, std::string::npos, number_text(factor.value_or(1)));
  }
  return overrides;
}

const EncodingUse* turning_encoding(const ModelInfo& info) {
  const auto found = std::find_if(info.encodings.begin(), info.encodings.end(),
                                  [](const EncodingUse& use) { return can_override(use.name, "base", use.options); });
  return found == info.encodings.end() ? nullptr : &*found;
}

Status apply_overrides(const Overrides& overrides, transformer::Spec& spec) {
  const std::string name = spec.encodings.empty() ? "none" : spec.encodings.front().name;
  bool any_base = false;
  bool any_scaling = false;
  if (overrides.rope_base && (!(*overrides.rope_base > 1) || !std::isfinite(*overrides.rope_base))) {
    return usage("rope base: expected a number above 1, found " + number_text(*overrides.rope_base));
  }
  // Every layer that turns obeys.
  for (transformer::EncodingSpec& encoding : spec.encodings) {
    if (overrides.rope_base && can_override(encoding.name, "base", encoding.options)) {
      any_base = true;
      encoding.options.set("base", *overrides.rope_base);
    }
  }
  if (overrides.rope_base && !any_base) {
    return unsupported("rope base: the encoding " + name + " has no base");
  }
  for (transformer::EncodingSpec& encoding : spec.encodings) {
    if (!overrides.rope_scaling.empty() && can_override(encoding.name, "scaling", encoding.options)) {
      any_scaling = true;
      LOCUS_CHECK(apply_scaling(overrides.rope_scaling, encoding.options));
    }
  }
  if (!overrides.rope_scaling.empty() && !any_scaling) {
    return unsupported("rope scaling: the encoding " + name + " has no scaling");
  }
  return {};
}

}  // namespace locus::models
