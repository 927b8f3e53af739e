// Numbers of a tensor from its name, so that weights need not be stored. tests/conformance/tensors.py is the same in
// Python and specifies it: splitmix64 of FNV-1a(name) and the element's index; the sum of the four 16-bit digits,
// centred and divided by its deviation; offset + scale times that.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace locus::test {

// 64 bits of element `index` (from 0) of the tensor `name`.
std::uint64_t generated_bits(std::string_view name, std::uint64_t index);

// float32 of this shape: `offset` + `scale`·n with n of mean 0, variance 1 and |n| < 3.47.
at::Tensor generated_tensor(std::string_view name, const std::vector<std::int64_t>& shape, double offset, double scale);

}  // namespace locus::test
