// What a program does with the tensors of a checkpoint it opened, for fuzz targets.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "models/formats/tensor_source.h"

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

// Reads every element, each inside the tensor's storage.
inline void read_elements(const formats::TensorInfo& tensor) {
  const std::size_t size = formats::element_size(tensor.dtype);
  std::uint64_t element = 0;
  for (std::int64_t n = 0; n < tensor.elements(); ++n) {
    std::int64_t place = tensor.offset;
    std::int64_t rest = n;
    for (std::size_t d = tensor.shape.size(); d-- > 0; rest /= tensor.shape[d]) {
      place += rest % tensor.shape[d] * tensor.strides[d];
    }
    require(place >= 0 && (static_cast<std::size_t>(place) + 1) * size <= tensor.storage.size());
    std::memcpy(&element, tensor.storage.data() + static_cast<std::size_t>(place) * size, size);
  }
}

// Reads every tensor that is small enough to be worth it.
inline void use_tensors(const Result<formats::Source>& source, const std::string& file) {
  constexpr std::int64_t kElements = 1 << 16;
  if (!source.ok()) {
    return check_error(source.error(), file);
  }
  for (const formats::TensorInfo& tensor : (*source)->tensors()) {
    require((*source)->find(tensor.name) == &tensor);
    if (tensor.elements() <= kElements) {
      read_elements(tensor);
    }
  }
}

}  // namespace locus::fuzz
