// Block formats of no GGUF file, in which Locus holds what other files keep as numbers and scales apart
// (models/formats/quantised), beside those of block_formats.h. A head of float32 numbers stands in front of `elements`,
// 32, 64 or 128, numbers q: of eight bits one after another, of four bits as in Q4_0, numbers n and n + 16 of 32 in a
// byte. Every product and sum is rounded to float32.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/block_formats.h"

namespace locus::blocks {

// d·(q − z): d, and z in 16 bits with a sign; q from 0 to 255.
const Format& scaled_int8(std::int64_t elements);
// d·q + m: d and m.
const Format& affine_int4(std::int64_t elements);
const Format& affine_int8(std::int64_t elements);

// d·c[q] of 64 numbers: d. The 16 numbers c of NF4, quantiles of a normal distribution, and of FP4, as bitsandbytes has
// them.
const Format& normal_float4();
const Format& coded_float4();
// The 16 numbers c of normal_float4() or coded_float4().
const float* code_of(const Format& format);

}  // namespace locus::blocks
