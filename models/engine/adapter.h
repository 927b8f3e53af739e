// Adapters of PEFT: a folder with adapter_config.json and adapter_model.safetensors, which changes some weights of a base
// model.
#pragma once

#include <filesystem>

#include "core/base/result.h"
#include "models/families/engine/family.h"

namespace locus::models {

// Whether the folder holds an adapter, and no weights of a whole model.
bool is_adapter(const std::filesystem::path& folder);

// The base of an adapter: `named` where it is not empty, else base_model_name_or_path, which is a path from the adapter's
// folder, a path, or a model in the hub's cache. Errors: kBadInput naming file, field and what was looked for.
Result<std::filesystem::path> adapter_base(const std::filesystem::path& folder, const std::filesystem::path& named);

// The base with the adapter added, in float32:
//   LoRA   W + s B A, s = alpha / r (use_rslora: alpha / √r)
//   DoRA   m ⊙ (W + s B A) / |W + s B A|, lengths of the rows of outputs
//   IA3    W with each output, or each input of a feed-forward, times a learned number
// A tensor that the adapter stores whole replaces the base's. Errors: kUnsupported naming the kind of adapter, or a field
// that changes more than these; kBadInput naming file, tensor, expected and found; kTooLarge.
Result<families::CheckpointFiles> add_adapter(const std::filesystem::path& folder, families::CheckpointFiles base);

}  // namespace locus::models
