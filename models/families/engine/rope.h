// RoPE in a config.json: rope_theta, partial_rotary_factor, and a block with the scaling, called rope_parameters, or
// rope_scaling in older files. The rules are those of transformers 5 (modeling_rope_utils.py).
#pragma once

#include <string>

#include "models/families/engine/family.h"

namespace locus::families {

// The block in effect: rope_scaling where it has fields, else rope_parameters; empty where neither exists.
Result<Config> rope_block(const Config& config);

// Options of the encoding `rope`. The base is the block's rope_theta, else the config's, else `base`. Errors:
// kUnsupported for an unknown kind of scaling; kBadInput for one without the numbers that it needs.
Result<Settings> rope_options(const Config& config, double base = 10000.0);
// Values of the family that override the block: the type where it is not empty, and the length before scaling where it
// is above 0.
struct RopeKnown {
  std::string type = {};
  std::int64_t original = 0;
  bool whole = false;  // all channels of a head turn, as proportional RoPE expects
};
// The same from this block only; `base` where it has no rope_theta.
Result<Settings> rope_options(const Config& config, const Config& block, double base, const RopeKnown& known = {});

// The base of axial RoPE over rows and columns of heads `head` wide; the block calls it axial, or default as older files
// do. Errors: kUnsupported for another kind, and for a head_dim that is another width.
Result<double> axial_base(const Config& config, double base, std::int64_t head);
// The same of towers whose configs have no head_dim.
Result<double> axial_base(const Config& config, double base);

// The rotated fraction of a head's channels: the block's partial_rotary_factor, else the config's, else `fallback`.
Result<double> rotated_fraction(const Config& config, double fallback);

// The factor of all scores that mscale_all_dim sets beside latent attention, in addition to the magnitude of cos and sin.
Result<double> rope_score_factor(const Config& config);

// Sets the encoding of all layers: one RoPE, or one per type of layer_types where the block holds a block for each type
// (null: no positions). Errors: those of rope_options().
Status set_rope(const Config& config, Plan& plan, double base = 10000.0, const char* layout = "half",
                double fraction = 1.0);
// The same with this block.
Status set_rope(const Config& config, const Config& block, Plan& plan, double base, const char* layout = "half",
                double fraction = 1.0);

}  // namespace locus::families
