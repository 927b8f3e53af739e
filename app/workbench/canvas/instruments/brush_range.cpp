#include "app/workbench/canvas/instruments/brush_range.h"

#include <algorithm>
#include <cmath>

#include "core/base/numbers.h"

namespace locus::workbench {

namespace {

constexpr double kRailDecades = 6;  // of one that moves by factors and ends at 0
constexpr double kRailStep = 0.01;

bool is_whole(const views::Control& control) {
  return control.kind == views::Control::Kind::kWhole;
}

bool is_number(const views::Control& control) {
  return is_whole(control) || control.kind == views::Control::Kind::kNumber;
}

// Where a rail that moves by factors begins: its lowest value when that is positive.
double first_of(const views::Control& control) {
  const double least = is_whole(control) ? 1 : control.high * std::pow(10, -kRailDecades);
  return control.low > 0 ? control.low : least;
}

SettingValue typed(const views::Control& control, double value) {
  return is_whole(control) ? SettingValue(static_cast<std::int64_t>(std::llround(value))) : SettingValue(value);
}

std::string text_of(const views::Control& control, double value) {
  if (value <= control.low && !control.lowest.empty()) {
    return control.lowest;
  }
  return is_whole(control) ? std::to_string(std::llround(value)) : number_text(value);
}

std::vector<std::pair<std::string, SettingValue>> set_end(const Rail& rail, const Settings& options, bool low_end,
                                                          double value) {
  const views::Control& own = low_end && rail.low != nullptr ? *rail.low : *rail.high;
  std::vector<std::pair<std::string, SettingValue>> changes{{own.name, typed(own, value)}};
  const views::Control* other = low_end ? rail.high : rail.low;
  if (other != nullptr && other != &own) {
    const double there = number_of(*other, options);
    if (low_end ? there < value : there > value) {
      changes.emplace_back(other->name, typed(*other, std::clamp(value, other->low, other->high)));
    }
  }
  return changes;
}

}  // namespace

double number_of(const views::Control& control, const Settings& options) {
  const auto found = options.values().find(control.name);
  const SettingValue& value = found == options.values().end() ? control.fallback : found->second;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) {
    return static_cast<double>(*whole);
  }
  const auto* number = std::get_if<double>(&value);
  return number != nullptr ? *number : control.low;
}

double share_of(const views::Control& control, double value) {
  const double share = !control.logarithmic   ? (value - control.low) / (control.high - control.low)
                       : value <= control.low ? 0
                                              : std::log(std::max(value, first_of(control)) / first_of(control)) /
                                                    std::log(control.high / first_of(control));
  return std::clamp(share, 0.0, 1.0);
}

double value_at(const views::Control& control, double share) {
  const double part = std::clamp(share, 0.0, 1.0);
  double value = control.low + part * (control.high - control.low);
  if (control.logarithmic) {
    value = part <= 0 ? control.low : first_of(control) * std::pow(control.high / first_of(control), part);
  }
  return is_whole(control) ? std::round(value) : value;
}

std::vector<Rail> rails_of(const views::ViewInfo& info) {
  const auto control = [&](const std::string& name) -> const views::Control* {
    const auto found = std::ranges::find_if(info.controls, [&](const auto& each) { return each.name == name; });
    return found == info.controls.end() ? nullptr : &*found;
  };
  const auto number = [&](const std::string& name) {
    const views::Control* const found = control(name);
    return found == nullptr || !is_number(*found) ? nullptr : found;
  };
  std::vector<Rail> rails;
  for (const views::RangeBrush& brush : info.brushes) {
    Rail rail{brush.label, number(brush.low), number(brush.high), control(brush.unit)};
    if (rail.high != nullptr) {
      rails.push_back(rail);
    }
  }
  return rails;
}

std::string words_of(const Rail& rail, const Settings& options) {
  const std::string high = text_of(*rail.high, number_of(*rail.high, options));
  const std::string words =
      rail.label + " " +
      (rail.low == nullptr ? high : text_of(*rail.low, number_of(*rail.low, options)) + " to " + high);
  if (rail.unit == nullptr) {
    return words;
  }
  const auto found = options.values().find(rail.unit->name);
  const auto* const unit =
      std::get_if<std::string>(found == options.values().end() ? &rail.unit->fallback : &found->second);
  return unit == nullptr ? words : words + " " + (*unit == "percent" ? "%" : *unit);
}

bool takes_low_end(const Rail& rail, const Settings& options, double share) {
  if (rail.low == nullptr) {
    return false;
  }
  const double low = share_of(*rail.low, number_of(*rail.low, options));
  const double high = share_of(*rail.high, number_of(*rail.high, options));
  return low == high ? share < low : std::abs(share - low) < std::abs(share - high);
}

std::vector<std::pair<std::string, SettingValue>> pulled_to(const Rail& rail, const Settings& options, bool low_end,
                                                            double share) {
  const views::Control& own = low_end && rail.low != nullptr ? *rail.low : *rail.high;
  return set_end(rail, options, low_end, value_at(own, share));
}

std::vector<std::pair<std::string, SettingValue>> stepped(const Rail& rail, const Settings& options, bool low_end,
                                                          int steps) {
  const views::Control& own = low_end && rail.low != nullptr ? *rail.low : *rail.high;
  const double now = number_of(own, options);
  double next = value_at(own, share_of(own, now) + kRailStep * steps);
  if (is_whole(own) && std::abs(next - now) < 1) {
    next = std::clamp(now + (steps > 0 ? 1 : -1), own.low, own.high);
  }
  return set_end(rail, options, low_end, next);
}

}  // namespace locus::workbench
