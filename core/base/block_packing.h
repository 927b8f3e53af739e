// From numbers to the blocks of block_formats.h: what is written when a checkpoint is converted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace locus::blocks {

// The scale and the least value of group 0 … 7 of Q4_K and Q5_K, six bits each in twelve bytes: those of groups 0 … 3
// are the low bits of bytes 0 … 3 and 4 … 7; of the others, four bits lie in bytes 8 … 11 and two above those of the
// first.
std::pair<int, int> k_scales(const std::byte* scales, std::size_t group);
void set_k_scales(std::byte* scales, std::size_t group, int scale, int least);

// One block each, of finite values. Formats with one scale for 32 numbers reach the largest of them; the K formats take
// for each group the scale, and the least value, with the least sum of squared errors among a few around that one.
void pack_f32(const float* values, std::byte* block);
void pack_f16(const float* values, std::byte* block);
void pack_bf16(const float* values, std::byte* block);
void pack_q8_0(const float* values, std::byte* block);
void pack_q4_0(const float* values, std::byte* block);
void pack_q4_1(const float* values, std::byte* block);
void pack_q5_0(const float* values, std::byte* block);
void pack_q5_1(const float* values, std::byte* block);
void pack_q4_k(const float* values, std::byte* block);
void pack_q5_k(const float* values, std::byte* block);
void pack_q6_k(const float* values, std::byte* block);

}  // namespace locus::blocks
