#include "renderers/figure/ticks.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/numbers.h"

namespace locus::figure {
namespace {

std::string superscript(int exponent) {
  static constexpr std::array<const char*, 10> kDigits = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text = exponent < 0 ? "⁻" : "";
  for (const char digit : std::to_string(std::abs(exponent))) {
    text += kDigits[static_cast<std::size_t>(digit - '0')];
  }
  return text;
}

std::string fixed(double value, int decimals) {
  const std::string digits = fixed_text(std::abs(value), decimals);
  const std::size_t point = std::min(digits.find('.'), digits.size());
  const bool grouped = point >= 5;  // four digits read well without separators
  std::string text = value < 0 ? "−" : "";
  for (std::size_t n = 0; n < digits.size(); ++n) {
    if (grouped && n > 0 && n < point && (point - n) % 3 == 0) {
      text += ',';
    }
    text += digits[n];
  }
  return text;
}

std::string scientific(double value) {
  int exponent = static_cast<int>(std::floor(std::log10(std::abs(value)) + 1e-9));
  const double mantissa = value / std::pow(10.0, exponent);
  const std::string digits = general_text(std::abs(mantissa), 3);
  const std::string sign = value < 0 ? "−" : "";
  const std::string power = std::string("10").append(superscript(exponent));
  return digits == "1" ? sign + power : sign + digits + "×" + power;
}

// The n-th of 1, 2, 5, 10, 20, 50, … times a power of ten.
double round_step(int n) {
  static constexpr std::array<double, 3> kSteps = {1, 2, 5};
  const int decade = n >= 0 ? n / 3 : -((2 - n) / 3);
  return kSteps[static_cast<std::size_t>(n - 3 * decade)] * std::pow(10.0, decade);
}

// Whether no two neighbouring labels touch, given where each is in canvas units.
bool fits(const std::vector<Tick>& ticks, const LabelRoom& room, const std::function<double(double)>& place) {
  double last_end = -1e300;
  bool first = true;
  std::vector<std::pair<double, double>> spans;
  for (const Tick& tick : ticks) {
    if (tick.label.empty()) {
      continue;
    }
    const double half = room(tick.label) / 2;
    spans.emplace_back(place(tick.at) - half, place(tick.at) + half);
  }
  std::sort(spans.begin(), spans.end());
  for (const auto& [begin, end] : spans) {
    if (!first && begin < last_end) {
      return false;
    }
    last_end = end;
    first = false;
  }
  return true;
}

std::vector<Tick> linear_ticks_of_step(double low, double high, double step, bool cells) {
  std::vector<Tick> ticks;
  const double offset = cells ? 0.5 : 0;
  const double tolerance = 1e-9 * (high - low);
  const double first = std::ceil((low - offset - tolerance) / step);
  const double count = std::floor((high - offset + tolerance) / step) - first;
  for (double k = 0; k <= count; ++k) {
    const double n = first + k;
    const double value = n == 0 ? 0 : n * step;
    if (ticks.empty() || value > ticks.back().value) {  // neighbours are one number where the axis's ends nearly are
      ticks.push_back({value, value + offset, tick_label(value, step)});
    }
  }
  return ticks;
}

std::vector<Tick> linear_ticks(const TickRequest& request, double low, double high) {
  const double span = high - low;
  const auto place = [&](double at) { return (at - low) / span * request.length; };
  // From about a label every 1 % of the axis to no more than one.
  int n = static_cast<int>(std::floor(3 * std::log10(span / 100)));
  if (request.cells || request.whole) {
    n = std::max(n, 0);
  }
  // Neighbours closer than even an empty label needs: not worth writing a hundred labels to find that they touch.
  const double least = request.room({});
  std::vector<Tick> ticks;
  for (; round_step(n) <= 10 * span || round_step(n) <= 1; ++n) {
    const double steps = span / round_step(n);
    if (steps > 1000 || (steps >= 2 && request.length / steps < least)) {
      continue;
    }
    ticks = linear_ticks_of_step(low, high, round_step(n), request.cells);
    if (fits(ticks, request.room, place)) {
      break;
    }
  }
  return ticks;
}

std::string power_label(double base, int exponent, bool plain) {
  const double value = std::pow(base, exponent);
  std::string power = "10";
  if (base != 10 && exponent < 0) {
    return general_text(value, 6);  // 0.25, not 0.2
  }
  return plain ? tick_label(value, std::min(value, 1.0)) : power.append(superscript(exponent));
}

// Powers of the base every `stride`; with `between`, 2 and 5 times each power too (base 10).
std::vector<Tick> log_ticks_of(double low, double high, double base, int stride, bool between) {
  const double slack = 1e-9;
  const int first = static_cast<int>(std::floor(std::log(low) / std::log(base) + slack));
  const int last = static_cast<int>(std::ceil(std::log(high) / std::log(base) - slack));
  const bool plain = base != 10 || (first >= -2 && last <= 4);
  std::vector<Tick> ticks;
  for (int exponent = first; exponent <= last; ++exponent) {
    const double power = std::pow(base, exponent);
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double value = factor * power;
      if ((factor != 1 && !between) || value < low * (1 - slack) || value > high * (1 + slack)) {
        continue;
      }
      if (factor == 1 && exponent % stride != 0) {
        continue;
      }
      std::string label = factor == 1 ? power_label(base, exponent, plain)
                                      : (plain ? tick_label(value, std::min(power, 1.0)) : scientific(value));
      ticks.push_back({value, value, std::move(label)});
    }
  }
  return ticks;
}

std::vector<Tick> log_ticks(const TickRequest& request, double low, double high) {
  const double span = std::log(high / low);
  const auto place = [&](double at) { return std::log(at / low) / span * request.length; };
  const double powers = span / std::log(request.log_base);
  if (request.log_base == 10 && powers < 3) {
    std::vector<Tick> ticks = log_ticks_of(low, high, 10, 1, true);
    if (ticks.size() >= 2 && fits(ticks, request.room, place)) {
      return ticks;
    }
    if (powers < 1) {  // within a decade a linear step reads better than one lonely power
      TickRequest linear = request;
      linear.logarithmic = false;
      return linear_ticks(linear, low, high);
    }
  }
  std::vector<Tick> ticks;
  for (int stride = 1; stride <= std::max(1, static_cast<int>(powers) + 1); ++stride) {
    ticks = log_ticks_of(low, high, request.log_base, stride, false);
    if (fits(ticks, request.room, place)) {
      break;
    }
  }
  return ticks;
}

}  // namespace

std::string tick_label(double value, double step) {
  if (value == 0) {
    return "0";
  }
  const double magnitude = std::abs(value);
  if (magnitude >= 1e7 || step < 0.99e-4) {
    return scientific(value);
  }
  const int decimals = std::max(0, static_cast<int>(std::ceil(-std::log10(step) - 1e-9)));
  return fixed(value, decimals);
}

std::vector<Tick> make_ticks(const TickRequest& request) {
  const double low = std::min(request.view.low, request.view.high);
  const double high = std::max(request.view.low, request.view.high);
  if (!(high > low) || !std::isfinite(low) || !std::isfinite(high) || request.length <= 0) {
    return {};
  }
  if (request.logarithmic && low > 0) {
    return log_ticks(request, low, high);
  }
  return linear_ticks(request, low, high);
}

namespace {

// The ticks of low … high along `length`, each at its share of it; what touches its lower neighbour is left out where
// the transfer spaces them unevenly.
std::vector<Tick> scale_ticks(const ColorScale& scale, double length, const LabelRoom& room) {
  TickRequest request;
  request.length = length;
  request.room = room;
  request.view = {static_cast<double>(scale.low), static_cast<double>(scale.high)};
  request.whole = scale.whole;
  if (scale.transfer == Transfer::kLog) {
    request.logarithmic = true;
    request.view.low = std::max(request.view.low, scale.whole ? 0.5 : 1e-30);
  }
  std::vector<Tick> ticks = make_ticks(request);
  if (scale.whole) {  // between the powers of a logarithmic one too
    std::erase_if(ticks, [](const Tick& tick) { return tick.value != std::round(tick.value); });
  }
  for (Tick& tick : ticks) {
    tick.at = static_cast<double>(normalised(scale, static_cast<float>(tick.value)));
  }
  if (scale.transfer == Transfer::kGamma) {
    double end = -1e300;
    std::vector<Tick> kept;
    for (Tick& tick : ticks) {
      const double half = room(tick.label) / 2;
      if (tick.at * length - half >= end) {
        end = tick.at * length + half;
        kept.push_back(std::move(tick));
      }
    }
    ticks = std::move(kept);
  }
  return ticks;
}

std::string negative(const std::string& label) {
  return "−" + label;
}

// A centred scale's: 0 in the middle, those of its magnitudes above, and their mirror images below.
std::vector<Tick> centred_ticks(const ColorScale& scale, double length, const LabelRoom& room) {
  const Magnitudes sides = magnitudes(scale);
  ColorScale half = scale;
  if (scale.transfer == Transfer::kLinear) {  // evenly spaced through 0
    half.low = -sides.largest;
    half.high = sides.largest;
    return scale_ticks(half, length, room);
  }
  half.centred = false;
  half.low = sides.least;
  half.high = sides.largest;
  std::vector<Tick> ticks;
  Tick zero;
  zero.at = 0.5;
  zero.label = tick_label(0, 1);
  for (Tick& tick : scale_ticks(half, length / 2, [&](const std::string& label) { return room(negative(label)); })) {
    const double gap = (room(zero.label) + room(tick.label)) / 2;
    if (tick.value == 0 || tick.at * length / 2 < gap) {
      continue;
    }
    Tick below = tick;
    below.value = -tick.value;
    below.at = 0.5 - tick.at / 2;
    below.label = tick.label.empty() ? "" : negative(tick.label);
    ticks.insert(ticks.begin(), below);
    tick.at = 0.5 + tick.at / 2;
    ticks.push_back(std::move(tick));
  }
  ticks.insert(ticks.begin() + static_cast<std::ptrdiff_t>(ticks.size() / 2), zero);
  return ticks;
}

}  // namespace

std::vector<Tick> color_bar_ticks(const ColorScale& scale, double length, const LabelRoom& room) {
  return scale.centred ? centred_ticks(scale, length, room) : scale_ticks(scale, length, room);
}

}  // namespace locus::figure
