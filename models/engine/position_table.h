// Encodings of positions without a run: the engine's half of Model::position_table().
#pragma once

#include <cstdint>
#include <memory>

#include "models/engine/checkpoint.h"

namespace locus::models {

Result<std::shared_ptr<const PositionTable>> position_table(const Checkpoint& checkpoint,
                                                            const PositionRequest& request, std::int64_t layer);

}  // namespace locus::models
