// Windows: the patches that see each other in a layer of a tower in stages (Swin, Hiera).
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "models/transformer/spec.h"

namespace locus::transformer {

// The window of each patch of a grid of rows × columns, row by row, numbered from 0 on: tile × tile patches each, or
// what is left of that at the sides of a shifted grid; one window without tiles.
std::vector<std::int64_t> windows_of(const AttentionSpec& attention, Stages stages, std::int64_t rows,
                                     std::int64_t columns);

// Errors: kUnsupported for a grid that is not whole windows in every layer, those of the stages before included; nothing
// is checked of models without stages.
Status check_grid(const Spec& spec, std::int64_t rows, std::int64_t columns);

}  // namespace locus::transformer
