// Tables of sines that some versions of an author's code store, and others compute.
#pragma once

#include <string>

#include "models/families/engine/family.h"

namespace locus::families {

// Whether the rows p of a table [rows, W] are sin(p·θ_m), m = 0 … W/2 − 1, and then cos(p·θ_m), with θ_m =
// 10000^(−2m/W), up to the rounding of its type; true as well where the file has no such tensor.
bool holds_sines(const CheckpointFiles& checkpoint, const std::string& tensor);

}  // namespace locus::families
