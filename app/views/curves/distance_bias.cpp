// `distance-bias`: histograms of short-range minus long-range scores.
#include "models/api/analyses.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "app/views/curves/bias_drawing.h"
#include "app/views/shared/measured/measured_view.h"
#include "app/views/shared/measured/text_folder.h"
#include "app/views/shared/score_maps/score_map.h"
#include "app/views/shared/view.h"
#include "core/base/controls.h"

namespace locus::analysis {

// The size in the cache, in bytes.
static std::size_t cached_bytes(const DistanceBias& bias) {
  return sizeof bias + views::cached_bytes(bias.differences);
}

}  // namespace locus::analysis

namespace locus::views {

namespace {

using Bias = analysis::DistanceBias;

constexpr std::int64_t kPairsOfEveryHead = 500;  // at most, of each, in the figure

// The bias of one head.
struct DistanceBiasKey {
  std::int64_t layer = 0;
  analysis::DistanceBiasOptions options;
  std::string folder;  // of texts; empty: the input

  friend bool operator==(const DistanceBiasKey&, const DistanceBiasKey&) = default;
};

class DistanceBias final : public MeasuredView<DistanceBiasKey, Bias> {
 public:
  const ViewInfo& info() const override { return info_; }

 protected:
  Result<DistanceBiasKey> measure_key(const ViewInput& input, std::size_t column) const override {
    LOCUS_TRY(const analysis::DistanceBiasOptions options, options_of(input, column));
    return DistanceBiasKey{head_of_column(input, column).layer, options, option<std::string>(input, "texts")};
  }
  Result<Bias> measure(const DistanceBiasKey& key, const MeasureContext& context) const override {
    LOCUS_TRY(const auto texts, texts_of(key.folder, context));
    return models::distance_bias(*texts, key.layer, key.options, context.stop, context.progress);
  }
  Result<figure::Figure> draw(const ViewInput& input, const Numbers& list) const override;
  Result<Data> table(const ViewInput& input, const Numbers& list) const override;

 private:
  // The bias of every head of every column, layer by layer, over at most so many pairs each.
  Result<std::vector<Numbers>> every_head(const ViewInput& input, std::int64_t most = INT64_MAX) const;
  Result<analysis::DistanceBiasOptions> options_of(const ViewInput& input, std::size_t column) const;

  ViewInfo info_ = described({
      .name = "distance-bias",
      .caption = "How much higher this head scores tokens that are near than tokens that are far.",
      .shows =
          "Δscore = s(λ) − s(Λ): the logit of a near pair of tokens minus that of a distant pair, over sampled pairs. "
          "The mean μ, the spread σ, μ/σ and the share above 0 measure how strongly a head prefers near tokens by "
          "itself.",
      .uses_layer = true,
      .uses_head = true,
      .needs_text = true,
      .controls =
          {choice("pairing", "Pairs",
                  "How pairs are sampled: independent, as in the paper; same-query: both keys of one query; "
                  "counterfactual: the same vectors scored at both distances",
                  {"independent", "same-query", "counterfactual"}),
           whole("near-from", "λ from", "The smallest near distance", 0, 0, 1 << 20),
           whole("near-to", "λ to", "The largest near distance", 100, 0, 1 << 20),
           whole("far-from", "Λ from", "The smallest far distance", 10000, 1, 1 << 20),
           whole("far-to", "Λ to", "The largest far distance", 10100, 1, 1 << 20),
           choice("unit", "in", "Unit of the four distances: tokens, or percent of the trained length",
                  {"tokens", "percent"}),
           whole("pairs", "Sampled pairs", "Number of sampled pairs, over all texts together", 10000, 10, 1000000),
           whole("skip-first", "Leave out first keys",
                 "Number of keys to exclude at the start of every text, such as attention sinks", 0, 0, 64, "none"),
           whole("seed", "Seed", "Seed of the sample", 1, 0, 1000000),
           words("texts", "Folder of texts",
                 "A folder whose .txt files are read instead of the input; with two or more, the mean has a 95 % "
                 "interval",
                 "the input; a folder"),
           whole("bins", "Bins", "Number of bins over the narrowest histogram; at most four times as many over all", 60,
                 5, 500),
           toggle("own-bins", "Own bins",
                  "Spread the bins over each checkpoint's own range, so that a narrow histogram is not a single bar"),
           toggle("density", "Density",
                  "The height of a bin is its share of the pairs divided by its width, so that each histogram has area "
                  "1"),
           toggle("every-head", "Every head",
                  "A second plot with μ and μ ± σ of every head of every layer, from at most 500 pairs each"),
           choice("export", "Export",
                  "What Export data writes: the histogram, every sampled difference, or μ and σ of every head",
                  {"histogram", "pairs", "heads"})},
      .brushes = {{"λ", "near-from", "near-to", "unit"},
                  {"Λ", "far-from", "far-to", "unit"},
                  {"first keys left out", "", "skip-first"},
                  {"bins", "", "bins"}},
  });
};

// A bound in tokens.
std::int64_t tokens_of(std::int64_t bound, bool percent, const models::ModelInfo& model) {
  return percent ? bound * model.trained_length / 100 : bound;
}

Result<analysis::DistanceBiasOptions> DistanceBias::options_of(const ViewInput& input, std::size_t column) const {
  const models::ModelInfo& model = input.columns[column].trace->model();
  const std::int64_t head = head_of_column(input, column).head;
  const bool percent = option<std::string>(input, "unit") == "percent";
  if (percent && model.trained_length <= 0) {
    return unsupported("the trained length is not known: give the distances in tokens", input.columns[column].name);
  }
  if (head == kMean) {
    return usage("distance bias is of one head: expected a head from 0, found the mean of all");
  }
  const auto bound = [&](const char* name) { return tokens_of(option<std::int64_t>(input, name), percent, model); };
  const auto pairing = option<std::string>(input, "pairing");
  analysis::DistanceBiasOptions options;
  options.near = {bound("near-from"), bound("near-to") + 1};
  options.far = {bound("far-from"), bound("far-to") + 1};
  options.pairing = pairing == "same-query"       ? analysis::Pairing::kSameQuery
                    : pairing == "counterfactual" ? analysis::Pairing::kCounterfactual
                                                  : analysis::Pairing::kIndependent;
  options.head = head;
  options.pairs = option<std::int64_t>(input, "pairs");
  options.skip_keys = option<std::int64_t>(input, "skip-first");
  options.seed = static_cast<std::uint64_t>(option<std::int64_t>(input, "seed"));
  return options;
}

Result<std::vector<DistanceBias::Numbers>> DistanceBias::every_head(const ViewInput& input, std::int64_t most) const {
  std::vector<Numbers> list;
  for (std::size_t n = 0; n < input.columns.size(); ++n) {
    const models::ModelInfo& model = input.columns[n].trace->model();
    LOCUS_TRY(DistanceBiasKey each, measure_key(input, n));
    each.options.pairs = std::min(each.options.pairs, most);
    Numbers& heads = list.emplace_back();
    for (each.layer = 0; each.layer < model.layers; ++each.layer) {
      for (each.options.head = 0; each.options.head < model.heads; ++each.options.head) {
        LOCUS_TRY(heads.emplace_back(), measured(input, n, each));
      }
    }
  }
  return list;
}

std::string range_text(const Range& range) {
  return std::to_string(range.begin) + "–" + std::to_string(range.end - 1);
}

// As the legend, in words: of the pairs, not of the bins.
std::string means_line(const ViewInput& input, const std::vector<BiasPointer>& list) {
  std::string line;
  for (std::size_t n = 0; n < list.size(); ++n) {
    line += (n == 0 ? "" : "; ") + input.columns[n].name + ": mean " + short_number(list[n]->mean) + ", " +
            fixed_text(100 * list[n]->positive_share, 0) + " % above 0";
  }
  return line;
}

Result<figure::Figure> DistanceBias::draw(const ViewInput& input, const Numbers& list) const {
  const bool density = option<bool>(input, "density");
  const std::vector<BiasBins> bins =
      bias_histograms(list, option<std::int64_t>(input, "bins"), option<bool>(input, "own-bins"), density);
  figure::Panel panel;
  const HeadRef first = head_of_column(input, 0);
  bool differ = false;  // the heads of the columns
  for (std::size_t n = 0; n < list.size(); ++n) {
    differ = differ || has_own_head(input, n) || head_of_column(input, n) != first;
  }
  panel.title = differ ? "" : head_label(input.columns[0].trace->model(), first.layer, first.head);
  panel.x.label = "Δscore = s(λ) − s(Λ)";
  panel.y.label = density ? "density" : "pairs";
  Extent heights;
  Extent edges;
  const bool alike = std::ranges::all_of(
      list, [&](const BiasPointer& bias) { return bias->near == list[0]->near && bias->far == list[0]->far; });
  // A text that is too short for what is asked says what that was: it is what the controls show.
  const auto ranges = [&](std::size_t n) {
    const Bias& bias = *list[n];
    const auto options = options_of(input, n);
    const std::string wanted = options && bias.shortened ? " of " + range_text(options->far) : "";
    return "λ " + range_text(bias.near) + ", Λ " + range_text(bias.far) +
           (bias.shortened ? " (the largest" + wanted + " that fit)" : "");
  };
  for (std::size_t n = 0; n < list.size(); ++n) {
    const auto [layer, head] = head_of_column(input, n);
    heights.add(bins[n].heights);
    edges.add(bins[n].edges.front());
    edges.add(bins[n].edges.back());
    panel.layers.emplace_back(figure::Bars{input.columns[n].name + (differ ? " " + head_name(layer, head) : "") + ": " +
                                               bias_line(*list[n]) + (alike ? "" : "; " + ranges(n)),
                                           bins[n].edges, bins[n].heights});
  }
  panel.x.view = edges.padded(0);
  panel.layers.emplace_back(vertical_line(0));
  panel.y.view = heights.from_zero();
  const bool interval = std::ranges::any_of(list, [](const auto& bias) { return bias->interval.has_value(); });
  panel.note = (alike ? ranges(0) + "; " : "") + std::to_string(list[0]->differences.size()) + " pairs" +
               (interval ? "; [95 % over texts]" : "; one text: no interval");
  figure::Figure figure = figure_of(std::move(panel));
  figure.statement = means_line(input, list);
  if (option<bool>(input, "every-head")) {
    LOCUS_TRY(const auto all, every_head(input, kPairsOfEveryHead));
    figure.panels.push_back(bias_strip(input, all));
  }
  return figure;
}

Result<Data> DistanceBias::table(const ViewInput& input, const Numbers& list) const {
  const auto what = option<std::string>(input, "export");
  std::vector<Series> series;
  if (what == "pairs") {
    for (std::size_t n = 0; n < list.size(); ++n) {
      series.push_back({input.columns[n].name, {list[n]->differences.begin(), list[n]->differences.end()}});
    }
    return table_of(series);
  }
  if (what == "heads") {
    LOCUS_TRY(const auto all, every_head(input));
    return bias_table(input, all);
  }
  const bool own = option<bool>(input, "own-bins");
  const std::vector<BiasBins> bins =
      bias_histograms(list, option<std::int64_t>(input, "bins"), own, option<bool>(input, "density"));
  for (std::size_t n = 0; n < list.size(); ++n) {
    const std::vector<double>& edges = bins[n].edges;
    if (own || n == 0) {
      const std::string of = own ? input.columns[n].name + " " : "";
      series.push_back({of + "bin_left", {edges.begin(), edges.end() - 1}});
      series.push_back({of + "bin_right", {edges.begin() + 1, edges.end()}});
    }
    series.push_back({input.columns[n].name, bins[n].heights});
  }
  return table_of(series);
}

}  // namespace

const View& distance_bias_view() {
  return made_once<DistanceBias>();
}

}  // namespace locus::views
