#include "app/views/curves/bias_drawing.h"

#include <algorithm>
#include <cmath>

#include "app/views/shared/plots/series.h"
#include "core/base/numbers.h"

namespace locus::views {

namespace {

constexpr double kFiner = 4;  // times as many bins at most where one histogram is narrower than all of them together

figure::Interval range_of(const std::vector<BiasPointer>& list) {
  Extent extent;
  for (const BiasPointer& each : list) {
    extent.add({each->differences.begin(), each->differences.end()});
  }
  return extent.padded(0);
}

double width_of(const figure::Interval& range) {
  return std::max(range.high - range.low, 1e-12);
}

BiasBins bins_of(const figure::Interval& range, double width, const analysis::DistanceBias& bias, bool density) {
  const auto count = std::max<std::int64_t>(1, std::llround(std::ceil(width_of(range) / width - 1e-9)));
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
  const figure::Interval common = range_of(list);
  double width = width_of(common);
  for (const BiasPointer& bias : list) {
    width = std::min(width, width_of(range_of({bias})));
  }
  width = std::max(width, width_of(common) / kFiner) / static_cast<double>(count);
  std::vector<BiasBins> all;
  all.reserve(list.size());
  for (const BiasPointer& bias : list) {
    const figure::Interval range = own ? range_of({bias}) : common;
    all.push_back(bins_of(range, own ? width_of(range) / static_cast<double>(count) : width, *bias, density));
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
  std::size_t pairs = 0;
  Extent extent;
  for (std::size_t n = 0; n < columns.size(); ++n) {
    const std::int64_t heads = input.columns[n].trace->model().heads;
    figure::Curve curve;
    for (std::size_t head = 0; head < columns[n].size(); ++head) {
      const analysis::DistanceBias& bias = *columns[n][head];
      const double middle = bar_middle(head, n, columns.size());
      pairs = std::max(pairs, bias.differences.size());
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
  panel.note = std::to_string(pairs) + " pairs of each head";
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
