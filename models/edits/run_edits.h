// Edits bound to one run: other positions, and the changes to each layer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/position/shared/positions.h"
#include "models/api/edits.h"
#include "models/api/model.h"
#include "models/transformer/transformer.h"

namespace locus::models {

// Arrangement of the patches of an image, and of the pictures in a text.
struct Layout {
  std::int64_t grid_columns = 0;
  std::vector<ImageSpan> pictures = {};
};

// The position ids with the edits applied, of an image by row-major index; a number for a token with a vector as
// position sets all its components. Errors: kBadInput where the model cannot use them, naming the edit and the reason.
Result<position::Positions> edited_positions(const Edits& edits, const position::Positions& positions,
                                             const Layout& layout, const transformer::Transformer& model);

// The picture that an edit names. Errors: kBadInput.
Result<ImageSpan> picture_of(const Edit& edit, const std::vector<ImageSpan>& pictures, std::size_t index);

// Prefixes an error with the edit's index and field.
Error of_edit(Error error, std::size_t index, const std::string& field);

// One layer's encoding, and the shape of the run.
struct LayerToEdit {
  std::int64_t layer = 0;
  std::shared_ptr<const position::PositionEncoding> encoding;  // null: the layer does not attend
  std::int64_t encoding_layer = 0;
  double soft_cap = 0;
  const position::Positions& positions;
  const Layout& layout;
  attention::Mask mask{};
  const transformer::MixerSpec* mixer = nullptr;  // null: the layer has none
};

// A layer of a loaded model, before its edits.
LayerToEdit layer_to_edit(std::int64_t layer, const transformer::Transformer& model, const transformer::Batch& batch,
                          const Layout& layout);

// The changes to the layer; empty where it is not edited. Errors: kBadInput for pairs that the encoding does not have,
// or angles that are not numbers; kUnsupported for edits that the encoding does not support; with the edit's index and
// field.
Result<transformer::LayerEdit> edited_layer(const Edits& edits, const ModelInfo& model, const LayerToEdit& layer);

// Warnings after a run with these edits: edits without effect on a head because another one overrides them, and the
// first layer whose edited scores were clamped to the resolution of float32. `layers` may be null.
void add_warnings(const Edits& edits, const ModelInfo& model, const transformer::LayerEdits* layers,
                  std::vector<std::string>& warnings);

// The edits of all layers of a loaded model; null where none is edited.
Result<std::shared_ptr<const transformer::LayerEdits>> edited_layers(const Edits& edits, const ModelInfo& info,
                                                                     const transformer::Transformer& model,
                                                                     const transformer::Batch& batch,
                                                                     const Layout& layout);

}  // namespace locus::models
