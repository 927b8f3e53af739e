// Numbers of a checkpoint as float32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/result.h"
#include "models/checkpoint/tensor_source.h"

namespace locus::checkpoint {

// Writes `tensor`'s elements in row-major order as float32: F16 and BF16 exactly (subnormals, infinities and NaN
// payloads too), F64 rounded to nearest, whole numbers rounded to nearest, BOOL as 0 or 1. Errors: kInternal when `out`
// does not hold exactly tensor.elements().
Status to_float(const TensorInfo& tensor, std::span<float> out);

// The same elements in row-major order, in their own dtype. Errors: kInternal when `out` does not hold exactly
// tensor.elements() · element_size(tensor.dtype) bytes.
Status to_bytes(const TensorInfo& tensor, std::span<std::byte> out);

}  // namespace locus::checkpoint
