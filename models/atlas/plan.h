// The plan of an atlas: models that it supports, and the statistics to measure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "models/api/atlas.h"
#include "models/api/model.h"

namespace locus::models::atlas {

// Errors: kUnsupported for models without a tokenizer, for image models, and encoder–decoders.
Status check_model(const Model& model);

// The statistics of `asked` (empty: all) that the model has, in the order of atlas_statistics(). Errors: kUsage for an
// unknown one; kUnsupported for a requested one that the model does not have.
Result<std::vector<std::string>> chosen(const Model& model, const std::vector<std::string>& asked);

// Windows that one process measures before the sums of all are added: depends only on N, so that any number of
// processes adds in the same order.
std::int64_t block_size(std::int64_t windows);

// The difference between the atlas in the file and the requested one: "windows 8 in the file, 9 now"; empty where it
// can be resumed.
std::string difference(const AtlasInfo& found, const AtlasInfo& asked);

}  // namespace locus::models::atlas
