// Figures and tables of near minus far scores for `distance-bias`: histograms, and every head's μ and σ.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/views/shared/view.h"
#include "models/api/analyses.h"

namespace locus::views {

using BiasPointer = std::shared_ptr<const analysis::DistanceBias>;

struct BiasBins {
  std::vector<double> edges;    // count + 1
  std::vector<double> heights;  // pairs, or their density: the share of all pairs by the width of the bin
};

// One per column: over the range of all of them in bins of one width, of which `count` cover the narrowest one (at most
// 4·count in all), or `count` each over its `own` range.
std::vector<BiasBins> bias_histograms(const std::vector<BiasPointer>& list, std::int64_t count, bool own, bool density);

// "μ 4.12 [4.05, 4.20], σ 0.853, μ/σ 4.83, P(>0) 1.00"
std::string bias_line(const analysis::DistanceBias& bias);

// μ as a dot and μ ± σ as a line for every head, "0.0", "0.1", … "3.3"; a list of all heads a column, layer by layer.
figure::Panel bias_strip(const ViewInput& input, const std::vector<std::vector<BiasPointer>>& columns);

// One row per head: layer, head, and μ and σ of every column.
Data bias_table(const ViewInput& input, const std::vector<std::vector<BiasPointer>>& columns);

}  // namespace locus::views
