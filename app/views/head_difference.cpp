// `head-difference`: how differently two checkpoints' heads attend to the same text.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "app/views/controls.h"
#include "app/views/head_map.h"
#include "app/views/list.h"
#include "app/views/score_map.h"
#include "app/views/series.h"
#include "models/analyses.h"

namespace locus::views {

namespace {

// A column compared with the first.
struct Comparison {
  Field distances;                         // (L, H) of the first column
  std::vector<models::HeadMatch> matches;  // of the best match; empty: index with index
};
// What it weighs in the cache.
std::size_t cached_bytes(const Comparison& comparison) {
  return sizeof comparison + views::cached_bytes(comparison.distances) + views::cached_bytes(comparison.matches);
}
using ComparisonPointer = std::shared_ptr<const Comparison>;

struct Options {
  bool best = false;
  bool null = false;  // the third column
  std::int64_t rows = 64;
};

class HeadDifference final : public View {
 public:
  const ViewInfo& info() const override { return info_; }
  Result<figure::Figure> figure(const ViewInput& input) const override;
  Result<Data> data(const ViewInput& input) const override;
  // Opens the pair: the head in the first column and its partner in every other.
  Selection pick(const ViewInput& input, const Hit& hit) const override;
  std::vector<Place> places(const ViewInput& input, const Selection& selection) const override {
    std::vector<Place> places;
    for (std::size_t panel = 0; selection.layer && selection.head.value_or(-1) >= 0 && panel + 1 < input.columns.size();
         ++panel) {
      places.push_back(head_place(panel, *selection.layer, *selection.head));
    }
    return places;
  }

 private:
  ViewInfo info_{
      .name = "head-difference",
      .title = "Difference of heads",
      .shows =
          "How differently each head of the first checkpoint and its partner in the second attend to this text: "
          "the mean over queries of ½ Σⱼ |A(i, j) − B(i, j)|, 0 for equal rows and 1 for disjoint ones. A third "
          "checkpoint that is another seed of the first can give the null: what differs by chance alone.",
      .look_for =
          "Index with index for checkpoints of one ancestry (fine-tuned, another scaling). Best match for others: "
          "heads have no order, so every head gets the partner that makes the sum smallest (Hungarian method), named "
          "in its cell and under the pointer. Heads above the null's 95 % differ by more than a seed does. A click "
          "opens the pair.",
      .paper = "",
      .needs_text = true,
      .controls = {choice("match", "Partners", "index: head with the same index; best: the best match over all heads",
                          {"index", "best"}),
                   toggle("null", "Third is the null",
                          "The third checkpoint is another seed of the first: what differs by chance alone"),
                   whole("rows", "Queries", "At most so many queries are compared; 0: all", 64, 0, 4096, "all")},
  };
};

Result<Options> options_of(const ViewInput& input) {
  Options options;
  LOCUS_TRY(const std::string match, input.options.text("match", "index"));
  LOCUS_TRY(options.rows, input.options.integer("rows", 64));
  LOCUS_TRY(options.null, input.options.boolean("null", false));
  options.best = match == "best";
  return options;
}

std::string key_of(const Options& options) {
  return std::string("head difference ") + (options.best ? "best " : "index ") + std::to_string(options.rows);
}

Result<Comparison> compare(const ViewInput& input, const Column& first, const Column& second, const Options& options,
                           const Progress& progress) {
  Comparison comparison;
  if (!options.best) {
    LOCUS_TRY(comparison.distances,
              models::head_difference(*first.trace, *second.trace, options.rows, input.stop, progress));
    return comparison;
  }
  LOCUS_TRY(comparison.matches, models::match_heads(*first.trace, *second.trace, options.rows, input.stop, progress));
  const models::ModelInfo& model = first.trace->model();
  comparison.distances = Field::zeros(model.layers, model.heads);
  for (std::size_t n = 0; n < comparison.matches.size(); ++n) {
    comparison.distances.values[n] = static_cast<float>(comparison.matches[n].distance);
  }
  return comparison;
}

// The first column against each other one.
Result<std::vector<ComparisonPointer>> compare_all(const View& view, const ViewInput& input, const Options& options) {
  LOCUS_CHECK(check(view, input));
  if (input.columns.size() < 2) {
    return usage("head difference: expected two checkpoints (a third is the null), found one");
  }
  std::vector<ComparisonPointer> list;
  const std::string key = key_of(options);
  for (std::size_t n = 1; n < input.columns.size(); ++n) {
    const Column& other = input.columns[n];
    LOCUS_TRY(auto comparison, analysed<Comparison>(input, other, {input.columns[0].trace, other.trace}, key, [&] {
                return compare(input, input.columns[0], other, options, column_progress(input, n));
              }));
    list.push_back(std::move(comparison));
  }
  return list;
}

struct Summary {
  double mean = std::numeric_limits<double>::quiet_NaN();
  double high = std::numeric_limits<double>::quiet_NaN();  // 95 % of the heads are below
};

Summary summary_of(const Field& field) {
  std::vector<double> values;
  double sum = 0;
  for (const float value : field.values) {
    if (std::isfinite(value)) {
      values.push_back(static_cast<double>(value));
      sum += values.back();
    }
  }
  if (values.empty()) {
    return {};
  }
  std::sort(values.begin(), values.end());
  const auto index = static_cast<std::size_t>(std::ceil(0.95 * static_cast<double>(values.size()))) - 1;
  return {sum / static_cast<double>(values.size()), values[index]};
}

// "→ 1.3": the partner of each head, before its distance; empty where every head has its own index.
std::vector<std::string> partner_texts(const Comparison& comparison) {
  std::vector<std::string> texts;
  for (const models::HeadMatch& match : comparison.matches) {
    texts.push_back(match.layer < 0 ? "no partner"
                                    : "→" + std::to_string(match.layer) + "." + std::to_string(match.head) + "  " +
                                          short_number(match.distance));
  }
  return texts;
}

Result<figure::Figure> HeadDifference::figure(const ViewInput& input) const {
  LOCUS_TRY(const Options options, options_of(input));
  LOCUS_TRY(const auto list, compare_all(*this, input, options));
  std::vector<std::shared_ptr<const Field>> fields;
  for (const ComparisonPointer& each : list) {
    fields.emplace_back(each, &each->distances);
  }
  figure::Figure figure;
  figure.columns = static_cast<int>(list.size());
  const bool has_null = options.null && list.size() > 1;
  const Summary null = has_null ? summary_of(*fields[1]) : Summary{};
  for (std::size_t n = 0; n < list.size(); ++n) {
    figure::Panel panel = head_map(fields[n], head_scale(input, Sign::kPositive, fields, n), partner_texts(*list[n]));
    panel.title =
        input.columns[0].name + " against " + input.columns[n + 1].name + (n == 1 && has_null ? " (null)" : "");
    panel.color_bar_label = options.best ? "total variation to the best match" : "total variation";
    panel.note = "mean " + short_number(summary_of(*fields[n]).mean);
    if (n == 0 && has_null) {
      const auto above = std::count_if(fields[0]->values.begin(), fields[0]->values.end(),
                                       [&](float value) { return static_cast<double>(value) > null.high; });
      panel.note += "; " + std::to_string(above) + " of " + std::to_string(fields[0]->values.size()) +
                    " heads above the null's 95 % (" + short_number(null.high) + ")";
    }
    figure.panels.push_back(std::move(panel));
  }
  return figure;
}

// Only what is in the cache is looked at: this runs on the window's thread.
Selection HeadDifference::pick(const ViewInput& input, const Hit& hit) const {
  const auto options = options_of(input);
  if (input.columns.size() < 2 || !options) {
    return {};
  }
  const models::ModelInfo& model = input.columns.front().trace->model();
  Selection selection = pick_head(model, hit, 0);
  if (!selection.open || !options->best || !input.cache) {
    return selection;
  }
  const auto index = static_cast<std::size_t>(*selection.layer * model.heads + *selection.head);
  selection.partners.push_back({*selection.layer, *selection.head});
  for (std::size_t n = 1; n < input.columns.size(); ++n) {
    const auto comparison =
        input.cache->peek<Comparison>({input.columns[0].trace, input.columns[n].trace}, key_of(*options));
    if (!comparison || index >= comparison->matches.size() || comparison->matches[index].layer < 0) {
      return {};  // not computed yet, or without a partner: opening another pair would mislead
    }
    selection.partners.push_back({comparison->matches[index].layer, comparison->matches[index].head});
  }
  return selection;
}

Result<Data> HeadDifference::data(const ViewInput& input) const {
  LOCUS_TRY(const Options options, options_of(input));
  LOCUS_TRY(const auto list, compare_all(*this, input, options));
  if (!options.best) {
    const Field& field = list.front()->distances;
    return Data{{field.rows, field.columns}, field.values, {}};
  }
  std::vector<Series> series{
      {"layer", {}}, {"head", {}}, {"matched_layer", {}}, {"matched_head", {}}, {"distance", {}}};
  const std::int64_t heads = list.front()->distances.columns;
  for (std::size_t n = 0; n < list.front()->matches.size(); ++n) {
    const models::HeadMatch& match = list.front()->matches[n];
    const auto index = static_cast<std::int64_t>(n);
    const std::array<double, 5> row{static_cast<double>(index / heads), static_cast<double>(index % heads),
                                    static_cast<double>(match.layer), static_cast<double>(match.head), match.distance};
    for (std::size_t c = 0; c < row.size(); ++c) {
      series[c].values.push_back(row[c]);
    }
  }
  return table_of(series);
}

}  // namespace

const View& head_difference_view() {
  static const HeadDifference view;
  return view;
}

}  // namespace locus::views
