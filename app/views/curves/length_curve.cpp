// `length-curve`: perplexity and bits per byte against context length.
#include <algorithm>
#include <numeric>
#include <set>

#include "app/views/curves/length_differences.h"
#include "app/views/curves/task_groups.h"
#include "app/views/shared/measured/text_folder.h"
#include "app/views/shared/plots/series.h"
#include "app/views/shared/plots/trained_length.h"
#include "app/views/shared/view.h"
#include "core/base/controls.h"
#include "core/base/numbers.h"
#include "models/api/analyses.h"

namespace locus::views {

namespace {

struct LengthCurveKey {
  std::int64_t shortest = 0;  // 0: chosen for the text
  std::int64_t longest = 0;   // 0: the text's
  std::int64_t stride = 0;
  std::string folder;  // of texts; empty: the input

  friend bool operator==(const LengthCurveKey&, const LengthCurveKey&) = default;
};

class LengthCurve final : public MeasuredView<LengthCurveKey, LengthPoints> {
 public:
  const ViewInfo& info() const override { return info_; }
  Status fits(const Column& column) const override {
    LOCUS_CHECK(View::fits(column));
    return needs_causal_text(column, info_.title);
  }

 protected:
  Result<LengthCurveKey> measure_key(const ViewInput& input, std::size_t /*column*/) const override {
    return LengthCurveKey{option<std::int64_t>(input, "shortest"), option<std::int64_t>(input, "longest"),
                          option<std::int64_t>(input, "scored"), option<std::string>(input, "texts")};
  }
  Result<LengthPoints> measure(const LengthCurveKey& key, const MeasureContext& context) const override;
  Result<figure::Figure> draw(const ViewInput& input, const Numbers& list) const override;
  Result<Data> table(const ViewInput& input, const Numbers& list) const override;

 private:
  ViewInfo info_ = described({
      .name = "length-curve",
      .caption = "How well the model predicts as it sees more and more text: lower is better.",
      .shows =
          "Perplexity and bits per byte of the whole text by the number of tokens of context. The same tokens are "
          "scored at every length, and columns are compared stretch by stretch of the text, so that a difference has "
          "an interval.",
      .needs_text = true,
      .controls =
          {choice("measure", "Measure", "What is drawn; the exported data contain both",
                  {"bits-per-byte", "perplexity", "both"}),
           toggle("differences", "Differences",
                  "Beside the curves, what each column needs more than the first, with its 95 % interval", true),
           whole("shortest", "Shortest", "Shortest length in tokens; 0: chosen for the text", 0, 0, 1 << 20, "chosen"),
           whole("longest", "Longest", "Longest length in tokens; 0: the length of the text", 0, 0, 1 << 20,
                 "the text's"),
           words("texts", "Folder of texts",
                 "A folder whose .txt files are read instead of the input, in windows alone: they may be longer "
                 "than what the model can run over at once",
                 "the input; a folder"),
           whole("scored", "Scored tokens",
                 "Number of tokens that each window scores, at its end; 0: all, in windows that do not overlap", 0, 0,
                 1 << 20, "all")},
      .brushes = {{"lengths", "shortest", "longest"}},
  });
};

// The lengths that are measured of texts that have at least so many tokens.
Result<std::vector<std::int64_t>> lengths_of(const LengthCurveKey& key, std::int64_t tokens) {
  std::vector<std::int64_t> lengths;
  const std::int64_t end = key.longest > 0 ? key.longest : tokens;
  if (key.shortest > 0) {
    for (std::int64_t length = std::max<std::int64_t>(key.shortest, 2); length <= end; length *= 2) {
      lengths.push_back(length);
    }
  } else {
    lengths = models::suggested_lengths(end);
  }
  if (key.longest > 0 && (lengths.empty() || lengths.back() < key.longest)) {
    lengths.push_back(key.longest);
  }
  if (lengths.empty()) {
    return bad_input("a text of " + std::to_string(tokens) + " tokens is too short for a curve");
  }
  return lengths;
}

Result<LengthPoints> LengthCurve::measure(const LengthCurveKey& key, const MeasureContext& context) const {
  LOCUS_TRY(const auto texts, token_lists_of(key.folder, context));
  std::size_t least = texts.front().size();
  for (const std::vector<models::TokenInfo>& text : texts) {
    least = std::min(least, text.size());
  }
  LOCUS_TRY(const std::vector<std::int64_t> lengths, lengths_of(key, static_cast<std::int64_t>(least)));
  LengthPoints points;
  for (std::size_t n = 0; n < texts.size(); ++n) {
    const Progress part = [&](const ProgressReport& news) {
      report(context.progress, (static_cast<double>(n) + news.fraction) / static_cast<double>(texts.size()), news.what);
    };
    LOCUS_TRY(const std::vector<models::LengthPoint> own,
              models::length_curve(*context.column.model, texts[n], {lengths, key.stride}, context.stop, part));
    add_text(own, points);
  }
  return points;
}

// The curve of columns that are one training with several seeds: their mean, and the least and the largest as a band.
figure::Curve curve_of(const ViewInput& input, const LengthCurves& list, const std::vector<std::size_t>& group,
                       bool perplexity) {
  figure::Curve curve;
  curve.name = input.columns[group.front()].name;
  const LengthPoints& first = *list[group.front()];
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

// `stride`: between windows; 0: they do not overlap.
figure::Panel curve_panel(const ViewInput& input, const LengthCurves& list, bool perplexity, std::int64_t stride) {
  figure::Panel panel;
  Extent x;
  Extent y;
  std::size_t seeds = 1;
  for (const std::vector<std::size_t>& group : columns_by_training(input.columns)) {
    figure::Curve own = curve_of(input, list, group, perplexity);
    tell_apart(panel.layers.size(), own);
    panel.layers.emplace_back(std::move(own));
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
  std::int64_t scored = 0;
  for (const models::LengthPoint& point : *list.front()) {
    scored = std::max(scored, point.scored);
  }
  if (scored > 0) {
    panel.note = "the same " + std::to_string(scored) + " tokens at every length, in windows " +
                 (stride > 0 ? std::to_string(stride) + " apart" : "that do not overlap");
    panel.note += seeds > 1 ? "; bands: least and largest of " + std::to_string(seeds) + " seeds" : "";
  }
  mark_trained_distance(input.columns, panel);
  return panel;
}

Result<figure::Figure> LengthCurve::draw(const ViewInput& input, const Numbers& list) const {
  const auto what = option<std::string>(input, "measure");
  const auto stride = option<std::int64_t>(input, "scored");
  figure::Figure figure;
  if (what != "bits-per-byte") {
    figure.panels.push_back(curve_panel(input, list, true, stride));
  }
  if (what != "perplexity") {
    figure.panels.push_back(curve_panel(input, list, false, stride));
  }
  if (option<bool>(input, "differences")) {
    if (auto panel = difference_panel(input, list, figure.panels.front().x)) {
      figure.panels.push_back(std::move(*panel));
    }
  }
  figure.columns = static_cast<int>(figure.panels.size());
  return figure;
}

Result<Data> LengthCurve::table(const ViewInput& input, const Numbers& list) const {
  std::set<std::int64_t> lengths;
  for (const auto& points : list) {
    for (const models::LengthPoint& point : *points) {
      lengths.insert(point.length);
    }
  }
  std::vector<Series> series{{"length", {lengths.begin(), lengths.end()}}};
  for (std::size_t n = 0; n < list.size(); ++n) {
    const std::string& name = input.columns[n].name;
    const auto at_lengths = [&](double models::LengthPoint::*value) {
      return numbers_of(lengths, [&](std::int64_t length) {
        const models::LengthPoint* const point = find_point(*list[n], length);
        return point == nullptr ? kNaN : point->*value;
      });
    };
    series.push_back({name + " perplexity", at_lengths(&models::LengthPoint::perplexity)});
    series.push_back({name + " bits per byte", at_lengths(&models::LengthPoint::bits_per_byte)});
    if (n > 0) {
      const auto differences = [&](double analysis::Difference::*value) {
        return numbers_of(lengths,
                          [&](std::int64_t length) { return length_difference(list, {n}, {0}, length).*value; });
      };
      const std::string less = name + " less " + input.columns.front().name;
      series.push_back({less, differences(&analysis::Difference::value)});
      series.push_back({less + " low", differences(&analysis::Difference::low)});
      series.push_back({less + " high", differences(&analysis::Difference::high)});
    }
  }
  return table_of(series);
}

}  // namespace

const View& length_curve_view() {
  return made_once<LengthCurve>();
}

}  // namespace locus::views
