// The axes of an atlas that say how fast rotary pairs turn: one per encoding of the model, and which is a layer's own.
#pragma once

#include <string>

namespace locus::models::atlas {

inline constexpr const char* kEncodingOfLayers = "pairs.encoding";  // [L]: the number of a layer's axis
inline constexpr double kNothingTurns = -1;                         // instead of such a number

// "pairs.wavelengths", "pairs.wavelengths.1", …
inline std::string wavelength_axis(std::size_t encoding) {
  return "pairs.wavelengths" + (encoding == 0 ? "" : "." + std::to_string(encoding));
}

}  // namespace locus::models::atlas
