// Tensors that a checkpoint has in several parts.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "models/formats/tensor_source.h"

namespace locus::formats {

// A tensor made of others, whose rows follow each other.
struct Joined {
  std::string name;
  std::vector<std::string> parts;
};

// A source of these tensors, copied. Errors: kBadInput for a part that is missing, is not stored row by row or has
// another type or other rows than the first; kUnsupported for quantised blocks.
Result<Source> joined(const TensorSource& source, const std::vector<Joined>& tensors);

}  // namespace locus::formats
