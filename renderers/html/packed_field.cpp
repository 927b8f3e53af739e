#include "renderers/html/packed_field.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace locus::html {
namespace {

constexpr int kQtHeader = 4;  // qCompress() puts the size before zlib's stream

// e with largest |finite value| < 2^e; 0 where there is none.
int magnitude_of(const Field& field) {
  float largest = 0;
  for (const float value : field.values) {
    largest = std::isfinite(value) ? std::max(largest, std::abs(value)) : largest;
  }
  int exponent = 0;
  std::frexp(largest, &exponent);
  return exponent;
}

// All lowest bytes, then all that are next: bytes of one significance resemble each other, and are packed better.
template <class Word>
QByteArray by_significance(const std::vector<Word>& words) {
  QByteArray bytes(static_cast<qsizetype>(words.size() * sizeof(Word)), Qt::Uninitialized);
  auto* out = bytes.data();
  for (std::size_t byte = 0; byte < sizeof(Word); ++byte) {
    for (const Word word : words) {
      *out++ = static_cast<char>(word >> (8 * byte) & 0xFF);
    }
  }
  return bytes;
}

}  // namespace

std::uint16_t half_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000U);
  if (std::isnan(value)) {
    return sign | 0x7E00U;
  }
  const double magnitude = std::abs(static_cast<double>(value));
  if (magnitude >= 65520) {  // the middle between the largest float16 and the next that there is none of
    return sign | 0x7C00U;
  }
  constexpr double kLeastNormal = 0x1p-14;
  int exponent = 0;
  std::frexp(std::max(magnitude, kLeastNormal), &exponent);
  // In units of the last bit, whose ties nearbyint() takes to the even one; a carry runs into the exponent.
  const auto units = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(magnitude, 11 - exponent)));
  const auto biased = static_cast<std::uint32_t>(exponent + 13);  // of the least normal 0: its leading bit adds one
  return static_cast<std::uint16_t>(sign | ((biased << 10) + units));
}

PackedField pack(const Field& field, Precision precision) {
  PackedField packed;
  QByteArray bytes;
  if (precision == Precision::kHalf) {
    packed.exponent = magnitude_of(field) - 15;
    std::vector<std::uint16_t> words(field.values.size());
    std::transform(field.values.begin(), field.values.end(), words.begin(),
                   [&](float value) { return half_of(std::ldexp(value, -packed.exponent)); });
    bytes = by_significance(words);
  } else {
    std::vector<std::uint32_t> words(field.values.size());
    std::transform(field.values.begin(), field.values.end(), words.begin(),
                   [](float value) { return std::bit_cast<std::uint32_t>(value); });
    bytes = by_significance(words);
  }
  packed.text = qCompress(bytes).mid(kQtHeader).toBase64();
  return packed;
}

}  // namespace locus::html
