// Block formats: how files keep weights in few bits. A row of numbers is cut into blocks of 32 or 256; a block holds a
// small whole number for each of them and what turns those into the weights: a scale d, often a least value m, both
// binary16, and in the K formats a scale a group of 16 or 32 numbers. F32, F16 and BF16 are blocks of one number here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace locus::blocks {

struct Format {
  std::string_view name;   // "Q4_K"
  std::uint32_t number;    // of the type in a GGUF file
  std::int64_t bytes;      // of a block
  std::int64_t elements;   // of a block
  std::int64_t alignment;  // that the file's bytes must have to be read as numbers where they lie; else 1
  // values[0 … elements) of one block, each rounded as d·q − m is in float32.
  void (*expand)(const std::byte* block, float* values);
  // The block of values[0 … elements), each finite; null where Locus does not write the format.
  void (*pack)(const float* values, std::byte* block) = nullptr;

  // Several numbers share a block.
  bool quantised() const { return elements > 1; }
};

// Every format that is read, in the order of their numbers.
std::span<const Format> formats();
// Null for one that is not read.
const Format* format_of(std::uint32_t number);
// By its name in capitals or small letters ("q4_k"); null where there is none.
const Format* format_of(std::string_view name);

// Formats of no GGUF file, in which Locus holds what other files keep as numbers and scales apart
// (models/formats/quantised). One number of 8 bits without a scale, with 1, 4 and 3 bits (float8_e4m3fn); `elements`, 32
// or 128, of them behind their scale, float32; and `elements` numbers q of 4 bits, n and n + 16 of 32 in a byte, behind a
// scale d, float32, and a byte z: d·(q − z), here also 64. Each product is rounded. More are in held_formats.h.
const Format& float8();
const Format& scaled_float8(std::int64_t elements);
const Format& scaled_int4(std::int64_t elements);

// Bytes of a row of `elements` numbers; none unless whole blocks make the row, or where the product overflows.
std::optional<std::int64_t> row_bytes(const Format& format, std::int64_t elements);

// `count` blocks one after another, and back.
void expand(const Format& format, const std::byte* blocks, std::int64_t count, float* values);
void pack(const Format& format, const float* values, std::int64_t count, std::byte* blocks);

// binary16 as float32 and back (to the nearest, ties to even; beyond its range an infinity).
float float_of_half(std::uint16_t bits);
std::uint16_t half_of_float(float value);

}  // namespace locus::blocks
