// Checkpoints under their authors' own names, as Meta and Mistral publish them: params.json with consolidated.NN.pth or
// consolidated.safetensors.
#pragma once

#include <filesystem>
#include <optional>

#include "models/families/engine/family.h"

namespace locus::families {

// Whether the path is a folder of such files without a config.json, or one of its files of weights.
bool is_native(const std::filesystem::path& path);

// Configuration and tensors under the names of the family llama or mistral. Parts of a model that was cut for several
// devices are joined: rows of the projections, columns of wo, w2 and (by its shape) of tok_embeddings. Rows of wq and wk
// stand as pairs of neighbours. Errors: kBadInput naming file, tensor, expected and found; kUnsupported for fields that
// describe other models; kTooLarge where the machine has no room for the joined parts.
Result<CheckpointFiles> read_native(const std::filesystem::path& path);

}  // namespace locus::families
