// RoPE as a config.json describes it: rope_theta, partial_rotary_factor, and a block of scaling that is called
// rope_parameters, or rope_scaling in older files. The rules are those of transformers 5 (modeling_rope_utils.py).
#pragma once

#include <string>

#include "models/families/engine/family.h"

namespace locus::families {

// The block that counts: rope_scaling where it has fields, else rope_parameters; without fields where neither is there.
Result<Config> rope_block(const Config& config);

// Options of the encoding `rope`. The base is the block's rope_theta, else the config's, else `base`.
// Errors: kUnsupported for a kind of scaling that is not known; kBadInput for one without the numbers that it needs.
Result<Settings> rope_options(const Config& config, double base = 10000.0);
// What a family knows better than the block: its type where that is not empty, and the length before scaling where it
// is above 0.
struct RopeKnown {
  std::string type = {};
  std::int64_t original = 0;
};
// The same from this block alone, `base` where it has no rope_theta.
Result<Settings> rope_options(const Config& config, const Config& block, double base, const RopeKnown& known = {});

// The part of a head's channels that turn: the block's partial_rotary_factor, else the config's, else `fallback`.
Result<double> rotated_fraction(const Config& config, double fallback);

// Sets the encoding of all layers: one RoPE, or one for each of layer_types where the block holds a block for each type
// (null there: no positions). Errors: those of rope_options().
Status set_rope(const Config& config, Plan& plan, double base = 10000.0, const char* layout = "half",
                double fraction = 1.0);
// The same by this block.
Status set_rope(const Config& config, const Config& block, Plan& plan, double base, const char* layout = "half",
                double fraction = 1.0);

}  // namespace locus::families
