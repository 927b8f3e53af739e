#include "models/transformer/families/engine/family.h"

#include <utility>

#include "core/base/listed.h"
#include "core/base/numbers.h"
#include "core/base/shown.h"
#include "models/transformer/families/engine/unrecognised.h"

namespace locus::families {

std::string Checkpoint::prefix_of(const std::vector<std::string_view>& prefixes, const std::string& name) const {
  for (const std::string_view prefix : prefixes) {
    if (find(std::string(prefix) + name) != nullptr) {
      return std::string(prefix);
    }
  }
  return std::string(prefixes.front());
}

std::string text_or_nothing(const Config& config, std::string_view field) {
  const Result<std::string> text = config.text(field, "");
  return text.ok() ? *text : std::string();
}

std::string_view spelled(const Config& config, const std::vector<std::string_view>& names) {
  for (const std::string_view name : names) {
    if (config.has(name)) {
      return name;
    }
  }
  return names.front();
}

Result<Config> group(const Config& config, std::string_view field) {
  return config.has(field) ? config.object(field) : Result<Config>(Config());
}

namespace {

std::string settled_text(const SettledValue& value) {
  if (const auto* const flag = std::get_if<bool>(&value)) {
    return *flag ? "true" : "false";
  }
  const auto* const number = std::get_if<double>(&value);
  return number != nullptr ? general_text(*number, 6) : std::get<const char*>(value);
}

// What the config says there, as settled_text() would; its kind where that is none of the three.
std::string found_text(const Config& config, std::string_view field) {
  const std::string kind = config.kind(field);
  if (kind == "true or false") {
    const Result<bool> flag = config.boolean(field);
    return settled_text(flag.ok() && *flag);
  }
  if (kind == "number") {
    const Result<double> number = config.number(field);
    return settled_text(number.ok() ? *number : 0);
  }
  const Result<std::string> text = config.text(field);
  return text.ok() ? shown(*text) : (kind == "object" ? "an " : "a ") + kind;
}

const char* kind_of(const SettledValue& value) {
  return std::holds_alternative<bool>(value)     ? "true or false"
         : std::holds_alternative<double>(value) ? "number"
                                                 : "text";
}

}  // namespace

Status check_settled(const Config& config, const std::vector<Settled>& settled) {
  for (const Settled& field : settled) {
    if (!config.has(field.name)) {
      continue;
    }
    const std::string found = found_text(config, field.name);
    bool same = false;
    bool kind = field.values.empty();
    for (const SettledValue& value : field.values) {
      kind = kind || config.kind(field.name) == kind_of(value);
      same = same || (config.kind(field.name) == kind_of(value) && found == settled_text(value));
    }
    if (same) {
      continue;
    }
    const std::string expected = field.values.empty() ? "none" : listed(field.values, settled_text);
    const std::string message = "expected " + expected + ", found " + found;
    return kind ? unsupported(message, config.context(field.name)) : bad_input(message, config.context(field.name));
  }
  return {};
}

std::string model_type(const Checkpoint& checkpoint) {
  return text_or_nothing(checkpoint.config, "model_type");
}

std::string layer_prefix(std::string_view before, std::int64_t layer, std::string_view after) {
  return std::string(before) + std::to_string(layer) + std::string(after);
}

Status check_spec(const transformer::Spec& spec, const Config& config) {
  return within(transformer::validate(spec), config.file());
}

Result<std::int64_t> divided_heads(std::int64_t width, std::int64_t heads, const Config& config) {
  if (heads < 1 || width < 1 || width % heads != 0) {
    return bad_input("expected a width that the heads divide, found width " + std::to_string(width) + " and " +
                         std::to_string(heads) + " heads",
                     config.file());
  }
  return width / heads;
}

Result<Settings> rope_options(const Config& config, double base) {
  LOCUS_TRY(const Config scaling, group(config, config.has("rope_parameters") ? "rope_parameters" : "rope_scaling"));
  LOCUS_TRY(const double configured, config.number("rope_theta", base));
  return rope_options(config, scaling, configured);
}

// What each kind of scaling cannot be without. YaRN's mscale fields scale cos and sin where both are given; only
// DeepSeek's table reads them.
Status check_scaling(const Config& config, const Config& scaling, const std::string& type) {
  std::vector<std::string_view> needed;
  if (type != "longrope") {
    needed.emplace_back("factor");
  }
  if (type == "llama3") {
    needed.insert(needed.end(), {"low_freq_factor", "high_freq_factor"});
  }
  for (const std::string_view field : needed) {
    LOCUS_TRY(const double value, scaling.number(field));
    if (!(value > 0)) {
      return bad_input("expected a number above 0, found " + general_text(value, 6), scaling.context(field));
    }
  }
  const bool deepseek = text_or_nothing(config, "model_type").starts_with("deepseek");
  return deepseek ? Status() : check_settled(scaling, {{"mscale", {0.0}}, {"mscale_all_dim", {0.0}}});
}

Result<Settings> rope_options(const Config& config, const Config& scaling, double base, std::string type) {
  LOCUS_TRY(const double theta, scaling.number("rope_theta", base));
  if (type.empty()) {
    LOCUS_TRY(type, scaling.text(spelled(scaling, {"rope_type", "type"}), "default"));
  }
  type = type == "su" ? "longrope" : type;
  Settings options{{"base", theta}};
  if (scaling.has("mrope_section")) {
    LOCUS_TRY(std::vector<double> sections, scaling.numbers("mrope_section"));
    options.set("sections", std::move(sections));
    type = type == "mrope" ? "default" : type;
  }
  if (type == "default") {
    return options;
  }
  if (type != "linear" && type != "dynamic" && type != "yarn" && type != "llama3" && type != "longrope") {
    return unsupported(
        "rope_scaling " + shown(type) + " is not supported; known: default, linear, dynamic, yarn, llama3, longrope",
        config.file());
  }
  options.set("scaling", type);
  LOCUS_CHECK(check_scaling(config, scaling, type));
  LOCUS_TRY(const double factor, scaling.number("factor", 1.0));
  options.set("factor", factor);
  for (const std::string name : {"attention_factor", "beta_fast", "beta_slow", "low_freq_factor", "high_freq_factor"}) {
    if (scaling.has(name)) {
      LOCUS_TRY(const double value, scaling.number(name, 0));
      options.set(name, value);
    }
  }
  for (const std::string name : {"short_factor", "long_factor"}) {
    if (type == "longrope") {
      LOCUS_TRY(std::vector<double> factors, scaling.numbers(name));
      options.set(name, std::move(factors));
    }
  }
  if (scaling.has("truncate")) {
    LOCUS_TRY(const bool truncate, scaling.boolean("truncate"));
    options.set("truncate", truncate);
  }
  LOCUS_TRY(const std::int64_t longest, config.integer("max_position_embeddings", 0));
  LOCUS_TRY(const std::int64_t configured_original, config.integer("original_max_position_embeddings", 0));
  LOCUS_TRY(const std::int64_t original, scaling.integer("original_max_position_embeddings", configured_original));
  if (longest > 0) {
    options.set("max_position_embeddings", longest);
  }
  if (original > 0) {
    options.set("original_max_position_embeddings", original);
  }
  return options;
}

Result<double> rotated_fraction(const Config& config, double fallback) {
  LOCUS_TRY(const double own, config.number("partial_rotary_factor", fallback));
  return config.number("rope_parameters.partial_rotary_factor", own);
}

Result<std::int64_t> integer_or(const Config& config, std::string_view field, std::int64_t fallback,
                                std::int64_t least) {
  return config.has(field) ? config.integer_in(field, least, std::int64_t{1} << 24) : Result<std::int64_t>(fallback);
}

Status check_entries(std::size_t found, std::int64_t layers, const std::string& context) {
  if (static_cast<std::int64_t>(found) != layers) {
    return bad_input("expected " + std::to_string(layers) + " entries, one per layer, found " + std::to_string(found),
                     context);
  }
  return {};
}

Result<std::vector<std::string>> layer_types(const Config& config, std::int64_t layers) {
  constexpr const char* kField = "layer_types";
  if (!config.has(kField)) {
    return std::vector<std::string>();
  }
  LOCUS_TRY(std::vector<std::string> types, config.texts(kField));
  LOCUS_CHECK(check_entries(types.size(), layers, config.context(kField)));
  for (const std::string& type : types) {
    if (type != "full_attention" && type != "sliding_attention" && type != "chunked_attention") {
      return unsupported("expected full_attention, sliding_attention or chunked_attention, found " + shown(type),
                         config.context(kField));
    }
  }
  return types;
}

Result<std::vector<std::int64_t>> layer_list(const Config& config, std::string_view field, std::int64_t layers) {
  if (!config.has(field)) {
    return std::vector<std::int64_t>();
  }
  LOCUS_TRY(std::vector<std::int64_t> list, config.integers(field));
  LOCUS_CHECK(check_entries(list.size(), layers, config.context(field)));
  return list;
}

Status set_windows(const Config& config, transformer::Spec& spec, std::int64_t window,
                   const std::function<bool(std::int64_t)>& windowed) {
  LOCUS_TRY(const std::vector<std::string> types, layer_types(config, spec.depth()));
  bool any = false;
  bool chunked = false;
  spec.each([&](std::int64_t n, transformer::LayerSpec& layer) {
    const bool own = types.empty() ? windowed(n) : types[static_cast<std::size_t>(n)] == "sliding_attention";
    chunked = chunked || (!types.empty() && types[static_cast<std::size_t>(n)] == "chunked_attention");
    layer.attention.window = own ? window : 0;
    any = any || own;
  });
  if (chunked) {
    return unsupported("expected full_attention and sliding_attention, found chunked_attention",
                       config.context("layer_types"));
  }
  if (any && window < 1) {
    return bad_input("expected at least 1, found " + std::to_string(window), config.context("sliding_window"));
  }
  return {};
}

Status set_late_windows(const Config& config, std::int64_t usual_window, transformer::Spec& spec) {
  LOCUS_TRY(const bool windowed, config.boolean("use_sliding_window", false));
  LOCUS_TRY(const std::int64_t window, config.integer("sliding_window", usual_window));
  LOCUS_TRY(const std::int64_t first, config.integer("max_window_layers", 28));
  if (windowed) {
    return set_windows(config, spec, window, [&](std::int64_t n) { return n >= first; });
  }
  LOCUS_TRY(const std::vector<std::string> types, layer_types(config, spec.depth()));
  for (const std::string& type : types) {
    if (type != "full_attention") {
      return bad_input("expected full_attention without use_sliding_window, found " + shown(type),
                       config.context("layer_types"));
    }
  }
  return {};
}

Result<const Family*> family_of(const Checkpoint& checkpoint) {
  if (checkpoint.config.has("quantization_config")) {
    return unsupported("field quantization_config: quantised weights are not read", checkpoint.config.file());
  }
  for (const Family& family : families()) {
    if (family.recognises != nullptr ? family.recognises(checkpoint) : model_type(checkpoint) == family.name) {
      return &family;
    }
  }
  return unrecognised(checkpoint);
}

}  // namespace locus::families
