// Formats of GGUF files whose numbers are not stored one by one: blocks of 256 that name rows of a grid, four or eight
// numbers each, and the signs of those apart. The functions are those of Format::expand (block_formats.h).
#pragma once

#include <cstddef>

namespace locus::blocks {

// About two bits a number: rows of eight.
void expand_iq2_xxs(const std::byte* block, float* values);
void expand_iq2_xs(const std::byte* block, float* values);
void expand_iq2_s(const std::byte* block, float* values);
// About three bits: rows of four.
void expand_iq3_xxs(const std::byte* block, float* values);
void expand_iq3_s(const std::byte* block, float* values);
// About one and a half: rows of eight of −1, 0 and 1, all moved by an eighth up or down.
void expand_iq1_s(const std::byte* block, float* values);
void expand_iq1_m(const std::byte* block, float* values);

}  // namespace locus::blocks
