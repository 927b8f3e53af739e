// Numbers of a checkpoint as float32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/result.h"
#include "models/checkpoint/tensor_source.h"

namespace locus::checkpoint {

// IEEE 754 binary16 and bfloat16 to float32, exactly: subnormals, infinities and NaN payloads are kept.
float half_to_float(std::uint16_t bits);
float bfloat16_to_float(std::uint16_t bits);

// Writes `tensor`'s elements in row-major order as float32: F16 and BF16 exactly, F64 rounded to nearest, whole numbers
// rounded to nearest, BOOL as 0 or 1. Errors: kInternal when `out` does not hold exactly tensor.elements().
Status to_float(const TensorInfo& tensor, std::span<float> out);

// The same elements in row-major order, in their own dtype. Errors: kInternal when `out` does not hold exactly
// tensor.elements() · element_size(tensor.dtype) bytes.
Status to_bytes(const TensorInfo& tensor, std::span<std::byte> out);

}  // namespace locus::checkpoint
