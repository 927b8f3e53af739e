#include "models/families/engine/rope.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/numbers.h"
#include "core/base/shown.h"

namespace locus::families {

namespace {

using transformer::LayerSpec;

// Required fields of each kind of scaling.
Status check_scaling(const Config& block, const std::string& type) {
  std::vector<std::string_view> needed;
  if (type != "longrope") {
    needed.emplace_back("factor");
  }
  if (type == "llama3") {
    needed.insert(needed.end(), {"low_freq_factor", "high_freq_factor"});
  }
  for (const std::string_view field : needed) {
    LOCUS_TRY(const double value, block.number(field));
    if (!(value > 0)) {
      return bad_input("expected a number above 0, found " + general_text(value, 6), block.context(field));
    }
  }
  return {};
}

// The length before scaling: the config's field takes precedence over the block's; without either, the trained length.
Result<std::int64_t> original_length(const Config& config, const Config& block) {
  constexpr const char* kField = "original_max_position_embeddings";
  LOCUS_TRY(const std::int64_t longest, config.integer("max_position_embeddings", 0));
  LOCUS_TRY(const std::int64_t inner, block.integer(kField, longest));
  return config.integer(kField, inner);
}

// YaRN's magnitude: attention_factor where it is given; else the quotient of the two mscale fields where both are above
// 0; else 0, the encoding's default.
Result<double> yarn_magnitude(const Config& block, double factor) {
  if (block.has("attention_factor")) {
    return block.number("attention_factor");
  }
  LOCUS_TRY(const double mscale, block.number("mscale", 0));
  LOCUS_TRY(const double mscale_all, block.number("mscale_all_dim", 0));
  if (mscale == 0 || mscale_all == 0) {
    return 0.0;
  }
  const auto magnitude = [&](double scale) { return factor > 1 ? 0.1 * scale * std::log(factor) + 1 : 1.0; };
  return magnitude(mscale) / magnitude(mscale_all);
}

Status set_yarn(const Config& block, Settings& options) {
  LOCUS_TRY(const double factor, block.number("factor"));
  LOCUS_TRY(const double magnitude, yarn_magnitude(block, factor));
  if (magnitude != 0) {
    options.set("attention_factor", magnitude);
  }
  for (const std::string name : {"beta_fast", "beta_slow"}) {
    LOCUS_TRY(const double value, block.number(name, 0));
    if (value != 0) {  // 0: the default
      options.set(name, value);
    }
  }
  if (block.has("truncate")) {
    LOCUS_TRY(const bool truncate, block.boolean("truncate"));
    options.set("truncate", truncate);
  }
  return {};
}

Status set_longrope(const Config& config, const Config& block, std::int64_t original, Settings& options) {
  for (const std::string name : {"short_factor", "long_factor"}) {
    LOCUS_TRY(std::vector<double> factors, block.numbers(name));
    options.set(name, std::move(factors));
  }
  LOCUS_TRY(const std::int64_t longest, config.integer("max_position_embeddings", 0));
  if (original < 1) {
    return bad_input("expected at least 1, found " + std::to_string(original),
                     block.context("original_max_position_embeddings"));
  }
  LOCUS_TRY(const double factor, block.number("factor", static_cast<double>(longest) / static_cast<double>(original)));
  options.set("factor", factor);
  if (block.has("attention_factor")) {
    LOCUS_TRY(const double magnitude, block.number("attention_factor"));
    options.set("attention_factor", magnitude);
  }
  return {};
}

Status set_llama3(const Config& block, Settings& options) {
  for (const std::string name : {"low_freq_factor", "high_freq_factor"}) {
    LOCUS_TRY(const double value, block.number(name));
    options.set(name, value);
  }
  return {};
}

// partial_rotary_factor is here the share of pairs that turn.
Status set_proportional(const Config& block, Settings& options) {
  LOCUS_TRY(const double share, block.number("partial_rotary_factor", 1.0));
  LOCUS_TRY(const double factor, block.number("factor", 1.0));
  options.set("scaling", std::string("proportional"));
  options.set("proportion", share);
  options.set("factor", factor);
  return {};
}

Status set_dynamic(const Config& config, Settings& options) {
  LOCUS_TRY(const std::int64_t longest, config.integer("max_position_embeddings", 0));
  if (longest > 0) {
    options.set("max_position_embeddings", longest);
  }
  return {};
}

// The layer types that have their own block, in the order of the layers; empty where the block is flat. Only types in
// layer_types count, as in transformers.
Result<std::vector<std::string>> nested_types(const Config& block, const std::vector<std::string>& types) {
  std::vector<std::string> nested;
  for (const std::string& type : types) {
    if (block.kind(type) == "object" && std::find(nested.begin(), nested.end(), type) == nested.end()) {
      nested.push_back(type);
    }
  }
  return nested;
}

Result<double> configured_base(const Config& config, double base) {
  return config.number("rope_theta", base);
}

// One encoding with this layout and rotated fraction.
Result<transformer::EncodingSpec> encoding_of(Settings options, const Config& config, const Config& block,
                                              const char* layout, double fraction) {
  const bool proportional = options.has("proportion");  // the factor is applied already
  LOCUS_TRY(const double own, config.number("partial_rotary_factor", fraction));
  LOCUS_TRY(const double configured, block.number("partial_rotary_factor", own));
  if (!proportional && fraction == 1 && configured != 1) {
    return unsupported("expected 1, found " + general_text(configured, 6),
                       (block.has("partial_rotary_factor") ? block : config).context("partial_rotary_factor"));
  }
  if (layout != std::string_view("half")) {
    options.set("layout", std::string(layout));
  }
  if (!proportional && fraction != 1) {
    options.set("fraction", fraction);
  }
  return transformer::EncodingSpec{"rope", std::move(options)};
}

}  // namespace

Result<Config> rope_block(const Config& config) {
  for (const char* const field : {"rope_scaling", "rope_parameters"}) {
    LOCUS_TRY(Config block, group(config, field));
    if (!block.names().empty()) {
      return block;
    }
  }
  return Config();
}

Result<Settings> rope_options(const Config& config, double base) {
  LOCUS_TRY(const Config block, rope_block(config));
  LOCUS_TRY(const double configured, configured_base(config, base));
  return rope_options(config, block, configured);
}

Result<Settings> rope_options(const Config& config, const Config& block, double base, const RopeKnown& known) {
  LOCUS_TRY(const double theta, block.number("rope_theta", base));
  LOCUS_TRY(const std::string old_type, block.text("type", "default"));
  LOCUS_TRY(std::string type, block.text("rope_type", old_type));
  type = known.type.empty() ? type : known.type;
  type = type == "su" ? "longrope" : type;
  Settings options{{"base", theta}};
  if (block.has("mrope_section")) {
    LOCUS_TRY(std::vector<double> sections, block.numbers("mrope_section"));
    options.set("sections", std::move(sections));
    type = type == "mrope" ? "default" : type;
  }
  if (type == "default") {
    return options;
  }
  if (type == "proportional" && known.whole) {
    LOCUS_CHECK(set_proportional(block, options));
    return options;
  }
  if (type != "linear" && type != "dynamic" && type != "yarn" && type != "llama3" && type != "longrope") {
    return unsupported("expected default, linear, dynamic, yarn, llama3, longrope" +
                           std::string(known.whole ? " or proportional" : "") + ", found " + shown(type),
                       block.context(spelled(block, {"rope_type", "type"})));
  }
  options.set("scaling", type);
  LOCUS_CHECK(check_scaling(block, type));
  if (type != "longrope") {
    LOCUS_TRY(const double factor, block.number("factor"));
    options.set("factor", factor);
  }
  if (type == "dynamic") {
    LOCUS_CHECK(set_dynamic(config, options));
  }
  if (type == "linear" || type == "dynamic") {
    return options;
  }
  std::int64_t original = known.original;
  if (original == 0) {
    LOCUS_TRY(original, original_length(config, block));
  }
  LOCUS_CHECK(type == "yarn"       ? set_yarn(block, options)
              : type == "longrope" ? set_longrope(config, block, original, options)
                                   : set_llama3(block, options));
  options.set("original_max_position_embeddings", original);
  return options;
}

Result<double> axial_base(const Config& config, double base, std::int64_t head) {
  LOCUS_TRY(const std::int64_t written, config.integer("head_dim", head));
  if (written != head) {
    return unsupported(
        "expected hidden_size / num_attention_heads, " + std::to_string(head) + ", found " + std::to_string(written),
        config.context("head_dim"));
  }
  return axial_base(config, base);
}

Result<double> axial_base(const Config& config, double base) {
  LOCUS_TRY(const Config block, rope_block(config));
  const std::string_view field = spelled(block, {"rope_type", "type"});
  LOCUS_TRY(const std::string type, block.text(field, "axial"));
  if (type != "axial" && type != "default") {
    return unsupported("expected axial or default, found " + shown(type), block.context(field));
  }
  LOCUS_TRY(const double configured, configured_base(config, base));
  return block.number("rope_theta", configured);
}

Result<double> rope_score_factor(const Config& config) {
  LOCUS_TRY(const Config block, rope_block(config));
  LOCUS_TRY(const std::string type, block.text(spelled(block, {"rope_type", "type"}), "default"));
  LOCUS_TRY(const double mscale, block.number("mscale_all_dim", 0.0));
  LOCUS_TRY(const double factor, block.number("factor", 1.0));
  if (type == "default" || mscale == 0 || factor <= 1) {
    return 1.0;
  }
  return std::pow(0.1 * mscale * std::log(factor) + 1, 2);
}

Result<double> rotated_fraction(const Config& config, double fallback) {
  LOCUS_TRY(const Config block, rope_block(config));
  LOCUS_TRY(const double own, config.number("partial_rotary_factor", fallback));
  return block.number("partial_rotary_factor", own);
}

Status set_rope(const Config& config, Plan& plan, double base, const char* layout, double fraction) {
  LOCUS_TRY(const Config block, rope_block(config));
  return set_rope(config, block, plan, base, layout, fraction);
}

Status set_rope(const Config& config, const Config& block, Plan& plan, double base, const char* layout,
                double fraction) {
  LOCUS_TRY(const double configured, configured_base(config, base));
  std::vector<std::string> types;
  if (config.kind("layer_types") == "list") {
    LOCUS_TRY(types, config.texts("layer_types"));
    LOCUS_CHECK(check_entries(types.size(), plan.spec.depth(), config.context("layer_types")));
  }
  LOCUS_TRY(const std::vector<std::string> nested, nested_types(block, types));
  if (nested.empty()) {
    LOCUS_TRY(Settings options, rope_options(config, block, configured, {.whole = fraction == 1}));
    LOCUS_TRY(transformer::EncodingSpec encoding, encoding_of(std::move(options), config, block, layout, fraction));
    plan.spec.encodings = {std::move(encoding)};
    return {};
  }
  plan.spec.encodings.clear();
  for (const std::string& type : nested) {
    LOCUS_TRY(const Config own, block.object(type));
    LOCUS_TRY(Settings options, rope_options(config, own, configured, {.whole = fraction == 1}));
    LOCUS_TRY(transformer::EncodingSpec encoding, encoding_of(std::move(options), config, own, layout, fraction));
    plan.spec.encodings.push_back(std::move(encoding));
  }
  plan.spec.each([&](std::int64_t n, LayerSpec& layer) {
    const auto found = std::find(nested.begin(), nested.end(), types[static_cast<std::size_t>(n)]);
    layer.encoding = found == nested.end() ? -1 : found - nested.begin();
  });
  return {};
}

}  // namespace locus::families
