#include "app/workbench/canvas/instruments/bar_scale.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/views/shared/plots/series.h"
#include "core/base/numbers.h"

namespace locus::workbench {

namespace {

constexpr std::size_t kSampled = 32768;  // values of a histogram
constexpr double kSmallestOut = 0.05;    // percent of the values, the first turn of the wheel
constexpr double kLargestOut = 50;
constexpr double kOutStep = 1.6;  // a turn
constexpr double kGammaStep = 1.12;
constexpr float kSmallestSpan = 1e-6F;  // of the range, of its larger end

double untransferred(const figure::ColorScale& scale, double share, double low, double high) {
  switch (scale.transfer) {
    case figure::Transfer::kLog:
      return low > 0 && high > low ? low * std::pow(high / low, share) : low + share * (high - low);
    case figure::Transfer::kGamma: {
      const double gamma = scale.gamma > 0 ? static_cast<double>(scale.gamma) : 1;
      return low + std::copysign(std::pow(std::abs(share), 1 / gamma), share) * (high - low);
    }
    case figure::Transfer::kLinear:
      break;
  }
  return low + share * (high - low);
}

// To a thousandth of the bar, of a logarithmic one to three digits: no hand aims at more, and more is not read.
float rounded(float value, const figure::ColorScale& scale) {
  const double of = scale.transfer == figure::Transfer::kLog
                        ? std::abs(static_cast<double>(value))
                        : std::abs(static_cast<double>(scale.high) - static_cast<double>(scale.low));
  if (!(of > 0) || !std::isfinite(value)) {
    return value;
  }
  const double step = std::pow(10, std::floor(std::log10(of)) - (scale.transfer == figure::Transfer::kLog ? 2 : 3));
  return static_cast<float>(std::round(static_cast<double>(value) / step) * step);
}

}  // namespace

float value_at(const figure::ColorScale& scale, double share) {
  if (!scale.centred) {
    return static_cast<float>(
        untransferred(scale, share, static_cast<double>(scale.low), static_cast<double>(scale.high)));
  }
  const figure::Magnitudes ends = figure::magnitudes(scale);
  const double part = 2 * share - 1;
  const double size =
      untransferred(scale, std::abs(part), static_cast<double>(ends.least), static_cast<double>(ends.largest));
  return static_cast<float>(std::copysign(size, part));
}

views::ScaleOptions pulled(views::ScaleOptions options, const figure::ColorScale& scale, BarEnd end, double share) {
  const float value = rounded(value_at(scale, share), scale);
  if (!std::isfinite(value)) {
    return options;
  }
  if (scale.centred) {
    const float size = std::max(std::abs(value), std::abs(scale.high) * kSmallestSpan);
    options.high = size;
    if (scale.transfer != figure::Transfer::kLog) {
      options.low = -size;
    }
    return options;
  }
  const float least = std::max({std::abs(scale.low), std::abs(scale.high), 1e-30F}) * kSmallestSpan;
  if (end == BarEnd::kLow) {
    options.low = std::min(value, scale.high - least);
    options.high = options.high.value_or(scale.high);
  } else {
    options.high = std::max(value, scale.low + least);
    options.low = options.low.value_or(scale.low);
  }
  return options;
}

views::ScaleOptions turned(views::ScaleOptions options, double turns) {
  if (options.transfer == figure::Transfer::kGamma) {
    options.gamma = std::clamp(options.gamma * static_cast<float>(std::pow(kGammaStep, turns)), 0.1F, 5.0F);
    return options;
  }
  const double out = 100 - options.percentile;
  const double start = out > 0 ? out : kSmallestOut / kOutStep;
  const double next = start * std::pow(kOutStep, turns);
  options.percentile = next < kSmallestOut * 0.99 ? 100 : 100 - std::min(next, kLargestOut);
  options.low.reset();
  options.high.reset();
  return options;
}

views::ScaleOptions automatic(views::ScaleOptions options) {
  const views::ScaleOptions fresh;
  options.low.reset();
  options.high.reset();
  options.percentile = fresh.percentile;
  options.gamma = fresh.gamma;
  return options;
}

std::string words_of(const figure::ColorScale& scale) {
  const std::string transfer = scale.transfer == figure::Transfer::kLog ? ", logarithmic"
                               : scale.transfer == figure::Transfer::kGamma
                                   ? ", gamma " + fixed_text(static_cast<double>(scale.gamma), 2)
                                   : std::string();
  return scale.colormap + ", " + views::short_number(static_cast<double>(scale.low)) + " to " +
         views::short_number(static_cast<double>(scale.high)) + transfer + (scale.automatic ? " (auto)" : "");
}

std::vector<float> histogram_of(const Field& field, const figure::ColorScale& scale, int bins) {
  std::vector<float> counts(static_cast<std::size_t>(bins), 0.0F);
  // An odd step, so that rows of an even length are not sampled in the same columns.
  const std::size_t step = std::max<std::size_t>(1, field.values.size() / kSampled) | std::size_t{1};
  for (std::size_t n = 0; n < field.values.size(); n += step) {
    const float t = figure::normalised(scale, field.values[n]);
    if (!std::isnan(t)) {
      const int bin = std::clamp(static_cast<int>(t * static_cast<float>(bins)), 0, bins - 1);
      counts[static_cast<std::size_t>(bin)] += 1;
    }
  }
  const float most = *std::max_element(counts.begin(), counts.end());
  if (most <= 0) {
    return {};
  }
  for (float& count : counts) {
    count = std::sqrt(count / most);  // a few values beside very many are still seen
  }
  return counts;
}

}  // namespace locus::workbench
