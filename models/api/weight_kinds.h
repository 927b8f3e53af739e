// weight_kinds(): in which formats a GGUF file, or another with quantised weights, keeps which of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/api/model.h"

namespace locus::models {

struct WeightKind {
  std::string kind;          // the tensor's name without layer and ending: "attn_q", "token_embd"
  std::string format;        // "Q4_K"
  std::int64_t tensors = 0;  // of this kind in this format
  double bytes = 0;          // of those, in the file
  double numbers = 0;        // that they are
};

// In the order of the file; a kind of which layers have different formats is there once for each. Empty for checkpoints
// without quantised weights in other files than GGUF.
std::vector<WeightKind> weight_kinds(const Model& model);

}  // namespace locus::models
