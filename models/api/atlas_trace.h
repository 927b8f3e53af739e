// An atlas as a column: a Trace that has no scores but an atlas, for who shows runs and atlases side by side.
#pragma once

#include <filesystem>
#include <memory>

#include "core/base/result.h"
#include "models/api/atlas.h"
#include "models/api/model.h"

namespace locus::models {

// The atlas that a trace is; null for one of a run.
const Atlas* atlas_of(const Trace& trace);

// The trace that an atlas is: its model() has the checkpoint's name, layers and heads; its tokens are the T places
// of a window, called by their numbers. Maps, states and predictions are kUnsupported, in one line.
std::shared_ptr<const Trace> trace_of(std::shared_ptr<const Atlas> atlas, const std::filesystem::path& path);

// The same of a file. Errors: open_atlas()'s.
Result<std::shared_ptr<const Trace>> open_atlas_trace(const std::filesystem::path& path);

}  // namespace locus::models
