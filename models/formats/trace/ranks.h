// A trace that the processes of a sharded run wrote, a file for each: t.rank0of2.safetensors, t.rank1of2.safetensors.
// Metadata `shard` of each, JSON: `rank`, `ranks`; `layers`, those of its tensors, which its lists of layers have
// entries for; `heads`, begin and end of those it holds; `of`, how many heads the model has.
#pragma once

#include <filesystem>

#include "models/formats/tensor_source.h"

namespace locus::models::trace {

// The file at `path` as it is where it has no `shard`; else the trace of all ranks, whose files lie beside it: layers
// of all, heads in their order (copied where a layer has several parts), and what all must agree in. Errors: kBadInput
// naming the file of a rank that is missing or does not fit, what is expected and what was found.
Result<formats::Source> join_ranks(formats::Source source, const std::filesystem::path& path);

}  // namespace locus::models::trace
