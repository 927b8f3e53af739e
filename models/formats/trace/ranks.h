// A trace written by the processes of a sharded run, one file each: t.rank0of2.safetensors, t.rank1of2.safetensors.
// Metadata `shard` of each, JSON: `rank`, `ranks`; `layers`, the layers with tensors in this file, for which its lists
// of layers have entries; `heads`, begin and end of the heads it holds; `of`, the number of heads of the model.
#pragma once

#include <filesystem>

#include "models/formats/tensor_source.h"

namespace locus::models::trace {

// The file at `path` unchanged where it has no `shard`; else the trace of all ranks, whose files are beside it: all
// layers, heads in order (copied where a layer has several parts), and the metadata that all must share. Errors:
// kBadInput naming the file of a rank that is missing or inconsistent, expected and found.
Result<formats::Source> join_ranks(formats::Source source, const std::filesystem::path& path);

}  // namespace locus::models::trace
