#include "renderers/figure/hatch.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>

namespace locus::figure {

namespace {

constexpr double kPeriod = 0.55;  // in text sizes
constexpr double kShade = 0.3;    // of the foreground in the colour of the lines
constexpr int kSteps = 10;        // of a period, in which hidden cells are told from others

// The parts of the lines through a rectangle at whose points `hidden` holds.
std::vector<LineMark> lines_over(const Rect& area, const Hatch& hatch,
                                 const std::function<bool(double x, double y)>& hidden) {
  std::vector<LineMark> lines;
  if (!(hatch.period > 0) || area.empty()) {
    return lines;
  }
  const double step = hatch.period / kSteps;
  const auto first = static_cast<std::int64_t>(std::ceil((area.x + area.y) / hatch.period));
  const auto last = static_cast<std::int64_t>(std::floor((area.right() + area.bottom()) / hatch.period));
  for (std::int64_t n = first; n <= last; ++n) {
    const double sum = static_cast<double>(n) * hatch.period;
    const double from = std::max(area.x, sum - area.bottom());
    const double to = std::min(area.right(), sum - area.y);
    double begin = 0;
    bool drawing = false;
    const auto end_at = [&](double x) {
      if (drawing && x - begin > step / 2) {
        lines.push_back({{{begin, sum - begin}, {x, sum - x}}, hatch.color, hatch.width, 0});
      }
      drawing = false;
    };
    for (double x = from + step / 2; x < to; x += step) {
      if (!hidden(x, sum - x)) {
        end_at(x - step / 2);
      } else if (!drawing) {
        begin = x - step / 2;
        drawing = true;
      }
    }
    end_at(to);
  }
  return lines;
}

}  // namespace

Hatch hatch_of(Color mask, const Style& style) {
  if ((mask & 0xFF) == 0) {
    return {};
  }
  Color color = mask & 0xFF;
  for (const int shift : {24, 16, 8}) {
    const double own = mask >> shift & 0xFF;
    const double mixed = own + kShade * (static_cast<double>(style.foreground >> shift & 0xFF) - own);
    color |= static_cast<Color>(std::lround(mixed)) << shift;
  }
  return {color, std::max(style.aligned(kPeriod * style.text_size), 3 * style.pixel), style.line()};
}

bool PixelHatch::on_line(double x, double y) const {
  const double along = x + y + width / 2;
  return width > 0 && along - period * std::floor(along / period) < width;
}

PixelHatch pixel_hatch(const Hatch& hatch, double pixels_per_unit) {
  constexpr double kDiagonal = 1.41421356;  // of a line's width along an axis
  if (!(hatch.period > 0)) {
    return {};
  }
  return {std::max(3.0, std::round(hatch.period * pixels_per_unit)),
          kDiagonal * std::max(1.0, hatch.width * pixels_per_unit)};
}

std::vector<LineMark> hatch_lines(const Rect& area, const Hatch& hatch) {
  return lines_over(area, hatch, [](double, double) { return true; });
}

std::vector<LineMark> hatch_lines(const MapMark& map, const Rect& area) {
  const Field& field = *map.field;
  const Rect whole{std::min(map.x_begin, map.x_end), std::min(map.y_begin, map.y_end),
                   std::abs(map.x_end - map.x_begin), std::abs(map.y_end - map.y_begin)};
  const double columns = static_cast<double>(field.columns) / (map.x_end - map.x_begin);
  const double rows = static_cast<double>(field.rows) / (map.y_end - map.y_begin);
  const auto cell = [](double place, std::int64_t count) {
    return std::clamp(static_cast<std::int64_t>(std::floor(place)), std::int64_t{0}, count - 1);
  };
  return lines_over(whole.intersected(area), map.hatch, [&](double x, double y) {
    return std::isnan(
        field.at(cell((y - map.y_begin) * rows, field.rows), cell((x - map.x_begin) * columns, field.columns)));
  });
}

}  // namespace locus::figure
