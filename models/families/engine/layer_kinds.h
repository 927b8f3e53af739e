// Layers of different kinds in a config.json: lists of types, and layers that mix tokens without attention.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "models/families/engine/family.h"

namespace locus::families {

// For each layer whether the list `field` says `yes` of it, not `no`; where the config has no such list, what
// `otherwise` says. Errors: kBadInput for another length; kUnsupported for another word.
Result<std::vector<bool>> layers_of_type(const Config& config, std::string_view field, std::int64_t layers,
                                         std::string_view yes, std::string_view no,
                                         const std::function<bool(std::int64_t layer)>& otherwise);

// The same of layer_types: true where a layer is of full_attention, false where it is `mixed`.
Result<std::vector<bool>> attending_layers(const Config& config, std::int64_t layers, std::string_view mixed,
                                           const std::function<bool(std::int64_t layer)>& otherwise);

// Keeps layers without experts, `intermediate_size` wide: those that mlp_layer_types calls dense, without such a list the
// first first_k_dense_replace, `usual` where it is absent. The others share as many experts as `shared` says, usually one.
Status set_dense_layers(const Config& config, Plan& plan, std::int64_t usual, std::string_view shared);

// Skips the layers after the last one, num_nextn_predict_layers, `usual` where it is absent: they predict further tokens.
Status skip_further_layers(const Config& config, std::int64_t usual, Plan& plan);

// Makes the layer one that has this mixer instead of attention.
void mix_instead(transformer::LayerSpec& layer, const transformer::MixerSpec& mixer);

}  // namespace locus::families
