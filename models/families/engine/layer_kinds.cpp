#include "models/families/engine/layer_kinds.h"

#include <algorithm>
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

Status set_dense_layers(const Config& config, Plan& plan, std::int64_t usual, std::string_view shared) {
  LOCUS_TRY(const std::int64_t dense, integer_or(config, "first_k_dense_replace", usual, 0));
  LOCUS_TRY(const std::int64_t inner, config.integer("intermediate_size"));
  LOCUS_TRY(const std::int64_t count, integer_or(config, shared, 1, 0));
  LOCUS_TRY(const std::vector<bool> sparse, layers_of_type(config, "mlp_layer_types", plan.spec.depth(), "sparse",
                                                           "dense", [&](std::int64_t n) { return n >= dense; }));
  plan.spec.each([&](std::int64_t n, transformer::LayerSpec& layer) {
    layer.feed_forward.experts.shared = count * layer.feed_forward.inner;
    if (!sparse[static_cast<std::size_t>(n)]) {
      layer.feed_forward.experts = {};
      layer.feed_forward.inner = inner;
    }
  });
  return {};
}

Status skip_further_layers(const Config& config, std::int64_t usual, Plan& plan) {
  LOCUS_TRY(const std::int64_t further, integer_or(config, "num_nextn_predict_layers", usual, 0));
  constexpr std::int64_t kMax = 16;
  for (std::int64_t n = 0; n < std::min(further, kMax); ++n) {
    plan.skipped.push_back(layer_prefix("model.layers.", plan.spec.depth() + n) + "*");
  }
  return {};
}

void mix_instead(transformer::LayerSpec& layer, const transformer::MixerSpec& mixer) {
  layer.attends = false;
  layer.encoding = -1;
  layer.mixer = mixer;
}

}  // namespace locus::families
