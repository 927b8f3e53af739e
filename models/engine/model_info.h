// Fills in a ModelInfo, but for that of a trace file
// (models/engine/trace/shape.cpp).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "models/api/model.h"
#include "models/families/engine/family.h"
#include "models/transformer/transformer.h"

namespace locus::models {

struct CheckpointParts;

// The names of classes, config.json's id2label, by id.
std::map<std::int64_t, std::string> read_labels(const families::Config& config);

// Facts from a model's spec and encodings.
ModelInfo shape_info(const transformer::Transformer& model);

// The info of a checkpoint whose parts are there: the shape, and what its files say.
ModelInfo checkpoint_info(const CheckpointParts& parts, const families::CheckpointFiles& checkpoint,
                          const families::Plan& plan, std::string_view family);

// The info of the encoder in an encoder–decoder that `whole` describes.
ModelInfo encoder_info(const ModelInfo& whole, const transformer::Transformer& encoder);

// The info of a decoder's cross-attention.
ModelInfo cross_info(const ModelInfo& decoder, const transformer::AttentionSpec& cross);

// The info of the layers without a soft-max: their heads, and no position encoding.
ModelInfo mixer_info(const ModelInfo& whole, const transformer::Spec& spec);

// The info of the first layers of a model.
ModelInfo first_layers(ModelInfo info, std::int64_t layers);

}  // namespace locus::models
