#include "models/families/engine/layer_kinds.h"

#include <string>

#include "core/base/shown.h"

namespace locus::families {

Result<std::vector<bool>> layers_of_type(const Config& config, std::string_view field, std::int64_t layers,
                                         std::string_view yes, std::string_view no,
                                         const std::function<bool(std::int64_t layer)>& otherwise) {
  std::vector<bool> of_type;
  if (!config.has(field)) {
    for (std::int64_t n = 0; n < layers; ++n) {
      of_type.push_back(otherwise(n));
    }
    return of_type;
  }
  LOCUS_TRY(const std::vector<std::string> words, config.texts(field));
  LOCUS_CHECK(check_entries(words.size(), layers, config.context(field)));
  for (const std::string& word : words) {
    if (word != yes && word != no) {
      return unsupported("expected " + std::string(yes) + " or " + std::string(no) + ", found " + shown(word),
                         config.context(field));
    }
    of_type.push_back(word == yes);
  }
  return of_type;
}

Result<std::vector<bool>> attending_layers(const Config& config, std::int64_t layers, std::string_view mixed,
                                           const std::function<bool(std::int64_t layer)>& otherwise) {
  return layers_of_type(config, "layer_types", layers, "full_attention", mixed, otherwise);
}

void mix_instead(transformer::LayerSpec& layer, const transformer::MixerSpec& mixer) {
  layer.attends = false;
  layer.encoding = -1;
  layer.mixer = mixer;
}

}  // namespace locus::families
