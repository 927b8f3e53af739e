#include "app/views/curves/length_differences.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "app/views/curves/task_groups.h"
#include "app/views/shared/plots/series.h"
#include "app/views/shared/plots/trained_length.h"
#include "core/base/numbers.h"

namespace locus::views {

namespace {

// The stretches of one training's columns at a length, in bits: the mean of its seeds. Empty where a length is not
// taken.
std::vector<analysis::Part> stretches_of(const LengthCurves& list, const std::vector<std::size_t>& group,
                                         std::int64_t length) {
  std::vector<analysis::Part> mean;
  for (const std::size_t n : group) {
    const models::LengthPoint* const point = find_point(*list[n], length);
    if (point == nullptr || point->scored_bytes == 0 || (!mean.empty() && mean.size() != point->stretches.size())) {
      return {};
    }
    mean.resize(point->stretches.size());
    for (std::size_t k = 0; k < mean.size(); ++k) {
      mean[k].sum += point->stretches[k].sum / std::numbers::ln2 / static_cast<double>(group.size());
      mean[k].count += point->stretches[k].count / static_cast<double>(group.size());
    }
  }
  return mean;
}

// Bits per byte of a training less those of the first, by length, with the 95 % interval.
figure::Curve difference_curve(const ViewInput& input, const LengthCurves& list, const std::vector<std::size_t>& group,
                               const std::vector<std::size_t>& first) {
  figure::Curve curve;
  curve.name = input.columns[group.front()].name;
  for (const models::LengthPoint& point : *list[group.front()]) {
    const analysis::Difference found = length_difference(list, group, first, point.length);
    curve.x.push_back(static_cast<double>(point.length));
    curve.y.push_back(found.value);
    curve.low.push_back(found.low);
    curve.high.push_back(found.high);
  }
  return curve;
}

}  // namespace

std::size_t cached_bytes(const LengthPoints& points) {
  std::size_t bytes = sizeof points;
  for (const models::LengthPoint& point : points) {
    bytes += sizeof point + sizeof(analysis::Part) * point.stretches.size();
  }
  return bytes;
}

void add_text(const std::vector<models::LengthPoint>& text, LengthPoints& points) {
  if (points.empty()) {
    points.assign(text.begin(), text.end());
    return;
  }
  for (std::size_t n = 0; n < points.size(); ++n) {
    models::LengthPoint& point = points[n];
    if (point.scored == 0 || text[n].scored == 0) {
      const std::int64_t length = point.length;
      point = models::LengthPoint();
      point.length = length;
      continue;
    }
    point.stretches.insert(point.stretches.end(), text[n].stretches.begin(), text[n].stretches.end());
    point.scored += text[n].scored;
    point.scored_bytes += text[n].scored_bytes;
    const double nats = std::accumulate(point.stretches.begin(), point.stretches.end(), 0.0,
                                        [](double sum, const analysis::Part& part) { return sum + part.sum; });
    point.perplexity = std::exp(nats / static_cast<double>(point.scored));
    point.bits_per_byte =
        point.scored_bytes > 0 ? nats / (std::numbers::ln2 * static_cast<double>(point.scored_bytes)) : kNaN;
  }
}

const models::LengthPoint* find_point(const LengthPoints& points, std::int64_t length) {
  const auto found =
      std::find_if(points.begin(), points.end(), [&](const auto& each) { return each.length == length; });
  return found == points.end() ? nullptr : &*found;
}

analysis::Difference length_difference(const LengthCurves& list, const std::vector<std::size_t>& group,
                                       const std::vector<std::size_t>& first, std::int64_t length) {
  return paired_difference(stretches_of(list, group, length), stretches_of(list, first, length));
}

std::optional<figure::Panel> difference_panel(const ViewInput& input, const LengthCurves& list,
                                              const figure::Axis& lengths) {
  const std::vector<std::vector<std::size_t>> groups = columns_by_training(input.columns);
  const std::int64_t shortest = list.front()->front().length;
  figure::Panel panel;
  Extent y;
  for (const std::vector<std::size_t>& group : groups) {  // the first is the line at 0, in its own colour
    figure::Curve curve = difference_curve(input, list, group, groups.front());
    tell_apart(panel.layers.size(), curve);
    y.add(curve.y);
    y.add(curve.low);
    y.add(curve.high);
    panel.layers.emplace_back(std::move(curve));
  }
  if (groups.size() < 2 || y.empty()) {
    return std::nullopt;
  }
  panel.x = lengths;
  panel.y.label = "bits per byte more than " + input.columns.front().name;
  panel.y.view = y.padded(0.1);
  const std::size_t stretches = stretches_of(list, groups.front(), shortest).size();
  panel.note = stretches > 1 ? "bands: 95 % over " + std::to_string(stretches) + " stretches of the text, pair by pair"
                             : "a text this short has no interval";
  mark_trained_distance(input.columns, panel);
  return panel;
}

}  // namespace locus::views
