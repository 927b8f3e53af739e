// What an encoding says of itself: `locus info --encodings`, Help and the README's table are made of this.
#pragma once

#include <string>
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

struct Description {
  std::string name;      // as config.json and the command line say it: "rope"
  std::string title;     // "Rotary position embedding (RoPE)"
  std::string paper;     // "Su et al. 2021, arXiv:2104.09864"
  std::string equation;  // one line: "⟨R_i q, R_j k⟩/√D, R_i turns pair m by i·base^(−2m/D)"
  std::string content;   // what "content" means here: "unrotated q·k/√D"; empty: not offered
  std::string look_for;  // what to look for in its maps: one or two sentences
  std::vector<ParameterDescription> parameters = {};
  std::vector<OptionDescription> options = {};
  bool embeds = false;           // adds to the token embeddings
  bool rotates = false;          // changes q and k
  bool scores = false;           // changes the logit itself
  bool updates = false;          // has a state that every layer renews
  bool has_dot_product = false;  // ⟨e_i, e_j⟩ is defined
  bool has_gates = false;        // CoPE: gates and contextual positions
};

// An Error naming the first option in `options` that `description` does not list, with those it lists.
Status check_known(const Description& description, const Settings& options);

}  // namespace locus::position
