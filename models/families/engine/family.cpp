#include "models/families/engine/family.h"

#include <algorithm>
#include <utility>

#include "core/base/listed.h"
#include "core/base/numbers.h"
#include "core/base/shown.h"

namespace locus::families {

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

std::string fixed_text(const FixedValue& value) {
  if (const auto* const flag = std::get_if<bool>(&value)) {
    return *flag ? "true" : "false";
  }
  const auto* const number = std::get_if<double>(&value);
  return number != nullptr ? general_text(*number, 6) : std::get<const char*>(value);
}

// The config's value, formatted as fixed_text() does; its type where that is none of the three.
std::string found_text(const Config& config, std::string_view field) {
  const std::string kind = config.kind(field);
  if (kind == "true or false") {
    const Result<bool> flag = config.boolean(field);
    return fixed_text(flag.ok() && *flag);
  }
  if (kind == "number") {
    const Result<double> number = config.number(field);
    return fixed_text(number.ok() ? *number : 0);
  }
  const Result<std::string> text = config.text(field);
  return text.ok() ? shown(*text) : (kind == "object" ? "an " : "a ") + kind;
}

const char* kind_of(const FixedValue& value) {
  return std::holds_alternative<bool>(value)     ? "true or false"
         : std::holds_alternative<double>(value) ? "number"
                                                 : "text";
}

}  // namespace

Status check_fixed_fields(const Config& config, const std::vector<FixedField>& fixed_fields) {
  for (const FixedField& field : fixed_fields) {
    if (!config.has(field.name)) {
      continue;
    }
    const std::string found = found_text(config, field.name);
    bool same = false;
    bool kind = field.values.empty();
    for (const FixedValue& value : field.values) {
      kind = kind || config.kind(field.name) == kind_of(value);
      same = same || (config.kind(field.name) == kind_of(value) && found == fixed_text(value));
    }
    if (same) {
      continue;
    }
    const std::string expected = field.values.empty() ? "none" : listed(field.values, fixed_text);
    const std::string message = "expected " + expected + ", found " + found;
    return kind ? unsupported(message, config.context(field.name)) : bad_input(message, config.context(field.name));
  }
  return {};
}

std::string model_type(const CheckpointFiles& checkpoint) {
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

namespace {

constexpr std::size_t kNamed = 3;  // number of names shown in a list

std::string list_of(const std::vector<std::string>& names) {
  std::string list;
  for (std::size_t n = 0; n < std::min(names.size(), kNamed); ++n) {
    list += (n == 0 ? "" : ", ") + shown(names[n], 60);
  }
  return list + (names.size() > kNamed ? ", …" : "");
}

std::string tensors_of(const formats::TensorSource& source) {
  std::vector<std::string> names;
  for (const formats::TensorInfo& tensor : source.tensors()) {
    const std::string shape = listed(tensor.shape, [](std::int64_t size) { return std::to_string(size); });
    names.push_back(tensor.name + " [" + shape + "]");
  }
  const std::string count = names.size() == 1 ? "one tensor" : std::to_string(names.size()) + " tensors";
  return count + (names.empty() ? "" : " (" + list_of(names) + ")");
}

// Names of a training script's other values in the pickle.
std::string beside(const CheckpointFiles& checkpoint) {
  const std::string& json = checkpoint.tensors->extra_json();
  const Result<Config> extra = json.empty() ? Result<Config>(Config()) : Config::parse_json(json, "");
  return extra.ok() && !extra->names().empty() ? " beside a training script's " + list_of(extra->names()) : "";
}

std::string known_families() {
  return listed_known(families(), "checkpoints", &Family::name);
}

// kUnsupported naming model_type, or else the first tensors and a training script's other values, or that the file is a
// trace; and the supported families.
Error unrecognised(const CheckpointFiles& checkpoint) {
  const auto& metadata = checkpoint.tensors->metadata();
  const auto format = metadata.find("locus.format");
  const std::string kind = format == metadata.end() ? "" : format->second;
  if (kind.starts_with("trace/")) {
    return unsupported("expected a checkpoint, found a trace of a run: it opens in the window and in locus figure",
                       checkpoint.path.string());
  }
  if (kind.starts_with("training/")) {
    return unsupported("expected a checkpoint, found a training state: open its folder", checkpoint.path.string());
  }
  const std::string type = model_type(checkpoint);
  if (!type.empty()) {
    return unsupported(
        "expected a family that Locus reads, found model_type " + shown(type, 80) + "; known: " + known_families(),
        checkpoint.path.string());
  }
  const std::string config =
      checkpoint.config.file().empty() ? "no config.json" : "a config.json without a model_type that is known";
  return unsupported("expected a checkpoint of a family that Locus reads, found " + config + " and " +
                         tensors_of(*checkpoint.tensors) + beside(checkpoint) +
                         "; supported: a folder with the config.json of " + known_families() +
                         ", or weights with the tensor names of one of them",
                     checkpoint.path.string());
}

}  // namespace

Result<const Family*> family_of(const CheckpointFiles& checkpoint) {
  const std::string type = model_type(checkpoint);
  for (const Family& family : families()) {
    if (family.recognises != nullptr ? family.recognises(checkpoint) : type == family.name) {
      LOCUS_TRY(const Family* const replacing, family_in_files(type, true));
      return replacing == nullptr ? &family : replacing;
    }
  }
  LOCUS_TRY(const Family* const found, family_in_files(type, false));
  return found == nullptr ? Result<const Family*>(unrecognised(checkpoint)) : Result<const Family*>(found);
}

}  // namespace locus::families
