// Overrides: what they reach, and what they say.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/lists.h"
#include "core/base/numbers.h"
#include "core/base/shown.h"
#include "core/position/list.h"
#include "core/position/shared/initial.h"
#include "models/api/local.h"
#include "models/engine/overrides.h"

namespace locus::models {

namespace {

// `option` is "base" or "scaling".
bool can_override(const std::string& encoding, std::string_view option, const Settings& options) {
  const position::Description* const known = position::find_description(encoding);
  return known != nullptr && position::can_override(*known, option, options);
}

constexpr std::array kScalingOptions{"attention_factor",
                                     "beta_fast",
                                     "beta_slow",
                                     "low_freq_factor",
                                     "high_freq_factor",
                                     "short_factor",
                                     "long_factor",
                                     "proportion",
                                     "clip_pairs",
                                     "clip",
                                     "original_max_position_embeddings",
                                     "max_position_embeddings"};

void clear_scaling(Settings& options) {
  for (const char* name : kScalingOptions) {
    options.erase(name);
  }
}

// "proportional:0.25" and "clipped:20", "clipped:20:hard": which pairs turn. Nothing for another text.
std::optional<Status> apply_turning_pairs(const std::string& text, Settings& options) {
  constexpr std::string_view kProportional = "proportional:";
  constexpr std::string_view kClipped = "clipped:";
  if (text.starts_with(kProportional)) {
    const auto share = parse_number<double>(text.substr(kProportional.size()));
    if (!share || !(*share > 0 && *share <= 1)) {
      return usage("rope scaling: expected proportional:P with P above 0 and at most 1, found " + shown(text));
    }
    clear_scaling(options);
    options.set("scaling", std::string("proportional"));
    options.set("factor", 1.0);
    options.set("proportion", *share);
    return Status();
  }
  if (text.starts_with(kClipped)) {
    const std::string words = text.substr(kClipped.size());
    const std::size_t colon = words.find(':');
    const std::string clip = colon == std::string::npos ? "soft" : words.substr(colon + 1);
    const auto pairs = parse_number<std::int64_t>(words.substr(0, colon));
    if (!pairs || (clip != "soft" && clip != "hard") || *pairs < (clip == "hard" ? 1 : 2)) {
      return usage("rope scaling: expected clipped:N or clipped:N:hard with N at least 2 (hard: 1), found " +
                   shown(text));
    }
    clear_scaling(options);
    options.set("scaling", std::string("clipped"));
    options.set("factor", 1.0);
    options.set("clip_pairs", *pairs);
    options.set("clip", clip);
    return Status();
  }
  return std::nullopt;
}

// "linear:4" -> scaling linear, factor 4. The stretch of yarn-turns is the input's length over the trained one.
Status apply_scaling(const std::string& text, Settings& options) {
  if (const auto applied = apply_turning_pairs(text, options)) {
    return *applied;
  }
  const std::size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  const bool is_bare = text == "yarn-turns";
  const auto factor = parse_number<double>(is_bare ? "1" : colon == std::string::npos ? "" : text.substr(colon + 1));
  const bool known = kind == "linear" || kind == "ntk" || kind == "dynamic" || kind == "yarn" || is_bare;
  if (!known || !factor || !(*factor >= 1 && std::isfinite(*factor))) {
    return usage(
        "rope scaling: expected linear:S, ntk:S, dynamic:S or yarn:S with S at least 1, yarn-turns, proportional:P, "
        "clipped:N or clipped:N:hard, found " +
        shown(text));
  }
  clear_scaling(options);
  options.set("scaling", kind);
  options.set("factor", *factor);
  return {};
}

// As it is written most shortly, yarn:2 for yarn:2.0; of a scaling that was applied.
std::string shortest(const std::string& scaling) {
  const std::size_t colon = scaling.find(':');
  const auto number = parse_number<double>(colon == std::string::npos ? "" : scaling.substr(colon + 1));
  return number ? scaling.substr(0, colon + 1) + number_text(*number) : scaling;
}

// A layer as overrides see it.
struct RopeLayer {
  std::int64_t encoding = -1;  // −1: none that the override reaches
  bool local = false;          // sees a window or a chunk of the keys alone
};
using RopeLayers = std::vector<RopeLayer>;

RopeLayers places_of(const transformer::Spec& spec, std::string_view option) {
  RopeLayers places;
  for (const transformer::LayerSpec& layer : spec.layers) {
    const transformer::EncodingSpec* const own = spec.encoding_of(layer);
    const bool turns = own != nullptr && can_override(own->name, option, own->options);
    places.push_back({turns ? layer.encoding : -1, layer.attention.window > 0 || layer.attention.chunk > 0});
  }
  return places;
}

RopeLayers places_of(const ModelInfo& info, std::string_view option) {
  RopeLayers places;
  for (std::int64_t n = 0; n < info.layers; ++n) {
    const EncodingUse* const own = info.encoding_of(n);
    const bool turns = own != nullptr && can_override(own->name, option, own->options);
    const bool known = n < static_cast<std::int64_t>(info.layer_info.size());
    const LayerInfo layer = known ? info.layer_info[static_cast<std::size_t>(n)] : LayerInfo{};
    places.push_back({turns ? own - info.encodings.data() : -1, layer.window > 0 || layer.chunk > 0});
  }
  return places;
}

// Whether each layer obeys.
using Obeying = std::vector<bool>;

template <class Rule>
Obeying chosen(const RopeLayers& places, const Rule& rule) {
  Obeying obeying;
  for (const RopeLayer& place : places) {
    obeying.push_back(place.encoding >= 0 && rule(place));
  }
  return obeying;
}

bool any(const Obeying& obeying) {
  return std::find(obeying.begin(), obeying.end(), true) != obeying.end();
}

// Where no layers are named, those whose base and scaling config.json says in rope_theta and rope_scaling: all that
// turn, but where the local ones have an encoding of their own, beside another, only the rest (Gemma 3, ModernBERT).
Obeying usual(const RopeLayers& places) {
  const auto local_alone = [&](std::int64_t encoding) {
    return std::all_of(places.begin(), places.end(),
                       [&](const RopeLayer& each) { return each.encoding != encoding || each.local; });
  };
  const Obeying shared = chosen(places, [&](const RopeLayer& place) { return !local_alone(place.encoding); });
  return any(shared) ? shared : chosen(places, [](const RopeLayer&) { return true; });
}

// Layers that "global", "local" or "5,11,17" names; `what` is "rope base" or "rope scaling", `option` what it sets.
Result<Obeying> obeying(const RopeLayers& places, const std::string& layers, const std::string& what,
                        const std::string& option) {
  if (layers.empty()) {
    return usual(places);
  }
  if (layers == "global" || layers == "local") {
    Obeying named = chosen(places, [&](const RopeLayer& place) { return place.local == (layers == "local"); });
    if (!any(named)) {
      return unsupported(what + ": no " + layers + " layer has a " + option);
    }
    return named;
  }
  Obeying named(places.size(), false);
  for (const std::string_view word : split(layers)) {
    const auto layer = parse_number<std::int64_t>(word);
    if (!layer || *layer < 0 || *layer >= static_cast<std::int64_t>(places.size())) {
      return usage(what + ": expected @global, @local or layers from 0 to " + std::to_string(places.size() - 1) +
                   " as in @0,2, found @" + shown(layers));
    }
    if (places[static_cast<std::size_t>(*layer)].encoding < 0) {
      return unsupported(what + ": layer " + std::to_string(*layer) + " has no " + option);
    }
    named[static_cast<std::size_t>(*layer)] = true;
  }
  return named;
}

// The least text that names these layers.
std::string text_of(const Obeying& named, const RopeLayers& places) {
  if (named == chosen(places, [](const RopeLayer&) { return true; })) {
    return "";
  }
  for (const bool local : {false, true}) {
    if (named == chosen(places, [&](const RopeLayer& place) { return place.local == local; })) {
      return local ? "local" : "global";
    }
  }
  std::string text;
  for (std::size_t n = 0; n < named.size(); ++n) {
    text += named[n] ? (text.empty() ? "" : ",") + std::to_string(n) : "";
  }
  return text;
}

// Whether an encoding has parameters, or states that layers renew.
bool has_learned(const transformer::EncodingSpec& encoding, const transformer::AttentionSpec& attention,
                 const transformer::Spec& spec) {
  const position::OutlineScope shapes_only;
  const position::ModelShape shape{1,          attention.heads,     attention.kv_heads, attention.head_width,
                                   spec.width, spec.trained_length, spec.causal};
  const auto made = position::make_encoding(encoding.name, encoding.options, shape);
  return !made.ok() || (*made)->description().updates || !(*made)->parameters().empty();
}

// Changes the encoding of these layers; layers that share it with others get one of their own.
template <class Change>
Status change_layers(const Obeying& named, const std::string& what, const Change& change, transformer::Spec& spec) {
  for (std::size_t slot = spec.encodings.size(); slot-- > 0;) {
    std::vector<std::size_t> own;
    bool shared = false;
    for (std::size_t n = 0; n < spec.layers.size(); ++n) {
      if (spec.layers[n].encoding == static_cast<std::int64_t>(slot)) {
        if (named[n]) {
          own.push_back(n);
        } else {
          shared = true;
        }
      }
    }
    if (own.empty()) {
      continue;
    }
    transformer::EncodingSpec changed = spec.encodings[slot];
    LOCUS_CHECK(change(changed.options));
    if (!shared) {
      spec.encodings[slot] = std::move(changed);
      continue;
    }
    if (changed == spec.encodings[slot]) {
      continue;
    }
    if (has_learned(changed, spec.layers[static_cast<std::size_t>(own.front())].attention, spec)) {
      return unsupported(what + ": the layers share what " + changed.name +
                         " has learned; expected all of them, found layer " + std::to_string(own.front()) +
                         (own.size() > 1 ? " and others" : ""));
    }
    for (const std::size_t n : own) {
      spec.layers[n].encoding = static_cast<std::int64_t>(spec.encodings.size());
    }
    spec.encodings.push_back(std::move(changed));
  }
  return {};
}

bool same_encodings(const transformer::Spec& a, const transformer::Spec& b) {
  for (std::size_t n = 0; n < a.layers.size(); ++n) {
    const transformer::EncodingSpec* const left = a.encoding_of(a.layers[n]);
    const transformer::EncodingSpec* const right = b.encoding_of(b.layers[n]);
    if ((left == nullptr) != (right == nullptr) || (left != nullptr && !(*left == *right))) {
      return false;
    }
  }
  return true;
}

Status check_base(const Overrides& overrides) {
  if (overrides.rope_base && (!(*overrides.rope_base > 1) || !std::isfinite(*overrides.rope_base))) {
    return usage("rope base: expected a number above 1, found " + number_text(*overrides.rope_base));
  }
  return {};
}

Error without(const std::string& encoding, const std::string& option) {
  return unsupported("rope " + option + ": the encoding " + encoding + " has no " + option);
}

}  // namespace

const EncodingUse* local::turning_encoding(const ModelInfo& info, const std::string& layers) {
  if (info.layer_info.empty() && layers.empty()) {  // nobody says which layer has which
    const auto found = std::find_if(info.encodings.begin(), info.encodings.end(),
                                    [](const EncodingUse& use) { return can_override(use.name, "base", use.options); });
    return found == info.encodings.end() ? nullptr : &*found;
  }
  const RopeLayers places = places_of(info, "base");
  const auto named = obeying(places, layers, "rope base", "base");
  const auto first = named.ok() ? std::find(named->begin(), named->end(), true) : Obeying::const_iterator();
  return !named.ok() || first == named->end() ? nullptr : info.encoding_of(first - named->begin());
}

std::string local::usual_layers(const ModelInfo& info) {
  const RopeLayers places = places_of(info, "base");
  return text_of(usual(places), places);
}

Status override_encoding(const Overrides& overrides, transformer::EncodingSpec& encoding) {
  LOCUS_CHECK(check_base(overrides));
  if (overrides.rope_base) {
    if (!can_override(encoding.name, "base", encoding.options)) {
      return without(encoding.name, "base");
    }
    encoding.options.set("base", *overrides.rope_base);
  }
  if (!overrides.rope_scaling.empty()) {
    if (!can_override(encoding.name, "scaling", encoding.options)) {
      return without(encoding.name, "scaling");
    }
    LOCUS_CHECK(apply_scaling(overrides.rope_scaling, encoding.options));
  }
  return {};
}

Result<Overrides> apply_overrides(const Overrides& overrides, transformer::Spec& spec) {
  LOCUS_CHECK(check_base(overrides));
  if (overrides.stage != 0 && spec.image.stages == transformer::Stages::kNone) {
    return unsupported("stage: expected a tower in stages, as Swin's, found a model without stages");
  }
  const transformer::Spec own = spec;
  const std::string name = spec.encodings.empty() ? "none" : spec.encodings.front().name;
  Overrides applied = overrides;
  const auto apply = [&](const std::string& option, std::string& layers, const auto& change) -> Status {
    const RopeLayers places = places_of(own, option);
    LOCUS_TRY(const Obeying named, obeying(places, layers, "rope " + option, option));
    if (!any(named)) {
      return without(name, option);
    }
    layers = text_of(named, places);
    return change_layers(named, "rope " + option, change, spec);
  };
  if (overrides.rope_base) {
    LOCUS_CHECK(apply("base", applied.rope_base_layers, [&](Settings& options) {
      options.set("base", *overrides.rope_base);
      return Status();
    }));
  }
  if (!overrides.rope_scaling.empty()) {
    LOCUS_CHECK(apply("scaling", applied.rope_scaling_layers,
                      [&](Settings& options) { return apply_scaling(overrides.rope_scaling, options); }));
    applied.rope_scaling = shortest(overrides.rope_scaling);
  }
  if (same_encodings(own, spec)) {
    applied = {};
    applied.fast = overrides.fast;
    applied.half = overrides.half;
  }
  // The family has read the layers of that stage; the last one alone has the final norm.
  applied.stage = spec.final_norm ? 0 : overrides.stage;
  return applied;
}

}  // namespace locus::models
