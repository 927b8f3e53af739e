// Curves that a text or an atlas measured, beside the kernel of a head.
#pragma once

#include <string>
#include <vector>

#include "app/views/shared/plots/series.h"
#include "models/api/analyses.h"
#include "renderers/figure/figure.h"

namespace locus::views {

// analysis::explained_by_kernel() of a profile in bins, with the kernel's mean over the distances of each bin.
struct Explained {
  double share = 0;  // R²; NaN where nothing varies
  double shift = 0;  // the constant by which the profile lies above
};
Explained kernel_explains(const std::vector<double>& kernel, const analysis::DistanceProfile& measured);

// "name, R² 0.93": the profile less that constant, dashed; `logarithmic` axes have no distance 0.
figure::Curve measured_curve(const std::string& name, const Explained& by, const analysis::DistanceProfile& measured,
                             bool logarithmic, Extent& extent);
// The kernel with a band of its spread, where there is one.
figure::Curve kernel_curve(const std::vector<double>& mean, const std::vector<double>& spread, bool logarithmic,
                           Extent& extent);

}  // namespace locus::views
