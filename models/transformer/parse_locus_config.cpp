// A Spec from config.json.
#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>

#include "models/json/json.h"
#include "models/json/settings_json.h"
#include "models/transformer/locus_config.h"
#include "models/transformer/locus_fields.h"

namespace locus::transformer {

namespace {

using nlohmann::json;

// Reads fields of one object; the first one that is wrong becomes the error.
class Reader {
 public:
  Reader(const json& object, std::string where) : object_(object), where_(std::move(where)) {}

  template <class T>
  void read(const char* field, T& value, bool required = false) {
    if (const json* found = find(field, required)) {
      JsonKind<T>::is(*found) ? void(value = found->get<T>()) : wrong(field, JsonKind<T>::kName, *found);
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
  std::optional<SettingValue> setting = models::value_from_json(value);
  if (!setting) {
    return bad_input("field position_encoding." + name + ": expected a number, text, true, false or a list of numbers",
                     file);
  }
  return *std::move(setting);
}

// Reads those that an object has.
struct Reading {
  Reader& reader;
  std::optional<Error> error = {};

  template <class Value>
  void operator()(const char* field, Value& value) {
    if constexpr (std::is_same_v<Value, Activation>) {
      const json* const found = reader.find(field, false);
      if (found != nullptr && !found->is_string()) {
        reader.wrong(field, "a name", *found);
      } else if (found != nullptr) {
        Result<Activation> parsed = parse_activation(found->get<std::string>());
        parsed.ok() ? void(value = *parsed) : void(error = error ? error : parsed.error());
      }
    } else {
      reader.read(field, value);
    }
  }
  template <class Names, class Value>
  void name(const char* field, const Names& names, Value& value) {
    reader.read_name(field, names, value);
  }
};

Result<EncodingSpec> read_encoding(const json& object, const std::string& file) {
  if (!object.is_object() || !object.contains("name") || !object["name"].is_string()) {
    return bad_input("field position_encoding: expected an object with a name", file);
  }
  EncodingSpec encoding{object["name"].get<std::string>(), {}};
  for (const auto& [name, value] : object.items()) {
    if (name != "name") {
      LOCUS_TRY(SettingValue setting, to_setting(name, value, file));
      encoding.options.set(name, std::move(setting));
    }
  }
  return encoding;
}

// One object for all layers, or a list with an entry per layer; layers with the same entry share the encoding.
Status read_encodings(const json& found, Spec& spec, const std::string& file) {
  spec.encodings.clear();
  if (!found.is_array()) {
    LOCUS_TRY(EncodingSpec only, read_encoding(found, file));
    spec.encodings.push_back(std::move(only));
    return {};
  }
  if (found.size() != spec.layers.size()) {
    return bad_input("field position_encoding: expected a list of " + std::to_string(spec.layers.size()) +
                         " entries, one per layer, found " + std::to_string(found.size()),
                     file);
  }
  for (std::size_t n = 0; n < found.size(); ++n) {
    if (found[n].is_null()) {
      spec.layers[n].encoding = -1;
      continue;
    }
    LOCUS_TRY(EncodingSpec own, read_encoding(found[n], file));
    const auto known = std::find(spec.encodings.begin(), spec.encodings.end(), own);
    spec.layers[n].encoding = known - spec.encodings.begin();
    if (known == spec.encodings.end()) {
      spec.encodings.push_back(std::move(own));
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
  reader.read("class_tokens", spec.image.class_tokens);
  reader.read("registers", spec.image.registers);
  reader.read("patch_bias", spec.image.patch_bias);
  reader.read("position_embedding", spec.image.position_embedding);
  return reader.error() ? Status(*reader.error()) : Status();
}

// Fields of earlier files that stand for several now.
void read_old_fields(Reader& reader, LayerSpec& layer) {
  NormPlace place = NormPlace::kPre;
  reader.read_name("norm_place", kPlaces, place);
  layer.attention_norm = layer.feed_forward_norm = place;
  bool bias = false;
  reader.read("qkv_bias", bias);
  layer.attention.set_qkv_bias(bias);
}

Status read_layers(Reader& reader, Spec& spec, const std::string& file) {
  std::int64_t first_window = 0;  // an earlier file's first layer with the window
  reader.read("window_from_layer", first_window);
  spec.each([&](std::int64_t n, LayerSpec& layer) {
    layer.attention.window = n < first_window ? 0 : layer.attention.window;
  });
  const json* const list = reader.find("layers", false);
  if (list == nullptr) {
    return {};
  }
  if (!list->is_array() || list->size() != spec.layers.size()) {
    return bad_input("field layers: expected a list of " + std::to_string(spec.layers.size()) + " objects", file);
  }
  for (std::size_t n = 0; n < list->size(); ++n) {
    const std::string where = file + ": layers[" + std::to_string(n) + "]";
    if (!(*list)[n].is_object()) {
      return bad_input("expected an object", where);
    }
    Reader own((*list)[n], where);
    Reading reading{own};
    visit_layer(reading, spec.layers[n]);
    if (own.error() || reading.error) {
      return own.error() ? *own.error() : reading.error->within(where);
    }
  }
  return {};
}

}  // namespace

Result<Spec> parse_locus_config(const json& config, const std::string& file) {
  if (!config.is_object()) {
    return bad_input("expected a JSON object", file);
  }
  Spec spec;
  Reader reader(config, file);
  std::int64_t count = 0;
  LayerSpec layer;
  reader.read("vocab_size", spec.vocabulary, true);
  reader.read("hidden_size", spec.width, true);
  reader.read("num_hidden_layers", count, true);
  reader.read("num_attention_heads", layer.attention.heads, true);
  layer.attention.kv_heads = layer.attention.heads;
  layer.attention.head_width = layer.attention.heads > 0 ? spec.width / layer.attention.heads : 0;
  constexpr std::int64_t kMaxWidth = std::int64_t{1} << 24;
  layer.feed_forward.inner = spec.width > 0 && spec.width <= kMaxWidth ? 4 * spec.width : 0;
  read_old_fields(reader, layer);
  Reading reading{reader};
  visit_layer(reading, layer);
  visit_model(reading, spec);
  const json* const encoding = reader.find("position_encoding", true);
  if (reader.error() || reading.error) {
    return reader.error() ? *reader.error() : *reading.error;
  }
  if (const Status status = validate(layer, count); !status.ok()) {
    return status.error().within(file);
  }
  spec.repeat(layer, count);
  LOCUS_CHECK(read_layers(reader, spec, file));
  if (reader.error()) {
    return *reader.error();
  }
  LOCUS_CHECK(read_encodings(*encoding, spec, file));
  if (const json* image = reader.find("image", false)) {
    LOCUS_CHECK(read_image(*image, spec, file));
  }
  if (const Status status = validate(spec); !status.ok()) {
    return status.error().within(file);
  }
  return spec;
}

}  // namespace locus::transformer
