#include "app/workbench/canvas/instruments/head_squares.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace locus::workbench {

std::size_t head_number(const std::string& name) {
  const auto found = std::ranges::find_if(kHeadNumbers, [&](const HeadNumber& each) { return each.name == name; });
  return found == kHeadNumbers.end() ? 0 : static_cast<std::size_t>(found - kHeadNumbers.begin());
}

std::vector<float> head_values(const HeadSurvey& survey, std::size_t number) {
  std::vector<float> values;
  values.reserve(survey.prints.size());
  for (const views::Fingerprint& each : survey.prints) {
    values.push_back(static_cast<float>(each.*kHeadNumbers[number].value));
  }
  return values;
}

std::vector<float> head_differences(const HeadSurvey& survey, const HeadSurvey& reference, std::size_t number) {
  if (survey.layers != reference.layers || survey.heads != reference.heads) {
    return {};
  }
  std::vector<float> values = head_values(survey, number);
  const std::vector<float> others = head_values(reference, number);
  std::ranges::transform(values, others, values.begin(), std::minus());
  return values;
}

figure::ColorScale scale_of_heads(const std::vector<float>& values, std::size_t number, bool difference) {
  float most = 0;
  for (const float value : values) {
    most = std::isfinite(value) ? std::max(most, std::abs(value)) : most;
  }
  figure::ColorScale scale;
  if (difference) {
    scale.colormap = "vik";
    scale.centred = true;
    scale.high = most > 0 ? most : 1;
    scale.low = -scale.high;
  } else {
    scale.high = kHeadNumbers[number].share || most <= 0 ? 1 : most;
  }
  return scale;
}

std::optional<views::HeadRef> strongest_head(const std::vector<float>& values, std::int64_t heads) {
  std::optional<std::size_t> best;
  for (std::size_t n = 0; n < values.size(); ++n) {
    if (std::isfinite(values[n]) && (!best || values[n] > values[*best])) {
      best = n;
    }
  }
  if (!best || heads < 1) {
    return std::nullopt;
  }
  const auto index = static_cast<std::int64_t>(*best);
  return views::HeadRef{index / heads, index % heads};
}

figure::Rect HeadSquares::square(std::int64_t layer, std::int64_t head) const {
  return {origin.x + side * static_cast<double>(head), origin.y + side * static_cast<double>(layer), side, side};
}

std::optional<views::HeadRef> HeadSquares::at(const figure::Point& point) const {
  const figure::Rect all{origin.x, origin.y, width(), height()};
  return all.contains(point.x, point.y) ? std::optional(nearest(point)) : std::nullopt;
}

views::HeadRef HeadSquares::nearest(const figure::Point& point) const {
  const auto cell = [this](double from, double count) {
    return std::clamp(static_cast<std::int64_t>(std::floor(from / side)), std::int64_t{0},
                      static_cast<std::int64_t>(count) - 1);
  };
  return {cell(point.y - origin.y, static_cast<double>(layers)), cell(point.x - origin.x, static_cast<double>(heads))};
}

HeadSquares squares_within(std::int64_t layers, std::int64_t heads, double width, double height, double largest) {
  HeadSquares squares;
  squares.layers = layers;
  squares.heads = heads;
  if (layers > 0 && heads > 0) {
    squares.side = std::min({width / static_cast<double>(heads), height / static_cast<double>(layers), largest});
    squares.side = squares.side >= 1 ? std::floor(squares.side) : 0;
  }
  return squares;
}

views::HeadRef moved(const views::HeadRef& head, int layers, int heads, const HeadSquares& squares) {
  return {std::clamp<std::int64_t>(head.layer + layers, 0, std::max<std::int64_t>(0, squares.layers - 1)),
          std::clamp<std::int64_t>(head.head + heads, 0, std::max<std::int64_t>(0, squares.heads - 1))};
}

}  // namespace locus::workbench
