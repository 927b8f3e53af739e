// ColorScale: how a value becomes a colour. The fragment shader and the painter implement the same function.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace locus::figure {

enum class Transfer { kLinear, kLog, kGamma };

inline constexpr std::uint32_t kDefaultMask = 0xD0D0D0FF;

// t = clamp((v − low)/(high − low)), then by transfer: linear t; gamma t^gamma; log: (ln v − ln low)/(ln high − ln
// low), v ≤ 0 → 0. Signed values (`centred`): the same of |v| on magnitudes(), u, and t = ½ ± ½ u by v's sign, so that
// 0 has the middle of the colormap and ±v are mirror images under every transfer. NaN is drawn in mask_color; the
// default follows the theme (Style::mask).
struct ColorScale {
  std::string colormap = "viridis";  // a name in colormaps()
  float low = 0;
  float high = 1;
  Transfer transfer = Transfer::kLinear;
  float gamma = 1;
  std::uint32_t mask_color = kDefaultMask;  // RRGGBBAA
  bool centred = false;
  bool whole = false;      // values are whole numbers, and so are the ticks: layers, counts
  bool automatic = false;  // the transfer was chosen by the values: the label of the colour bar says which

  friend bool operator==(const ColorScale&, const ColorScale&) = default;
};

// The magnitudes that a centred scale tells apart: from 0 to the larger of |low| and |high|; under a log transfer from
// `low`, or where that is not above 0 from four decades below the largest.
struct Magnitudes {
  float least = 0;
  float largest = 0;
};
Magnitudes magnitudes(const ColorScale& scale);

// The lowest low of a log transfer by default, as a part of the high end: four decades.
inline constexpr float kLogReach = 1e-4F;

// What is behind the label of the scale's colour bar: ", log scale (auto)"; empty where nothing was chosen.
std::string automatic_words(const ColorScale& scale);

// t in [0, 1], or NaN for NaN.
float normalised(const ColorScale& scale, float value);

}  // namespace locus::figure
