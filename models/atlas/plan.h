// What an atlas is to be: which models it is made of, and which statistics it has.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "models/api/atlas.h"
#include "models/api/model.h"

namespace locus::models::atlas {

// Errors: kUnsupported for models without a tokenizer, of pictures, and encoder–decoders.
Status check_model(const Model& model);

// The statistics of `asked` (empty: all) that the model has, in the order of atlas_statistics(). Errors: kUsage for one
// that there is not; kUnsupported for one that was asked for and the model does not have.
Result<std::vector<std::string>> chosen(const Model& model, const std::vector<std::string>& asked);

// Windows that one process measures before their sums are added to the others': a function of N alone, so that any
// number of processes adds alike.
std::int64_t block_size(std::int64_t windows);

// In what the atlas on the disk and the one that is asked for differ: "windows 8 in the file, 9 now"; empty: in nothing
// that matters to going on.
std::string difference(const AtlasInfo& found, const AtlasInfo& asked);

}  // namespace locus::models::atlas
