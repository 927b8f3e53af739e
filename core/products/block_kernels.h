// One token times rows of blocks (core/base/block_formats.h), read as they are: what a further token costs. Written
// once for any vector width and compiled for AVX-512, AVX2 and neither, as kernels.h.
//
// Values: a group of numbers q with one scale d and one least value m adds d·Σ q·x − m·Σ x, in float32; with AVX-512,
// Q4_K looks its sixteen values d·q − m up instead. Both differ from expanding the blocks first by rounding alone (1e-5
// of Σ |w·x|).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/block_formats.h"
#include "core/base/instruction_sets.h"

namespace locus::products {

// y[n] += Σ_k x[k] · W[n, k], n < outputs, for rows one after another. sums[g] = Σ x[16·g … 16·g + 15].
using BlockDot = void (*)(const std::byte* rows, std::int64_t outputs, std::int64_t inputs, const float* x,
                          const float* sums, float* y);

// The kernel of a format; null where it has none: its rows are expanded.
BlockDot block_dot(const blocks::Format& format, std::int64_t version = used_version());

// sums[g] of x (inputs), which has whole groups of 16.
void sum_groups(const float* x, std::int64_t inputs, float* sums);

}  // namespace locus::products
