#include "app/views/curves/kernel_curves.h"

#include <algorithm>
#include <cmath>

#include "app/views/curves/atlas_profile.h"
#include "core/base/numbers.h"
#include "models/api/kernel.h"

namespace locus::views {

Explained kernel_explains(const std::vector<double>& kernel, const analysis::DistanceProfile& measured) {
  std::vector<double> binned;
  for (std::size_t bin = 0; bin < measured.mean.size(); ++bin) {
    const auto begin = static_cast<std::size_t>(measured.edges[bin]);
    const auto end = static_cast<std::size_t>(measured.edges[bin + 1]);
    double sum = 0;
    for (std::size_t n = begin; n < std::min(end, kernel.size()); ++n) {
      sum += kernel[n];
    }
    binned.push_back(end <= kernel.size() ? sum / static_cast<double>(end - begin) : kNaN);
  }
  Explained by;
  by.share =
      analysis::explained_by_kernel(binned, measured.mean, {measured.cells.begin(), measured.cells.end()}, by.shift);
  return by;
}

figure::Curve measured_curve(const std::string& name, const Explained& by, const analysis::DistanceProfile& measured,
                             bool logarithmic, Extent& extent) {
  figure::Curve curve;
  const bool known = !std::isnan(by.share);
  curve.name =
      name + (known ? std::string(", R² ") + (by.share < 0 ? "−" : "") + fixed_text(std::abs(by.share), 3) : "");
  curve.dashed = true;
  for (std::size_t n = logarithmic ? 1 : 0; n < measured.mean.size(); ++n) {
    if (!std::isnan(measured.mean[n])) {
      curve.x.push_back(bin_middle(measured, n));
      curve.y.push_back(measured.mean[n] - by.shift);
    }
  }
  extent.add(curve.y);
  return curve;
}

figure::Curve kernel_curve(const std::vector<double>& mean, const std::vector<double>& spread, bool logarithmic,
                           Extent& extent) {
  figure::Curve curve;
  curve.name = "weights alone";
  for (std::size_t n = logarithmic ? 1 : 0; n < mean.size(); ++n) {
    curve.x.push_back(static_cast<double>(n));
    curve.y.push_back(mean[n]);
    if (!spread.empty()) {
      curve.low.push_back(mean[n] - spread[n]);
      curve.high.push_back(mean[n] + spread[n]);
    }
  }
  for (const auto* const line : {&curve.y, &curve.low, &curve.high}) {
    extent.add(*line);
  }
  return curve;
}

}  // namespace locus::views
