// The tokenizer of a checkpoint as the values of a GGUF file.
#pragma once

#include "core/base/result.h"
#include "models/families/engine/family.h"
#include "models/formats/gguf/gguf_writer.h"

namespace locus::models {

// Adds tokenizer.ggml.*: bytes, or the pieces of a tokenizer.model that merges pairs. False where the checkpoint has
// another tokenizer, which a GGUF file is not written of; true also where it has none. Errors: those of reading
// tokenizer.model.
Result<bool> add_tokenizer(const families::CheckpointFiles& checkpoint, formats::GgufValues& values);

}  // namespace locus::models
