#include "renderers/figure/color_scale.h"

#include <algorithm>
#include <cmath>

#include "core/base/numbers.h"

namespace locus::figure {

namespace {

// Where a value lies between two bounds, 0 to 1, after the transfer; an empty range is its low end.
float share(const ColorScale& scale, float low, float high, float value) {
  if (scale.transfer == Transfer::kLog) {
    if (value <= 0) {
      return 0;
    }
    const float from = std::log(std::max(low, 1e-30F));
    const float to = std::log(std::max(high, 1e-30F));
    return to > from ? std::clamp((std::log(value) - from) / (to - from), 0.0F, 1.0F) : 0;
  }
  const float t = high > low ? std::clamp((value - low) / (high - low), 0.0F, 1.0F) : 0;
  return scale.transfer == Transfer::kGamma ? std::pow(t, scale.gamma) : t;
}

}  // namespace

Magnitudes magnitudes(const ColorScale& scale) {
  const float largest = std::max(std::abs(scale.low), std::abs(scale.high));
  if (scale.transfer != Transfer::kLog) {
    return {0, largest};
  }
  return {scale.low > 0 ? scale.low : largest * kLogReach, largest};
}

std::string automatic_words(const ColorScale& scale) {
  constexpr int kDigits = 2;
  if (!scale.automatic || scale.transfer == Transfer::kLinear) {
    return {};
  }
  return scale.transfer == Transfer::kLog
             ? ", log scale (auto)"
             : ", gamma " + general_text(static_cast<double>(scale.gamma), kDigits) + " (auto)";
}

float normalised(const ColorScale& scale, float value) {
  if (std::isnan(value)) {
    return value;
  }
  if (!scale.centred) {
    return share(scale, scale.low, scale.high, value);
  }
  const Magnitudes bounds = magnitudes(scale);
  const float half = share(scale, bounds.least, bounds.largest, std::abs(value)) / 2;
  return value < 0 ? 0.5F - half : 0.5F + half;
}

}  // namespace locus::figure
