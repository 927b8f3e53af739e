// What a program does with the tensors of a checkpoint it opened, for fuzz targets.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "models/checkpoint/convert.h"
#include "models/checkpoint/tensor_source.h"

namespace locus::fuzz {

// Ends the program, which is how a fuzz target reports, unless `holds`.
inline void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

// An error is one printable line that begins with the file's name.
inline void check_error(const Error& error, const std::string& file) {
  const std::string text = error.describe();
  require(text.rfind(file, 0) == 0 && text.size() < 2000 && text.find('\n') == std::string::npos);
  require(error.code == ErrorCode::kBadInput || error.code == ErrorCode::kUnsupported ||
          error.code == ErrorCode::kTooLarge);
}

// Reads every tensor that is small enough to be worth it.
inline void use_tensors(const Result<checkpoint::Source>& source, const std::string& file) {
  constexpr std::int64_t kElements = 1 << 16;
  if (!source.ok()) {
    return check_error(source.error(), file);
  }
  for (const checkpoint::TensorInfo& tensor : (*source)->tensors()) {
    require((*source)->find(tensor.name) == &tensor);
    if (tensor.elements() <= kElements) {
      std::vector<float> values(static_cast<std::size_t>(tensor.elements()));
      require(checkpoint::to_float(tensor, values).ok());
    }
  }
}

}  // namespace locus::fuzz
