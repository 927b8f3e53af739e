#include "models/transformer/locus_config.h"

#include <algorithm>
#include <string>
#include <type_traits>

#include "models/formats/json/settings_json.h"
#include "models/transformer/locus_fields.h"

namespace locus::transformer {

namespace {

using nlohmann::ordered_json;

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
    object[field] = word_of(names, value);
  }
};

ordered_json encoding_json(const EncodingSpec& encoding) {
  ordered_json object = {{"name", encoding.name}};
  for (const auto& [name, value] : encoding.options.values()) {
    object[name] = models::to_json(value);
  }
  return object;
}

// The list `layers`: for each layer the fields in which it differs from the first.
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
    if (spec.image.detections > 0) {
      config["image"]["detections"] = spec.image.detections;
    }
    if (spec.image.positions_after_layers) {
      config["image"]["positions_after_layers"] = true;
    }
    if (spec.image.patch_norm) {
      config["image"]["patch_norm"] = true;
    }
  }
  return config;
}

}  // namespace locus::transformer
