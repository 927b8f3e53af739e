// convert(): a checkpoint written again with its weights in another format.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/base/progress.h"
#include "core/base/result.h"

namespace locus::models {

struct ConvertOptions {
  std::string to;             // a format that is written (written_formats())
  std::filesystem::path out;  // *.gguf, or *.safetensors for f32, f16 and bf16
};

struct Converted {
  std::map<std::string, std::int64_t> tensors;  // how many of each format
  std::map<std::string, std::int64_t> bytes;    // of those
  std::vector<std::string> warnings;            // matrices that are in another format, and why; no tokenizer
};

// "f32", "f16", "q4_0", …: what `to` may be.
std::vector<std::string> written_formats();

// Writes OUT atomically. Vectors stay float32; so do, in GGUF, matrices whose rows are no whole blocks, as float16. A
// GGUF file gets the tokenizer where the checkpoint has one of bytes or of SentencePiece, or is a GGUF file itself.
// Errors: kBadInput, kUnsupported as open() says them; kUnsupported for a family that no GGUF architecture writes, and
// for a GGUF file to be written as safetensors; kUsage for a format that OUT cannot hold.
Result<Converted> convert(const std::filesystem::path& path, const ConvertOptions& options, StopToken stop = {},
                          const Progress& progress = {});

}  // namespace locus::models
