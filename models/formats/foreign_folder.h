// Folders of weights that other programs must convert first.
#pragma once

#include <filesystem>
#include <optional>

#include "core/base/result.h"

namespace locus::formats {

// kUnsupported, with what to do, for a folder of DeepSpeed, distributed PyTorch, Megatron, ONNX, OpenVINO, TensorFlow or
// Flax files; empty for other folders.
std::optional<Error> foreign_folder(const std::filesystem::path& folder);

}  // namespace locus::formats
