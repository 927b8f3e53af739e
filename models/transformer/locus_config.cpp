#include "models/transformer/locus_config.h"

#include <algorithm>
#include <array>
#include <optional>
#include <type_traits>
#include <utility>

#include "models/settings_json.h"
#include "models/text/json.h"

namespace locus::transformer {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::array<std::pair<const char*, Norm>, 2> kNorms{{{"rms", Norm::kRms}, {"layer", Norm::kLayer}}};
constexpr std::array<std::pair<const char*, NormPlace>, 5> kPlaces{{{"pre", NormPlace::kPre},
                                                                    {"post", NormPlace::kPost},
                                                                    {"after", NormPlace::kAfter},
                                                                    {"both", NormPlace::kBoth},
                                                                    {"none", NormPlace::kNone}}};
constexpr std::array<std::pair<const char*, QueryNormForm>, 4> kForms{{{"none", QueryNormForm::kNone},
                                                                       {"head", QueryNormForm::kHead},
                                                                       {"own", QueryNormForm::kOwn},
                                                                       {"whole", QueryNormForm::kWhole}}};
constexpr std::array<std::pair<const char*, Pool>, 5> kPools{{{"class", Pool::kClass},
                                                              {"patches", Pool::kPatches},
                                                              {"all", Pool::kAll},
                                                              {"class-and-patches", Pool::kClassAndPatches},
                                                              {"two-heads", Pool::kTwoHeads}}};
constexpr std::array<std::pair<const char*, Router>, 4> kRouters{{{"softmax", Router::kSoftmax},
                                                                  {"top-softmax", Router::kTopSoftmax},
                                                                  {"sigmoid", Router::kSigmoid},
                                                                  {"input-sigmoid", Router::kInputSigmoid}}};
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

// The fields of a layer under their names in config.json: writing and reading go through this one list. name() is for
// enumerations.
template <class Visit>
void visit_layer(Visit& visit, LayerSpec& layer) {
  AttentionSpec& attention = layer.attention;
  visit("num_attention_heads", attention.heads);
  visit("num_key_value_heads", attention.kv_heads);
  visit("head_dim", attention.head_width);
  visit("value_dim", attention.value_width);
  visit("intermediate_size", layer.feed_forward.inner);
  visit.name("attention_norm_place", kPlaces, layer.attention_norm);
  visit.name("feed_forward_norm_place", kPlaces, layer.feed_forward_norm);
  visit("hidden_act", layer.feed_forward.activation);
  visit("gated", layer.feed_forward.gated);
  visit.name("qkv", kLayouts, attention.qkv);
  visit("query_bias", attention.query_bias);
  visit("key_bias", attention.key_bias);
  visit("value_bias", attention.value_bias);
  visit("output_bias", attention.output_bias);
  visit("feed_forward_bias", layer.feed_forward.bias);
  visit("parallel_residual", layer.parallel);
  visit("shared_norm", layer.shared_norm);
  visit("residual_from_norm", layer.residual_from_norm);
  visit("layer_scale", layer.layer_scale);
  visit("window", attention.window);
  visit("chunk", attention.chunk);
  visit("sinks", attention.sinks);
  visit("attention_scale", attention.scale);
  visit("soft_cap", attention.soft_cap);
  visit("query_tuning", attention.tuning);
  visit("query_tuning_floor", attention.tuning_floor);
  visit.name("query_norm", kForms, attention.norm.form);
  visit.name("query_norm_kind", kNorms, attention.norm.norm);
  visit("query_norm_weight", attention.norm.weight);
  visit("query_norm_bias", attention.norm.bias);
  visit("query_norm_eps", attention.norm.eps);
  visit("latent_rank", attention.latent.rank);
  visit("latent_query_rank", attention.latent.query_rank);
  visit("latent_rotated", attention.latent.rotated);
  visit("latent_eps", attention.latent.eps);
  visit("feed_forward_clamp", layer.feed_forward.clamp);
  visit("feed_forward_alpha", layer.feed_forward.alpha);
  Experts& experts = layer.feed_forward.experts;
  visit("num_experts", experts.count);
  visit("num_experts_per_tok", experts.chosen);
  visit.name("router", kRouters, experts.router);
  visit("router_bias", experts.router_bias);
  visit("router_correction", experts.correction);
  visit("norm_topk_prob", experts.normalised);
  visit("expert_groups", experts.groups);
  visit("chosen_expert_groups", experts.chosen_groups);
  visit("expert_factor", experts.factor);
  visit("shared_expert_size", experts.shared);
  visit("shared_expert_gate", experts.shared_gate);
}

// Those of the whole model.
template <class Visit>
void visit_model(Visit& visit, Spec& spec) {
  visit("max_position_embeddings", spec.trained_length);
  visit.name("norm", kNorms, spec.norm);
  visit("norm_bias", spec.norm_bias);
  visit("norm_eps", spec.norm_eps);
  visit("embedding_scale", spec.embedding_scale);
  visit("embedding_norm", spec.embedding_norm);
  visit("token_types", spec.token_types);
  visit("embedding_width", spec.embedding_width);
  visit("padding_id", spec.padding);
  visit("residual_scale", spec.residual_scale);
  visit("final_norm", spec.final_norm);
  visit("tie_word_embeddings", spec.tied_head);
  visit("head_bias", spec.head_bias);
  visit("head", spec.head);
  visit.name("pool", kPools, spec.pool);
  visit("norm_after_pool", spec.norm_after_pool);
  visit("head_transform", spec.head_transform);
  visit("head_transform_bias", spec.head_transform_bias);
  visit("head_transform_gelu", spec.head_transform_gelu);
  visit("logit_scale", spec.logit_scale);
  visit("logit_cap", spec.logit_cap);
  visit("causal", spec.causal);
}

// Writes fields into an object.
struct Writing {
  ordered_json& object;

  template <class Value>
  void operator()(const char* field, const Value& value) {
    if constexpr (std::is_same_v<Value, Activation>) {
      object[field] = to_text(value);
    } else {
      object[field] = value;
    }
  }
  template <class Names, class Value>
  void name(const char* field, const Names& names, const Value& value) {
    object[field] = name_of(names, value);
  }
};

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

// One object for all layers, or a list with an entry a layer; layers with the same entry share the encoding.
Status read_encodings(const json& found, Spec& spec, const std::string& file) {
  spec.encodings.clear();
  if (!found.is_array()) {
    LOCUS_TRY(EncodingSpec only, read_encoding(found, file));
    spec.encodings.push_back(std::move(only));
    return {};
  }
  if (found.size() != spec.layers.size()) {
    return bad_input("field position_encoding: expected a list of " + std::to_string(spec.layers.size()) +
                         " entries, one a layer, found " + std::to_string(found.size()),
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

ordered_json encoding_json(const EncodingSpec& encoding) {
  ordered_json object = {{"name", encoding.name}};
  for (const auto& [name, value] : encoding.options.values()) {
    object[name] = models::to_json(value);
  }
  return object;
}

// What `layers` says of each layer that is not as the first one: only the fields that differ.
ordered_json differences(const Spec& spec) {
  const auto fields = [](LayerSpec layer) {
    ordered_json object = ordered_json::object();
    Writing writing{object};
    visit_layer(writing, layer);
    return object;
  };
  const ordered_json first = fields(spec.first());
  ordered_json list = ordered_json::array();
  bool any = false;
  for (const LayerSpec& layer : spec.layers) {
    ordered_json own = ordered_json::object();
    const ordered_json all = fields(layer);
    for (const auto& [name, value] : all.items()) {
      if (value != first[name]) {
        own[name] = value;
        any = true;
      }
    }
    list.push_back(std::move(own));
  }
  return any ? list : ordered_json();
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

}  // namespace

ordered_json locus_config(const Spec& spec) {
  Spec copy = spec;
  const bool one =
      std::all_of(spec.layers.begin(), spec.layers.end(), [](const LayerSpec& layer) { return layer.encoding == 0; });
  ordered_json encoding = ordered_json::array();
  for (const LayerSpec& layer : spec.layers) {
    const EncodingSpec* const own = spec.encoding_of(layer);
    encoding.push_back(own == nullptr ? ordered_json() : encoding_json(*own));
  }
  ordered_json config = {{"model_type", "locus"},
                         {"vocab_size", spec.vocabulary},
                         {"hidden_size", spec.width},
                         {"num_hidden_layers", spec.depth()},
                         {"position_encoding", one ? encoding_json(spec.encodings.front()) : encoding}};
  Writing writing{config};
  visit_layer(writing, copy.layers.front());
  visit_model(writing, copy);
  if (ordered_json layers = differences(spec); !layers.is_null()) {
    config["layers"] = std::move(layers);
  }
  if (spec.is_image()) {
    config["image"] = {{"patch_size", spec.image.patch},
                       {"num_channels", spec.image.channels},
                       {"rows", spec.image.rows},
                       {"columns", spec.image.columns},
                       {"class_tokens", spec.image.class_tokens},
                       {"registers", spec.image.registers},
                       {"patch_bias", spec.image.patch_bias},
                       {"position_embedding", spec.image.position_embedding}};
  }
  return config;
}

namespace {

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
  constexpr std::int64_t kMostWidth = std::int64_t{1} << 24;
  layer.feed_forward.inner = spec.width > 0 && spec.width <= kMostWidth ? 4 * spec.width : 0;
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
