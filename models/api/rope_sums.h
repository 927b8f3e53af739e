// RoPE's sums C_D and S_D by distance, of no run: what a base and a head width imply.
#pragma once

#include "core/analysis/rope_sums.h"

namespace locus::models {

using analysis::AngleConvention;
using analysis::rope_sums;
using analysis::RopeSums;

}  // namespace locus::models
