// Packed fields: the cells of a map as text that a page unpacks, exact where they are few and rounded where they are
// many.
#pragma once

#include <QByteArray>
#include <cstdint>

#include "core/base/field.h"

namespace locus::html {

// How cells are stored. Half: float16 of value / 2^exponent, where 2^15 > |value| / 2^exponent for every finite value,
// so that each is within 2^-11 of itself, or within 2^-39 of the map's largest magnitude where that is more. NaN and
// infinities stay what they are.
enum class Precision { kSingle, kHalf };

struct PackedField {
  QByteArray text;   // base64 of zlib's stream of the cells' bytes, the lowest byte of every cell first
  int exponent = 0;  // of kHalf
};

PackedField pack(const Field& field, Precision precision);

// The float16 nearest to a value, of two the one with an even last bit; beyond 65504 infinite.
std::uint16_t half_of(float value);

}  // namespace locus::html
