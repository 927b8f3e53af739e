// Says which statistics of an atlas (atlas_run.h) a model can give.
#pragma once

#include <string>

#include "core/base/result.h"
#include "models/api/model.h"

namespace locus::models {

// Errors: kUnsupported, saying what that statistic needs.
Status has_statistic(const ModelInfo& info, const std::string& statistic);

}  // namespace locus::models
