#include "app/views/curves/bias_drawing.h"

#include <algorithm>
#include <cmath>

#include "app/views/shared/plots/series.h"
#include "core/base/numbers.h"

namespace locus::views {

namespace {

BiasBins bins_of(const std::vector<BiasPointer>& of_range, const analysis::DistanceBias& bias, std::int64_t count,
                 bool density) {
  Extent extent;
  for (const BiasPointer& each : of_range) {
    extent.add({each->differences.begin(), each->differences.end()});
  }
  const figure::Interval range = extent.padded(0);
  const double width = std::max(range.high - range.low, 1e-12) / static_cast<double>(count);
  BiasBins bins;
  for (std::int64_t n = 0; n <= count; ++n) {
    bins.edges.push_back(range.low + width * static_cast<double>(n));
  }
  bins.heights.resize(static_cast<std::size_t>(count), 0.0);
  const double each = density ? 1 / (width * static_cast<double>(bias.differences.size())) : 1;
  for (const float value : bias.differences) {
    const auto bin = static_cast<std::int64_t>((static_cast<double>(value) - range.low) / width);
    bins.heights[static_cast<std::size_t>(std::clamp<std::int64_t>(bin, 0, count - 1))] += each;
  }
  return bins;
}

}  // namespace

std::vector<BiasBins> bias_histograms(const std::vector<BiasPointer>& list, std::int64_t count, bool own,
                                      bool density) {
  std::vector<BiasBins> all;
  all.reserve(list.size());
  for (const BiasPointer& bias : list) {
    all.push_back(bins_of(own ? std::vector{bias} : list, *bias, count, density));
  }
  return all;
}

std::string bias_line(const analysis::DistanceBias& bias) {
  std::string line = "μ " + short_number(bias.mean);
  if (bias.interval) {
    line += " [" + short_number(bias.interval->first) + ", " + short_number(bias.interval->second) + "]";
  }
  line += ", σ " + short_number(bias.deviation);
  line += ", μ/σ " + short_number(bias.deviation > 0 ? bias.mean / bias.deviation : std::nan(""));
  return line + ", P(>0) " + short_number(bias.positive_share);
}

figure::Panel bias_strip(const ViewInput& input, const std::vector<std::vector<BiasPointer>>& columns) {
  figure::Panel panel;
  panel.title = "every head: μ, μ ± σ";
  std::vector<std::string> names;
  Extent extent;
  for (std::size_t n = 0; n < columns.size(); ++n) {
    const std::int64_t heads = input.columns[n].trace->model().heads;
    figure::Curve curve;
    for (std::size_t head = 0; head < columns[n].size(); ++head) {
      const analysis::DistanceBias& bias = *columns[n][head];
      const double middle = bar_middle(head, n, columns.size());
      // A point alone is a dot.
      curve.x.insert(curve.x.end(), {middle, middle, middle, middle, middle});
      curve.y.insert(curve.y.end(), {bias.mean, kNaN, bias.mean - bias.deviation, bias.mean + bias.deviation, kNaN});
      extent.add(bias.mean - bias.deviation);
      extent.add(bias.mean + bias.deviation);
      if (head >= names.size()) {
        names.push_back(head_name_at(head, heads));
      }
    }
    panel.layers.emplace_back(std::move(curve));
  }
  panel.layers.emplace_back(horizontal_line(0));
  panel.x = cells_across("layer.head", std::ssize(names), shared_names(names));
  panel.y.label = "Δscore";
  panel.y.view = extent.padded();
  return panel;
}

Data bias_table(const ViewInput& input, const std::vector<std::vector<BiasPointer>>& columns) {
  std::vector<Series> series{{"layer", {}}, {"head", {}}};
  for (std::size_t n = 0; n < columns.size(); ++n) {
    const auto heads = static_cast<std::size_t>(input.columns[n].trace->model().heads);
    for (std::size_t head = series[0].values.size(); head < columns[n].size(); ++head) {
      const std::size_t layer = head / heads;
      series[0].values.push_back(static_cast<double>(layer));
      series[1].values.push_back(static_cast<double>(head % heads));
    }
    const std::string& name = input.columns[n].name;
    series.push_back({name + " mean", numbers_of(columns[n], [](const BiasPointer& bias) { return bias->mean; })});
    series.push_back(
        {name + " deviation", numbers_of(columns[n], [](const BiasPointer& bias) { return bias->deviation; })});
  }
  return table_of(series);
}

}  // namespace locus::views
