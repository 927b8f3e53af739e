#include "renderers/figure/color_scale.h"

#include <algorithm>
#include <cmath>

namespace locus::figure {

float normalised(const ColorScale& scale, float value) {
  if (std::isnan(value)) {
    return value;
  }
  if (scale.transfer == Transfer::kLog) {
    if (value <= 0) {
      return 0;
    }
    const float low = std::log(std::max(scale.low, 1e-30F));
    const float high = std::log(std::max(scale.high, 1e-30F));
    return high > low ? std::clamp((std::log(value) - low) / (high - low), 0.0F, 1.0F) : 0;
  }
  const float t = scale.high > scale.low ? std::clamp((value - scale.low) / (scale.high - scale.low), 0.0F, 1.0F) : 0;
  return scale.transfer == Transfer::kGamma ? std::pow(t, scale.gamma) : t;
}

}  // namespace locus::figure
