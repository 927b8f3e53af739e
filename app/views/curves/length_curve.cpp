// `length-curve`: perplexity and bits per byte against context length.
#include <algorithm>
#include <numeric>
#include <set>

#include "app/views/curves/task_groups.h"
#include "app/views/list.h"
#include "app/views/measured/measured_view.h"
#include "app/views/plots/trained_length.h"
#include "core/base/controls.h"
#include "core/base/numbers.h"
#include "models/api/analyses.h"

namespace locus::views {

namespace {

using Points = std::vector<models::LengthPoint>;
using PointsPointer = std::shared_ptr<const Points>;

struct LengthCurveKey {
  std::vector<std::int64_t> lengths;
  std::int64_t scored = 0;
  std::int64_t windows = 0;

  friend bool operator==(const LengthCurveKey&, const LengthCurveKey&) = default;
};

class LengthCurve final : public MeasuredView<LengthCurveKey, Points> {
 public:
  const ViewInfo& info() const override { return info_; }
  Status available(const Column& column) const override {
    LOCUS_CHECK(View::available(column));
    LOCUS_CHECK(needs_model(column, info_.title));
    LOCUS_CHECK(needs_text_alone(column, info_.title));
    if (!column.trace->model().causal) {
      return unsupported("Length curve scores the next token; " + column.name + " sees both ways");
    }
    return {};
  }

 protected:
  Result<LengthCurveKey> measure_key(const ViewInput& input, std::size_t column) const override;
  Result<Points> measure(const LengthCurveKey& key, const MeasureContext& context) const override {
    return models::length_curve(*context.column.model, context.column.trace->tokens(),
                                {key.lengths, key.scored, key.windows}, context.stop, context.progress);
  }
  Result<figure::Figure> draw(const ViewInput& input, const Numbers& list) const override;
  Result<Data> table(const ViewInput& input, const Numbers& list) const override;

 private:
  ViewInfo info_{
      .name = "length-curve",
      .title = "Length curve",
      .group = Group::kMeasure,
      .caption = "How well the model predicts as it sees more and more text: lower is better.",
      .shows =
          "Perplexity and bits per byte of the text by the number of tokens of context. The same tokens are scored at "
          "every length, so that a curve shows the effect of the context alone.",
      .needs_text = true,
      .controls = {choice("measure", "Measure", "What is drawn; the exported data contain both",
                          {"bits-per-byte", "perplexity", "both"}),
                   whole("shortest", "Shortest", "Shortest length in tokens; 0: chosen for the text", 0, 0, 1 << 20,
                         "chosen"),
                   whole("longest", "Longest", "Longest length in tokens; 0: the length of the text", 0, 0, 1 << 20,
                         "the text's"),
                   whole("scored", "Scored tokens", "Number of tokens scored at the end of every window", 16, 1, 4096),
                   whole("windows", "Windows", "Number of windows, spread over the text; fewer for a short text", 16, 1,
                         1024)},
      .brushes = {{"lengths", "shortest", "longest"}},
  };
};

Result<LengthCurveKey> LengthCurve::measure_key(const ViewInput& input, std::size_t column) const {
  const std::int64_t tokens = input.columns[column].trace->length();
  LengthCurveKey options;
  options.scored = option<std::int64_t>(input, "scored");
  options.windows = option<std::int64_t>(input, "windows");
  const auto shortest = option<std::int64_t>(input, "shortest");
  const auto longest = option<std::int64_t>(input, "longest");
  const std::int64_t end = longest > 0 ? longest : tokens;
  if (shortest > 0) {
    for (std::int64_t length = std::max<std::int64_t>(shortest, 2); length <= end; length *= 2) {
      options.lengths.push_back(length);
    }
  } else {
    options.lengths = models::suggested_lengths(end);
  }
  if (longest > 0 && (options.lengths.empty() || options.lengths.back() < longest)) {
    options.lengths.push_back(longest);
  }
  if (options.lengths.empty()) {
    return bad_input("a text of " + std::to_string(tokens) + " tokens is too short for a curve");
  }
  return options;
}

// The curve of columns that are one training with several seeds: their mean, and the least and the largest as a band.
figure::Curve curve_of(const ViewInput& input, const std::vector<PointsPointer>& list,
                       const std::vector<std::size_t>& group, bool perplexity) {
  figure::Curve curve;
  curve.name = input.columns[group.front()].name;
  const Points& first = *list[group.front()];
  for (std::size_t point = 0; point < first.size(); ++point) {
    std::vector<double> values;
    for (const std::size_t n : group) {
      if (list[n]->size() == first.size()) {
        const models::LengthPoint& each = (*list[n])[point];
        values.push_back(perplexity ? each.perplexity : each.bits_per_byte);
      }
    }
    curve.x.push_back(static_cast<double>(first[point].length));
    curve.y.push_back(std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size()));
    if (group.size() > 1) {
      curve.low.push_back(*std::min_element(values.begin(), values.end()));
      curve.high.push_back(*std::max_element(values.begin(), values.end()));
    }
  }
  return curve;
}

figure::Panel curve_panel(const ViewInput& input, const std::vector<PointsPointer>& list, bool perplexity) {
  figure::Panel panel;
  Extent x;
  Extent y;
  std::size_t seeds = 1;
  for (const std::vector<std::size_t>& group : columns_by_training(input.columns)) {
    panel.layers.emplace_back(curve_of(input, list, group, perplexity));
    const auto& curve = std::get<figure::Curve>(panel.layers.back());
    seeds = std::max(seeds, group.size());
    x.add(curve.x);
    y.add(group.size() > 1 ? curve.low : curve.y);
    y.add(group.size() > 1 ? curve.high : curve.y);
  }
  const figure::Interval lengths = x.padded(0);
  panel.x.label = "context (tokens)";
  panel.x.view = {std::max(lengths.low, 1.0) / 1.1, std::max(lengths.high, 2.0) * 1.1};
  panel.x.logarithmic = true;
  panel.x.log_base = 2;
  panel.y.label = perplexity ? "perplexity" : "bits per byte";
  panel.y.view = y.padded(0.1);
  if (!list.empty() && !list[0]->empty()) {
    panel.note = "the same " + std::to_string(list[0]->front().scored) + " tokens at every length";
    panel.note += seeds > 1 ? "; bands: least and largest of " + std::to_string(seeds) + " seeds" : "";
  }
  mark_trained_distance(input.columns, panel);
  return panel;
}

Result<figure::Figure> LengthCurve::draw(const ViewInput& input, const Numbers& list) const {
  const auto what = option<std::string>(input, "measure");
  figure::Figure figure;
  if (what != "bits-per-byte") {
    figure.panels.push_back(curve_panel(input, list, true));
  }
  if (what != "perplexity") {
    figure.panels.push_back(curve_panel(input, list, false));
  }
  figure.columns = static_cast<int>(figure.panels.size());
  return figure;
}

Result<Data> LengthCurve::table(const ViewInput& input, const Numbers& list) const {
  std::set<std::int64_t> lengths;
  for (const PointsPointer& points : list) {
    for (const models::LengthPoint& point : *points) {
      lengths.insert(point.length);
    }
  }
  std::vector<Series> series{{"length", {lengths.begin(), lengths.end()}}};
  for (std::size_t n = 0; n < list.size(); ++n) {
    const auto at_lengths = [&](double models::LengthPoint::*value) {
      return numbers_of(lengths, [&](std::int64_t length) {
        const auto point = std::find_if(list[n]->begin(), list[n]->end(),
                                        [&](const models::LengthPoint& each) { return each.length == length; });
        return point == list[n]->end() ? kNaN : (*point).*value;
      });
    };
    series.push_back({input.columns[n].name + " perplexity", at_lengths(&models::LengthPoint::perplexity)});
    series.push_back({input.columns[n].name + " bits per byte", at_lengths(&models::LengthPoint::bits_per_byte)});
  }
  return table_of(series);
}

}  // namespace

const View& length_curve_view() {
  return made_once<LengthCurve>();
}

}  // namespace locus::views
