#include "models/transformer/families/family.h"

#include <utility>

#include "models/transformer/families/unrecognised.h"

namespace locus::families {

std::string Checkpoint::prefix_of(std::initializer_list<std::string_view> prefixes, const std::string& name) const {
  for (const std::string_view prefix : prefixes) {
    if (find(std::string(prefix) + name) != nullptr) {
      return std::string(prefix);
    }
  }
  return std::string(*prefixes.begin());
}

void Plan::bind(std::string parameter, std::string tensor, Layout layout) {
  bindings.push_back({std::move(parameter), std::move(tensor), layout});
}

void Plan::linear(const std::string& parameter, const std::string& tensor, bool bias, Layout layout) {
  bind(parameter + ".weight", tensor + ".weight", layout);
  if (bias) {
    bind(parameter + ".bias", tensor + ".bias");
  }
}

void Plan::norm(const std::string& parameter, const std::string& tensor) {
  linear(parameter, tensor, spec.norm == transformer::Norm::kLayer);
}

std::string text_or_nothing(const Config& config, std::string_view field) {
  const Result<std::string> text = config.text(field, "");
  return text.ok() ? *text : std::string();
}

std::string_view spelled(const Config& config, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (config.has(name)) {
      return name;
    }
  }
  return *names.begin();
}

Result<Config> group(const Config& config, std::string_view field) {
  return config.has(field) ? config.object(field) : Result<Config>(Config());
}

std::string model_type(const Checkpoint& checkpoint) {
  return text_or_nothing(checkpoint.config, "model_type");
}

std::string layer_prefix(std::string_view before, std::int64_t layer, std::string_view after) {
  return std::string(before) + std::to_string(layer) + std::string(after);
}

Status check_spec(const transformer::Spec& spec, const Config& config) {
  const Status status = transformer::validate(spec);
  return status.ok() ? status : Status(status.error().within(config.file()));
}

Status read_sizes(transformer::Spec& spec, const Config& config, std::string_view epsilon_field, double epsilon,
                  const std::string& activation) {
  LOCUS_TRY(spec.width, config.integer("hidden_size"));
  LOCUS_TRY(spec.layers, config.integer("num_hidden_layers"));
  LOCUS_TRY(spec.heads, config.integer("num_attention_heads"));
  LOCUS_TRY(spec.inner, config.integer("intermediate_size"));
  LOCUS_TRY(spec.norm_eps, config.number(epsilon_field, epsilon));
  LOCUS_TRY(const std::string named, config.text("hidden_act", activation));
  LOCUS_TRY(spec.activation, transformer::parse_activation(named));
  return {};
}

Status divide_heads(transformer::Spec& spec, const Config& config) {
  if (spec.heads < 1 || spec.width < 1 || spec.width % spec.heads != 0) {
    return bad_input("expected a width that the heads divide, found width " + std::to_string(spec.width) + " and " +
                         std::to_string(spec.heads) + " heads",
                     config.file());
  }
  spec.head_width = spec.width / spec.heads;
  return {};
}

Result<Settings> rope_options(const Config& config, double base) {
  LOCUS_TRY(const Config scaling, group(config, config.has("rope_parameters") ? "rope_parameters" : "rope_scaling"));
  LOCUS_TRY(const double configured, config.number("rope_theta", base));
  LOCUS_TRY(const double theta, scaling.number("rope_theta", configured));
  LOCUS_TRY(const std::string type, scaling.text(spelled(scaling, {"rope_type", "type"}), "default"));
  Settings options{{"base", theta}};
  if (type == "default") {
    return options;
  }
  if (type != "linear" && type != "dynamic" && type != "yarn" && type != "llama3") {
    return unsupported("rope_scaling " + type + " is not supported; known: default, linear, dynamic, yarn, llama3",
                       config.file());
  }
  options.set("scaling", type);
  LOCUS_TRY(const double factor, scaling.number("factor", 1.0));
  options.set("factor", factor);
  for (const std::string name : {"attention_factor", "beta_fast", "beta_slow", "low_freq_factor", "high_freq_factor"}) {
    if (scaling.has(name)) {
      LOCUS_TRY(const double value, scaling.number(name, 0));
      options.set(name, value);
    }
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

Result<const Family*> family_of(const Checkpoint& checkpoint) {
  if (checkpoint.config.has("quantization_config")) {
    return unsupported("field quantization_config: quantised weights are not read", checkpoint.config.file());
  }
  for (const Family& family : families()) {
    if (family.recognises(checkpoint)) {
      return &family;
    }
  }
  return unrecognised(checkpoint);
}

}  // namespace locus::families
