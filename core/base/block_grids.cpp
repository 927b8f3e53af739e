#include "core/base/block_grids.h"

#include <array>
#include <bit>
#include <cstdint>

#include "core/base/block_bytes.h"
#include "core/base/block_grid_tables.h"

namespace locus::blocks {

namespace {

// Rows of kWide numbers, a byte each.
template <std::size_t kCount, std::size_t kWide>
using Rows = std::array<std::array<std::int8_t, kWide>, kCount>;

template <std::size_t kWide, std::size_t kCount, std::size_t kValues>
constexpr Rows<kCount, kWide> unpacked(const std::array<std::uint16_t, kCount>& packed,
                                       const std::array<std::int8_t, kValues>& values) {
  constexpr unsigned kBits = 16 / kWide;
  Rows<kCount, kWide> rows{};
  for (std::size_t n = 0; n < kCount; ++n) {
    for (std::size_t k = 0; k < kWide; ++k) {
      rows.at(n).at(k) = values.at(static_cast<unsigned>(packed.at(n)) >> (kBits * k) & (kValues - 1));
    }
  }
  return rows;
}

constexpr std::array<std::int8_t, 4> kOfTwoBits{8, 25, 43, 0};  // the last is in no row
constexpr std::array<std::int8_t, 4> kOfOne{-1, 0, 1, 0};       // likewise
constexpr auto kRows2Xxs = unpacked<8>(kGrid2Xxs, kOfTwoBits);
constexpr auto kRows2Xs = unpacked<8>(kGrid2Xs, kOfTwoBits);
constexpr auto kRows2S = unpacked<8>(kGrid2S, kOfTwoBits);
constexpr auto kRows3Xxs = unpacked<4>(kGrid3Xxs, std::array<std::int8_t, 8>{4, 12, 20, 28, 36, 44, 52, 62});
constexpr auto kRows3S = unpacked<4>(kGrid3S, std::array<std::int8_t, 8>{1, 3, 5, 7, 9, 11, 13, 15});
constexpr auto kRows1 = unpacked<8>(kGrid1, kOfOne);

unsigned long_at(const std::byte* block, std::size_t at) {
  return static_cast<unsigned>(word_at(block, at)) | static_cast<unsigned>(word_at(block, at + 2)) << 16U;
}
// Four bits of a byte, the lower ones for an even n.
unsigned nibble_at(const std::byte* block, std::size_t at, std::size_t n) {
  return static_cast<unsigned>(byte_at(block, at + n / 2)) >> (n % 2 * 4) & 15U;
}

// The signs of eight numbers of which seven are stored: the count of those below 0 is even.
unsigned eight_signs(unsigned seven) {
  return seven | static_cast<unsigned>(std::popcount(seven) & 1) << 7U;
}

// A row, below 0 where a bit of `signs` is set.
template <std::size_t kWide>
void put_signed(const std::array<std::int8_t, kWide>& row, float scale, unsigned signs, float* values) {
  for (std::size_t n = 0; n < kWide; ++n) {
    const float value = scale * static_cast<float>(row[n]);
    values[n] = (signs >> n & 1U) != 0 ? -value : value;
  }
}

void put_moved(const std::array<std::int8_t, 8>& row, float scale, bool down, float* values) {
  for (std::size_t n = 0; n < 8; ++n) {
    values[n] = scale * (static_cast<float>(row[n]) + (down ? -0.125F : 0.125F));
  }
}

}  // namespace

// Eight groups of 32: four bytes name rows, four more hold four times seven signs and a scale of four bits.
void expand_iq2_xxs(const std::byte* block, float* values) {
  const float d = half_at(block, 0) * 0.25F;
  for (std::size_t group = 0; group < 8; ++group) {
    const std::size_t at = 2 + 8 * group;
    const unsigned rest = long_at(block, at + 4);
    const float scale = d * (0.5F + static_cast<float>(rest >> 28U));
    for (std::size_t n = 0; n < 4; ++n, values += 8) {
      put_signed(kRows2Xxs[byte_at(block, at + n)], scale, eight_signs(rest >> (7 * n) & 127U), values);
    }
  }
}

// 32 times nine bits of a row and seven signs; a scale of four bits for each 16 numbers.
void expand_iq2_xs(const std::byte* block, float* values) {
  const float d = half_at(block, 0) * 0.25F;
  for (std::size_t n = 0; n < 32; ++n, values += 8) {
    const unsigned word = word_at(block, 2 + 2 * n);
    const float scale = d * (0.5F + static_cast<float>(nibble_at(block, 66, n / 2)));
    put_signed(kRows2Xs[word & 511U], scale, eight_signs(word >> 9U), values);
  }
}

// Ten bits of a row in two places; signs a byte for each row.
void expand_iq2_s(const std::byte* block, float* values) {
  const float d = half_at(block, 0) * 0.25F;
  for (std::size_t n = 0; n < 32; ++n, values += 8) {
    const unsigned high = static_cast<unsigned>(byte_at(block, 66 + n / 4)) >> (n % 4 * 2) & 3U;
    const float scale = d * (0.5F + static_cast<float>(nibble_at(block, 74, n / 2)));
    put_signed(kRows2S[byte_at(block, 2 + n) | high << 8U], scale, byte_at(block, 34 + n), values);
  }
}

// Groups of 32 as those of IQ2_XXS, with two rows of four for seven signs.
void expand_iq3_xxs(const std::byte* block, float* values) {
  const float d = half_at(block, 0) * 0.5F;
  for (std::size_t group = 0; group < 8; ++group) {
    const unsigned rest = long_at(block, 66 + 4 * group);
    const float scale = d * (0.5F + static_cast<float>(rest >> 28U));
    for (std::size_t n = 0; n < 8; ++n, values += 4) {
      const unsigned signs = eight_signs(rest >> (n / 2 * 7) & 127U) >> (n % 2 * 4);
      put_signed(kRows3Xxs[byte_at(block, 2 + 8 * group + n)], scale, signs, values);
    }
  }
}

void expand_iq3_s(const std::byte* block, float* values) {
  const float d = half_at(block, 0);
  for (std::size_t n = 0; n < 64; ++n, values += 4) {
    const unsigned high = static_cast<unsigned>(byte_at(block, 66 + n / 8)) >> (n % 8) & 1U;
    const float scale = d * static_cast<float>(1 + 2 * nibble_at(block, 106, n / 8));
    put_signed(kRows3S[byte_at(block, 2 + n) | high << 8U], scale, nibble_at(block, 74, n), values);
  }
}

// A word for each group of 32: four times three bits of rows, a scale of three bits, and which way they are moved.
void expand_iq1_s(const std::byte* block, float* values) {
  const float d = half_at(block, 0);
  for (std::size_t n = 0; n < 32; ++n, values += 8) {
    const unsigned word = word_at(block, 34 + n / 4 * 2);
    const unsigned high = word >> (n % 4 * 3) & 7U;
    const float scale = d * static_cast<float>(2 * (word >> 12U & 7U) + 1);
    put_moved(kRows1[byte_at(block, 2 + n) | high << 8U], scale, (word & 0x8000U) != 0, values);
  }
}

// Four words hold 16 scales of three bits, and in their upper four bits the block's.
void expand_iq1_m(const std::byte* block, float* values) {
  unsigned bits = 0;
  for (std::size_t n = 0; n < 4; ++n) {
    bits |= static_cast<unsigned>(word_at(block, 48 + 2 * n)) >> 12U << (4 * n);
  }
  const float d = float_of_half(static_cast<std::uint16_t>(bits));
  for (std::size_t n = 0; n < 32; ++n, values += 8) {
    const unsigned scales = word_at(block, 48 + n / 8 * 2);
    const float scale = d * static_cast<float>(2 * (scales >> (n / 2 % 4 * 3) & 7U) + 1);
    const unsigned high = nibble_at(block, 32, n);
    put_moved(kRows1[byte_at(block, n) | (high & 7U) << 8U], scale, (high & 8U) != 0, values);
  }
}

}  // namespace locus::blocks
