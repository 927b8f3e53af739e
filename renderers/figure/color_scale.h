// ColorScale: how a value becomes a colour. The fragment shader and the painter implement the same function.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace locus::figure {

enum class Transfer { kLinear, kLog, kGamma };

inline constexpr std::uint32_t kDefaultMask = 0xD0D0D0FF;

// t = clamp((v − low)/(high − low)), then by transfer: linear t; gamma t^gamma; log: (ln v − ln low)/(ln high − ln
// low), v ≤ 0 → 0. NaN is drawn in mask_color; the default
// follows the theme (Style::mask).
struct ColorScale {
  std::string colormap = "viridis";  // a name in colormaps()
  float low = 0;
  float high = 1;
  Transfer transfer = Transfer::kLinear;
  float gamma = 1;
  std::uint32_t mask_color = kDefaultMask;  // RRGGBBAA

  friend bool operator==(const ColorScale&, const ColorScale&) = default;
};

// t in [0, 1], or NaN for NaN.
float normalised(const ColorScale& scale, float value);

}  // namespace locus::figure
