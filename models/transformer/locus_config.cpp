#include "models/transformer/locus_config.h"

#include <array>
#include <utility>

#include "models/settings_json.h"

namespace locus::transformer {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::array<std::pair<const char*, Norm>, 2> kNorms{{{"rms", Norm::kRms}, {"layer", Norm::kLayer}}};
constexpr std::array<std::pair<const char*, NormPlace>, 2> kPlaces{
    {{"pre", NormPlace::kPre}, {"post", NormPlace::kPost}}};
constexpr std::array<std::pair<const char*, QkvLayout>, 3> kLayouts{
    {{"fused", QkvLayout::kFused}, {"per-head", QkvLayout::kPerHead}, {"separate", QkvLayout::kSeparate}}};

template <class Names, class Value>
std::string name_of(const Names& names, Value value) {
  for (const auto& [name, known] : names) {
    if (known == value) {
      return name;
    }
  }
  return {};
}

// Reads fields of one object; the first one that is wrong becomes the error.
class Reader {
 public:
  Reader(const json& object, std::string where) : object_(object), where_(std::move(where)) {}

  void read(const char* field, std::int64_t& value, bool required = false) {
    if (const json* found = find(field, required)) {
      found->is_number_integer() ? void(value = found->get<std::int64_t>()) : wrong(field, "a whole number", *found);
    }
  }
  void read(const char* field, double& value) {
    if (const json* found = find(field, false)) {
      found->is_number() ? void(value = found->get<double>()) : wrong(field, "a number", *found);
    }
  }
  void read(const char* field, bool& value) {
    if (const json* found = find(field, false)) {
      found->is_boolean() ? void(value = found->get<bool>()) : wrong(field, "true or false", *found);
    }
  }
  template <class Names, class Value>
  void read_name(const char* field, const Names& names, Value& value) {
    const json* const found = find(field, false);
    if (found == nullptr) {
      return;
    }
    std::string known;
    for (const auto& [name, named] : names) {
      if (found->is_string() && found->get<std::string>() == name) {
        value = named;
        return;
      }
      known += (known.empty() ? "" : ", ") + std::string(name);
    }
    wrong(field, "one of " + known, *found);
  }
  const json* find(const char* field, bool required) {
    const auto found = object_.find(field);
    if (found == object_.end() || found->is_null()) {
      if (required && !error_.has_value()) {
        error_ = bad_input("field " + std::string(field) + " is missing", where_);
      }
      return nullptr;
    }
    return &*found;
  }
  void wrong(const char* field, const std::string& expected, const json& found) {
    if (!error_.has_value()) {
      error_ = bad_input("field " + std::string(field) + ": expected " + expected + ", found " +
                             found.dump(-1, ' ', true, json::error_handler_t::replace).substr(0, 80),
                         where_);
    }
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  const json& object_;
  std::string where_;
  std::optional<Error> error_;
};

// One option of an encoding as JSON has it.
Result<SettingValue> to_setting(const std::string& name, const json& value, const std::string& file) {
  if (value.is_boolean()) {
    return SettingValue(value.get<bool>());
  }
  if (value.is_number_integer()) {
    return SettingValue(value.get<std::int64_t>());
  }
  if (value.is_number()) {
    return SettingValue(value.get<double>());
  }
  if (value.is_string()) {
    return SettingValue(value.get<std::string>());
  }
  if (value.is_array()) {
    std::vector<double> numbers;
    for (const json& item : value) {
      if (!item.is_number()) {
        return bad_input("field position_encoding." + name + ": expected a list of numbers", file);
      }
      numbers.push_back(item.get<double>());
    }
    return SettingValue(std::move(numbers));
  }
  return bad_input("field position_encoding." + name + ": expected a number, text, true, false or a list of numbers",
                   file);
}

Status read_encoding(const json& encoding, Spec& spec, const std::string& file) {
  if (!encoding.is_object() || !encoding.contains("name") || !encoding["name"].is_string()) {
    return bad_input("field position_encoding: expected an object with a name", file);
  }
  spec.encoding = encoding["name"].get<std::string>();
  for (const auto& [name, value] : encoding.items()) {
    if (name != "name") {
      LOCUS_TRY(SettingValue setting, to_setting(name, value, file));
      spec.encoding_options.set(name, std::move(setting));
    }
  }
  return {};
}

Status read_image(const json& image, Spec& spec, const std::string& file) {
  if (!image.is_object()) {
    return bad_input("field image: expected an object", file);
  }
  Reader reader(image, file + ": image");
  reader.read("patch_size", spec.image.patch, true);
  reader.read("num_channels", spec.image.channels);
  reader.read("rows", spec.image.rows, true);
  reader.read("columns", spec.image.columns, true);
  reader.read("registers", spec.image.registers);
  reader.read("position_embedding", spec.image.position_embedding);
  return reader.error() ? Status(*reader.error()) : Status();
}

}  // namespace

ordered_json locus_config(const Spec& spec) {
  ordered_json encoding = {{"name", spec.encoding}};
  for (const auto& [name, value] : spec.encoding_options.values()) {
    encoding[name] = models::to_json(value);
  }
  ordered_json config = {
      {"model_type", "locus"},
      {"vocab_size", spec.vocabulary},
      {"hidden_size", spec.width},
      {"num_hidden_layers", spec.layers},
      {"num_attention_heads", spec.heads},
      {"num_key_value_heads", spec.kv_heads},
      {"head_dim", spec.head_width},
      {"intermediate_size", spec.inner},
      {"max_position_embeddings", spec.trained_length},
      {"position_encoding", encoding},
      {"norm", name_of(kNorms, spec.norm)},
      {"norm_eps", spec.norm_eps},
      {"norm_place", name_of(kPlaces, spec.norm_place)},
      {"hidden_act", to_text(spec.activation)},
      {"gated", spec.gated},
      {"qkv", name_of(kLayouts, spec.qkv)},
      {"qkv_bias", spec.qkv_bias},
      {"output_bias", spec.output_bias},
      {"feed_forward_bias", spec.feed_forward_bias},
      {"parallel_residual", spec.parallel_residual},
      {"residual_from_norm", spec.residual_from_norm},
      {"layer_scale", spec.layer_scale},
      {"embedding_norm", spec.embedding_norm},
      {"token_types", spec.token_types},
      {"final_norm", spec.final_norm},
      {"tie_word_embeddings", spec.tied_head},
      {"head_bias", spec.head_bias},
      {"head_transform", spec.head_transform},
      {"causal", spec.causal},
      {"window", spec.window},
      {"window_from_layer", spec.window_from_layer},
  };
  if (spec.is_image()) {
    config["image"] = {{"patch_size", spec.image.patch},    {"num_channels", spec.image.channels},
                       {"rows", spec.image.rows},           {"columns", spec.image.columns},
                       {"registers", spec.image.registers}, {"position_embedding", spec.image.position_embedding}};
  }
  return config;
}

Result<Spec> parse_locus_config(const json& config, const std::string& file) {
  if (!config.is_object()) {
    return bad_input("expected a JSON object", file);
  }
  Spec spec;
  Reader reader(config, file);
  reader.read("vocab_size", spec.vocabulary, true);
  reader.read("hidden_size", spec.width, true);
  reader.read("num_hidden_layers", spec.layers, true);
  reader.read("num_attention_heads", spec.heads, true);
  spec.kv_heads = spec.heads;
  reader.read("num_key_value_heads", spec.kv_heads);
  spec.head_width = spec.heads > 0 ? spec.width / spec.heads : 0;
  reader.read("head_dim", spec.head_width);
  constexpr std::int64_t kMostWidth = std::int64_t{1} << 24;
  spec.inner = spec.width > 0 && spec.width <= kMostWidth ? 4 * spec.width : 0;
  reader.read("intermediate_size", spec.inner);
  reader.read("max_position_embeddings", spec.trained_length);
  reader.read_name("norm", kNorms, spec.norm);
  reader.read("norm_eps", spec.norm_eps);
  reader.read_name("norm_place", kPlaces, spec.norm_place);
  reader.read("gated", spec.gated);
  reader.read_name("qkv", kLayouts, spec.qkv);
  reader.read("qkv_bias", spec.qkv_bias);
  reader.read("output_bias", spec.output_bias);
  reader.read("feed_forward_bias", spec.feed_forward_bias);
  reader.read("parallel_residual", spec.parallel_residual);
  reader.read("residual_from_norm", spec.residual_from_norm);
  reader.read("layer_scale", spec.layer_scale);
  reader.read("embedding_norm", spec.embedding_norm);
  reader.read("token_types", spec.token_types);
  reader.read("final_norm", spec.final_norm);
  reader.read("tie_word_embeddings", spec.tied_head);
  reader.read("head_bias", spec.head_bias);
  reader.read("head_transform", spec.head_transform);
  reader.read("causal", spec.causal);
  reader.read("window", spec.window);
  reader.read("window_from_layer", spec.window_from_layer);
  if (const json* activation = reader.find("hidden_act", false)) {
    if (!activation->is_string()) {
      reader.wrong("hidden_act", "a name", *activation);
    } else {
      LOCUS_TRY(spec.activation, parse_activation(activation->get<std::string>()));
    }
  }
  const json* const encoding = reader.find("position_encoding", true);
  if (reader.error()) {
    return *reader.error();
  }
  LOCUS_CHECK(read_encoding(*encoding, spec, file));
  if (const json* image = reader.find("image", false)) {
    LOCUS_CHECK(read_image(*image, spec, file));
  }
  if (const Status status = validate(spec); !status.ok()) {
    return status.error().within(file);
  }
  return spec;
}

}  // namespace locus::transformer
