#include "renderers/figure/colormap.h"

#include <algorithm>
#include <cmath>

#include "renderers/figure/colormap_tables.h"

namespace locus::figure {
namespace {

std::array<std::uint32_t, 256> gray() {
  std::array<std::uint32_t, 256> colors{};
  for (std::uint32_t n = 0; n < 256; ++n) {
    colors[n] = n << 16 | n << 8 | n;
  }
  return colors;
}

double channel(std::uint32_t color, int shift) {
  return static_cast<double>(color >> shift & 0xFF);
}

double linear_light(double channel_255) {
  const double c = channel_255 / 255;
  return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
}

}  // namespace

const std::vector<Colormap>& colormaps() {
  static const std::vector<Colormap> kMaps = {
      {"viridis", false, kViridis}, {"magma", false, kMagma}, {"cividis", false, kCividis},
      {"gray", false, gray()},      {"vik", true, kVik},      {"RdBu", true, kRdBu},
  };
  return kMaps;
}

std::size_t colormap_index(std::string_view name) {
  const auto& maps = colormaps();
  const auto found = std::find_if(maps.begin(), maps.end(), [&](const Colormap& map) { return map.name == name; });
  return found == maps.end() ? 0 : static_cast<std::size_t>(found - maps.begin());
}

Color color_at(const Colormap& map, float t) {
  const float place = std::clamp(t, 0.0F, 1.0F) * 255;
  const auto below = std::min(static_cast<std::size_t>(place), std::size_t{254});
  const float fraction = place - static_cast<float>(below);
  Color color = 0;
  for (int shift = 16; shift >= 0; shift -= 8) {
    const double low = channel(map.colors[below], shift);
    const double high = channel(map.colors[below + 1], shift);
    color = color << 8 | static_cast<Color>(std::lround(low + (high - low) * static_cast<double>(fraction)));
  }
  return color << 8 | 0xFF;
}

Color color_of(const ColorScale& scale, float value) {
  const float t = normalised(scale, value);
  return std::isnan(t) ? scale.mask_color : color_at(colormaps()[colormap_index(scale.colormap)], t);
}

Color tint_of(const ColorScale& scale, float value, Color ground, Color full) {
  const float t = normalised(scale, value);
  if (std::isnan(t)) {
    return scale.mask_color;
  }
  const Colormap& map = colormaps()[colormap_index(scale.colormap)];
  const float strength = map.diverging ? std::abs(2 * t - 1) : t;
  return blended(faded(map.diverging ? color_at(map, t) : full, static_cast<double>(strength)), ground);
}

Color faded(Color color, double opacity) {
  const double alpha = channel(color, 0) * std::clamp(opacity, 0.0, 1.0);
  return (color & 0xFFFFFF00U) | static_cast<Color>(std::lround(alpha));
}

Color blended(Color over, Color background) {
  const double alpha = channel(over, 0) / 255;
  Color color = 0;
  for (int shift = 24; shift >= 8; shift -= 8) {
    const double mixed = channel(over, shift) * alpha + channel(background, shift) * (1 - alpha);
    color = color << 8 | static_cast<Color>(std::lround(mixed));
  }
  return color << 8 | 0xFF;
}

bool is_light(Color color) {
  const double luminance = 0.2126 * linear_light(channel(color, 24)) + 0.7152 * linear_light(channel(color, 16)) +
                           0.0722 * linear_light(channel(color, 8));
  return luminance > 0.179;
}

}  // namespace locus::figure
