// The bytes of a block as numbers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/block_formats.h"

namespace locus::blocks {

// The number of a format of no GGUF file.
inline constexpr std::uint32_t kInNoFile = 0xFFFFFFFF;

inline std::uint8_t byte_at(const std::byte* block, std::size_t at) {
  return std::to_integer<std::uint8_t>(block[at]);
}
inline std::uint16_t word_at(const std::byte* block, std::size_t at) {
  return static_cast<std::uint16_t>(byte_at(block, at) | byte_at(block, at + 1) << 8U);
}
inline float half_at(const std::byte* block, std::size_t at) {
  return float_of_half(word_at(block, at));
}
inline const std::uint8_t* bytes_of(const std::byte* block, std::size_t at) {
  return reinterpret_cast<const std::uint8_t*>(block + at);
}

}  // namespace locus::blocks
