// `head-difference`: how differently two checkpoints' heads attend to the same text.
#include <algorithm>
#include <cmath>

#include "app/views/shared/measured/measured_view.h"
#include "app/views/shared/score_maps/head_map.h"
#include "app/views/shared/score_maps/score_map.h"
#include "app/views/shared/view.h"
#include "core/base/controls.h"
#include "core/base/numbers.h"
#include "models/api/analyses.h"

namespace locus::views {

namespace {

// A column compared with the first.
struct Comparison {
  Field distances;                         // (L, H) of the first column
  std::vector<models::HeadMatch> matches;  // of the best match; empty: index with index
};
// The size in the cache, in bytes.
std::size_t cached_bytes(const Comparison& comparison) {
  return sizeof comparison + views::cached_bytes(comparison.distances) + views::cached_bytes(comparison.matches);
}

struct HeadDifferenceKey {
  bool best = false;
  std::int64_t rows = 64;

  friend bool operator==(const HeadDifferenceKey&, const HeadDifferenceKey&) = default;
};

// Every column but the first is measured: against the first.
class HeadDifference final : public MeasuredView<HeadDifferenceKey, Comparison> {
 public:
  const ViewInfo& info() const override { return info_; }
  // Opens the pair: the head in the first column and its partner in every other.
  Selection pick(const ViewInput& input, const Hit& hit) const override;
  std::vector<Place> places(const ViewInput& input, const Selection& selection) const override {
    return head_places(selection, std::max<std::size_t>(input.columns.size(), 1) - 1);
  }

 protected:
  std::size_t first_measured() const override { return 1; }
  Result<HeadDifferenceKey> measure_key(const ViewInput& input, std::size_t /*column*/) const override {
    return HeadDifferenceKey{best_match(input), option<std::int64_t>(input, "rows")};
  }
  Result<Comparison> measure(const HeadDifferenceKey& key, const MeasureContext& context) const override;
  Result<figure::Figure> draw(const ViewInput& input, const Numbers& list) const override;
  Result<Data> table(const ViewInput& input, const Numbers& list) const override;

 private:
  // By itself where the columns have other numbers of layers or heads than the first.
  bool best_match(const ViewInput& input) const {
    const auto match = option<std::string>(input, "match");
    const models::ModelInfo& first = input.columns.front().trace->model();
    return match == "best" || (match == "auto" && std::ranges::any_of(input.columns, [&](const Column& column) {
                                 const models::ModelInfo& other = column.trace->model();
                                 return other.layers != first.layers || other.heads != first.heads;
                               }));
  }

  ViewInfo info_ = described({
      .name = "head-difference",
      .caption = "How differently the heads of two checkpoints attend to the same text.",
      .shows =
          "How differently each head of the first checkpoint and its partner in the second attend to this text: the "
          "mean over queries of ½ Σⱼ |A(i, j) − B(i, j)|, 0 for equal rows and 1 for disjoint ones. A third "
          "checkpoint, another seed of the first, can show the null: the differences that arise by chance.",
      .needs_text = true,
      .controls =
          {choice(
               "match", "Partners",
               "index: the head with the same index; best: the best match over all heads; auto: the best match where "
               "the checkpoints have different numbers of layers or heads",
               {"auto", "index", "best"}),
           toggle("null", "Third is the null",
                  "The third checkpoint is another seed of the first and shows the differences that arise by chance"),
           whole("rows", "Queries", "Maximum number of queries to compare; 0: all", 64, 0, 4096, "all")},
  });
};

Result<Comparison> HeadDifference::measure(const HeadDifferenceKey& key, const MeasureContext& context) const {
  const models::Trace& first = *context.first.trace;
  const models::Trace& second = *context.column.trace;
  Comparison comparison;
  if (!key.best) {
    LOCUS_TRY(comparison.distances, models::head_difference(first, second, key.rows, context.stop, context.progress));
    return comparison;
  }
  LOCUS_TRY(comparison.matches, models::match_heads(first, second, key.rows, context.stop, context.progress));
  comparison.distances = head_field(first.model().layers, first.model().heads);
  for (std::size_t n = 0; n < comparison.matches.size(); ++n) {
    comparison.distances.values[n] = static_cast<float>(comparison.matches[n].distance);
  }
  return comparison;
}

Status two_or_more(const std::vector<std::shared_ptr<const Comparison>>& list) {
  return list.empty() ? Status(usage("head difference: expected two checkpoints (a third is the null), found one"))
                      : Status();
}

struct Summary {
  double mean = kNaN;
  double high = kNaN;  // 95 % of the heads are below
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
                                    : "→" + head_name(match.layer, match.head) + "  " + short_number(match.distance));
  }
  return texts;
}

// "2 of 16 heads above the null's 95 % (0.84)".
std::string above_text(std::size_t above, const Field& field, const Summary& null) {
  return std::to_string(above) + " of " + std::to_string(field.values.size()) + " heads above the null's 95 % (" +
         short_number(null.high) + ")";
}

// "largest of head 3.3, 0.95; 2 of 16 heads above the null's 95 % (0.84)", and no head where none is above it.
std::string null_line(const Field& field, const Summary& null, std::size_t above, const std::string& quantity) {
  const auto largest = std::ranges::max_element(
      field.values, [](float a, float b) { return std::isnan(b) ? false : std::isnan(a) || a < b; });
  const auto cell = static_cast<std::size_t>(largest - field.values.begin());
  return quantity + ": " +
         (above == 0 ? ""
                     : "largest of head " + head_name_at(cell, field.columns) + ", " +
                           short_number(static_cast<double>(*largest)) + "; ") +
         above_text(above, field, null);
}

Result<figure::Figure> HeadDifference::draw(const ViewInput& input, const Numbers& list) const {
  LOCUS_CHECK(two_or_more(list));
  Fields fields;
  for (const auto& each : list) {
    fields.emplace_back(each, &each->distances);
  }
  figure::Figure figure = figure_across(list.size());
  const bool has_null = option<bool>(input, "null") && list.size() > 1;
  const Summary null = has_null ? summary_of(*fields[1]) : Summary{};
  for (std::size_t n = 0; n < list.size(); ++n) {
    figure::Panel panel = head_map(fields[n], scale_of(input, Sign::kPositive, fields, n), partner_texts(*list[n]));
    panel.title =
        input.columns[0].name + " against " + input.columns[n + 1].name + (n == 1 && has_null ? " (null)" : "");
    panel.color_bar_label = best_match(input) ? "total variation to the best match" : "total variation";
    panel.note = "mean " + short_number(summary_of(*fields[n]).mean);
    if (n != 1 && has_null) {
      const auto above = static_cast<std::size_t>(std::ranges::count_if(
          fields[n]->values, [&](float value) { return static_cast<double>(value) > null.high; }));
      panel.note += "; " + above_text(above, *fields[n], null);
      figure.statement += (figure.statement.empty() ? "" : "; ") + panel.title + ": " +
                          null_line(*fields[n], null, above, panel.color_bar_label);
    }
    figure.panels.push_back(std::move(panel));
  }
  return figure;
}

// Only what is in the cache is looked at: this runs on the window's thread.
Selection HeadDifference::pick(const ViewInput& input, const Hit& hit) const {
  if (input.columns.size() < 2) {
    return {};
  }
  const models::ModelInfo& model = input.columns.front().trace->model();
  Selection selection = pick_head(model, hit, 0);
  if (!selection.open || !best_match(input) || !input.cache) {
    return selection;
  }
  const auto index = static_cast<std::size_t>(*selection.layer * model.heads + *selection.head);
  selection.partners.push_back({*selection.layer, *selection.head});
  for (std::size_t n = 1; n < input.columns.size(); ++n) {
    const auto comparison = kept(input, n);
    if (!comparison || index >= comparison->matches.size() || comparison->matches[index].layer < 0) {
      return {};  // not computed yet, or without a partner: opening another pair would mislead
    }
    selection.partners.push_back({comparison->matches[index].layer, comparison->matches[index].head});
  }
  return selection;
}

Result<Data> HeadDifference::table(const ViewInput& input, const Numbers& list) const {
  LOCUS_CHECK(two_or_more(list));
  const Field& field = list.front()->distances;
  if (!best_match(input)) {
    return Data{{field.rows, field.columns}, field.values, {}};
  }
  const std::vector<models::HeadMatch>& matches = list.front()->matches;
  const std::vector<double> order = counted(matches.size());
  const auto heads = static_cast<double>(field.columns);
  return table_of({{"layer", numbers_of(order, [&](double n) { return std::floor(n / heads); })},
                   {"head", numbers_of(order, [&](double n) { return std::fmod(n, heads); })},
                   {"matched_layer", numbers_of(matches, &models::HeadMatch::layer)},
                   {"matched_head", numbers_of(matches, &models::HeadMatch::head)},
                   {"distance", numbers_of(matches, &models::HeadMatch::distance)}});
}

}  // namespace

const View& head_difference_view() {
  return made_once<HeadDifference>();
}

}  // namespace locus::views
