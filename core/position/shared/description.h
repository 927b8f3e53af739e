// Description: an encoding in words and numbers. `locus info --encodings`, Help and the manual's table are made of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/settings.h"

namespace locus::position {

struct ParameterDescription {
  std::string name;     // "layers.N.up_proj"
  std::string shape;    // "(I, H)"
  std::string meaning;  // one clause
};

struct OptionDescription {
  std::string name;      // "base"
  std::string fallback;  // "10000"
  std::string meaning;   // "RoPE's base; θ_m = base^(−2m/D)"
};

struct OptionValue {
  std::string option;
  std::string value;
};

struct Description {
  std::string name;      // as config.json and the command line say it: "rope"
  std::string title;     // "Rotary position embedding (RoPE)"
  std::string paper;     // "Su et al. 2021, arXiv:2104.09864"
  std::string equation;  // one line: "⟨R_i q, R_j k⟩/√D, R_i turns pair m by i·base^(−2m/D)"
  std::string content;   // what "content" means here: "unrotated q·k/√D"; empty: not offered
  std::vector<ParameterDescription> parameters = {};
  std::vector<OptionDescription> options = {};
  bool embeds = false;            // adds to the token embeddings
  bool rotates = false;           // changes q and k
  bool scores = false;            // changes the logit itself
  bool updates = false;           // has a state that every layer renews
  bool has_dot_product = false;   // ⟨e_i, e_j⟩ is defined
  bool has_gates = false;         // CoPE: gates and contextual positions
  bool has_parts = false;         // DeBERTa: c2p and p2c
  bool forgets = false;           // FoX: gates of the tokens between key and query add to the logit
  bool learns_positions = false;  // RePo: a layer's input says where each token stands, for each head
  bool transforms = false;        // PaTH: the tokens between key and query change the key
  // Its options base and scaling, where it lists them, set the waves of its positions, so that another RoPE base or
  // scaling reaches it; where `waves_where` names an option, only while that has the value.
  bool has_waves = false;
  OptionValue waves_where = {};
  // Options that images are trained with, of a grid of patches; null: none.
  Settings (*grid_options)(std::int64_t rows, std::int64_t columns) = nullptr;
  // The encoding that it begins as, and the options that it then takes over from it.
  std::string begins_as = {};
  std::vector<std::string> taken_over = {};
  // What stands for the distance from a query i back to a key j in what it computes (PositionEncoding::distances());
  // empty: nothing does, and `no_distance` says why, as a clause.
  std::string distance = {};
  std::string no_distance = {};
};

// Distances that several encodings have: of position ids, and of the vectors of positions.
inline constexpr const char* kIndexDistance = "i − j";
inline constexpr const char* kVectorDistance = "‖e_i − e_j‖";

// Whether another RoPE base or scaling (`option`: "base", "scaling") reaches an encoding with these options.
bool can_override(const Description& description, std::string_view option, const Settings& options);

// An Error naming the first option in `options` that `description` does not list, with those it lists.
Status check_known(const Description& description, const Settings& options);

}  // namespace locus::position
