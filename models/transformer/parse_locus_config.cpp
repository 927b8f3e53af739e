// Reading a Spec from config.json.
#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>

#include "models/formats/json/json.h"
#include "models/formats/json/settings_json.h"
#include "models/transformer/locus_config.h"
#include "models/transformer/locus_fields.h"

namespace locus::transformer {

namespace {

using nlohmann::json;

// Reads the fields of one object and keeps the first error.
class Reader {
 public:
  explicit Reader(JsonObject object) : object_(std::move(object)) {}

  const JsonObject& object() const { return object_; }
  Status status() const { return error_ ? Status(*error_) : Status(); }

  // An absent field keeps the value; an absent required field is an error.
  template <class T>
  void read(const char* field, T& value, bool required = false) {
    take(required ? object_.get<T>(field) : object_.get<T>(field, value), value);
  }
  template <class Names, class Value>
  void name(const char* field, const Names& names, Value& value) {
    const json* const found = object_.find(field);
    if (found == nullptr) {
      return;
    }
    const auto named = found->is_string() ? find_word(names, found->get<std::string>()) : std::nullopt;
    take(named ? Result<Value>(*named) : object_.wrong(field, "one of " + words_of(names)), value);
  }
  template <class Value>
  void operator()(const char* field, Value& value) {
    if constexpr (!std::is_same_v<Value, Activation>) {
      read(field, value);
    } else if (object_.find(field) != nullptr) {
      const Result<std::string> name = object_.get<std::string>(field);
      take(name.ok() ? parse_activation(*name) : name.error(), value);
    }
  }

 private:
  template <class T>
  void take(Result<T> found, T& value) {
    if (found.ok()) {
      value = *std::move(found);
    } else if (!error_) {
      error_ = found.error().context.empty() ? found.error().within(object_.where()) : found.error();
    }
  }

  JsonObject object_;
  std::optional<Error> error_;
};

Result<EncodingSpec> read_encoding(json found, const std::string& file) {
  LOCUS_TRY(const JsonObject object, JsonObject::of(found, file + ": position_encoding"));
  EncodingSpec encoding;
  LOCUS_TRY(encoding.name, object.get<std::string>("name"));
  found.erase("name");
  LOCUS_TRY(encoding.options, models::settings_from_json(found, object.where()));
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
    return bad_input("position_encoding: expected a list of " + std::to_string(spec.layers.size()) +
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
  separate_shapes(spec);
  return {};
}

Status read_image(const json& image, Spec& spec, const std::string& file) {
  LOCUS_TRY(JsonObject object, JsonObject::of(image, file + ": image"));
  Reader reader(std::move(object));
  reader.read("patch_size", spec.image.patch, true);
  reader.read("num_channels", spec.image.channels);
  reader.read("rows", spec.image.rows, true);
  reader.read("columns", spec.image.columns, true);
  reader.read("class_tokens", spec.image.class_tokens);
  reader.read("registers", spec.image.registers);
  reader.read("detections", spec.image.detections);
  reader.read("positions_after_layers", spec.image.positions_after_layers);
  reader.read("patch_bias", spec.image.patch_bias);
  reader.read("patch_norm", spec.image.patch_norm);
  reader.read("position_embedding", spec.image.position_embedding);
  return reader.status();
}

// Fields of earlier versions, each replaced by several fields.
void read_old_fields(Reader& reader, LayerSpec& layer) {
  NormPlace place = NormPlace::kPre;
  reader.name("norm_place", kPlaces, place);
  layer.attention_norm = layer.feed_forward_norm = place;
  bool bias = false;
  reader.read("qkv_bias", bias);
  layer.attention.set_qkv_bias(bias);
}

Status read_layers(Reader& reader, Spec& spec, const std::string& file) {
  std::int64_t first_window = 0;  // first layer with the window, in earlier files
  reader.read("window_from_layer", first_window);
  spec.each([&](std::int64_t n, LayerSpec& layer) {
    layer.attention.window = n < first_window ? 0 : layer.attention.window;
  });
  const json* const list = reader.object().find("layers");
  if (list == nullptr) {
    return {};
  }
  if (!list->is_array() || list->size() != spec.layers.size()) {
    return bad_input("layers: expected a list of " + std::to_string(spec.layers.size()) + " objects", file);
  }
  for (std::size_t n = 0; n < list->size(); ++n) {
    const std::string where = file + ": layers[" + std::to_string(n) + "]";
    LOCUS_TRY(JsonObject object, JsonObject::of((*list)[n], where));
    Reader own(std::move(object));
    visit_layer(own, spec.layers[n]);
    LOCUS_CHECK(own.status());
  }
  return {};
}

}  // namespace

Result<Spec> parse_locus_config(const json& config, const std::string& file) {
  LOCUS_TRY(JsonObject object, JsonObject::of(config, file));
  Reader reader(std::move(object));
  Spec spec;
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
  visit_layer(reader, layer);
  visit_model(reader, spec);
  LOCUS_CHECK(reader.status());
  const json* const encoding = reader.object().find("position_encoding");
  if (encoding == nullptr) {
    return reader.object().wrong("position_encoding", "an encoding");
  }
  LOCUS_CHECK(within(validate(layer, count), file));
  spec.repeat(layer, count);
  LOCUS_CHECK(read_layers(reader, spec, file));
  LOCUS_CHECK(reader.status());
  LOCUS_CHECK(read_encodings(*encoding, spec, file));
  if (const json* image = reader.object().find("image")) {
    LOCUS_CHECK(read_image(*image, spec, file));
  }
  LOCUS_CHECK(within(validate(spec), file));
  return spec;
}

}  // namespace locus::transformer
