#include "app/views/shared/score_maps/map_metrics.h"

#include <cmath>

#include "core/base/numbers.h"

namespace locus::views {

namespace {

constexpr int kDigits = 3;

double mass(float value) {
  return std::isfinite(value) && value > 0 ? static_cast<double>(value) : 0;
}

// p·log2(p/m), 0 where there is no p.
double part(double p, double m) {
  return p > 0 ? p * std::log2(p / m) : 0;
}

std::optional<double> jensen_shannon(const Field& a, const Field& b, std::int64_t row) {
  double sum_a = 0;
  double sum_b = 0;
  for (std::int64_t c = 0; c < a.columns; ++c) {
    sum_a += mass(a.at(row, c));
    sum_b += mass(b.at(row, c));
  }
  if (!(sum_a > 0) || !(sum_b > 0)) {
    return std::nullopt;
  }
  double bits = 0;
  for (std::int64_t c = 0; c < a.columns; ++c) {
    const double p = mass(a.at(row, c)) / sum_a;
    const double q = mass(b.at(row, c)) / sum_b;
    const double m = (p + q) / 2;
    bits += (part(p, m) + part(q, m)) / 2;
  }
  return bits;
}

}  // namespace

MapMetrics map_metrics(const Field& a, const Field& b, Range rows, bool weights) {
  double absolute = 0;
  std::int64_t cells = 0;
  double bits = 0;
  std::int64_t compared = 0;
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    for (std::int64_t c = 0; c < a.columns; ++c) {
      const auto of = [&](const Field& own, const Field& other) {
        const bool zero = weights && std::isnan(own.at(r, c)) && !std::isnan(other.at(r, c));
        return zero ? 0.0 : static_cast<double>(own.at(r, c));
      };
      const double off = std::abs(of(a, b) - of(b, a));
      if (std::isfinite(off)) {
        absolute += off;
        ++cells;
      }
    }
    if (const auto row = jensen_shannon(a, b, r)) {
      bits += *row;
      ++compared;
    }
  }
  MapMetrics metrics;
  metrics.mean_absolute = cells > 0 ? absolute / static_cast<double>(cells) : 0;
  if (compared > 0) {
    metrics.jensen_shannon = bits / static_cast<double>(compared);
  }
  return metrics;
}

std::string metrics_text(const MapMetrics& metrics, bool shares) {
  std::string text = "mean |Δ| " + general_text(metrics.mean_absolute, kDigits);
  if (shares && metrics.jensen_shannon) {
    text += ", JS " + general_text(*metrics.jensen_shannon, kDigits) + " bit";
  }
  return text;
}

}  // namespace locus::views
