// `distance-profile`: how a head's scores depend on the distance between query and key.
#include <algorithm>
#include <cmath>
#include <limits>

#include "app/views/list.h"
#include "app/views/measured/measured_view.h"
#include "app/views/measured/pair_rows.h"
#include "app/views/plots/trained_length.h"
#include "app/views/score_maps/score_map.h"
#include "core/base/controls.h"
#include "core/base/numbers.h"
#include "models/api/analyses.h"
#include "models/api/pairs.h"

namespace locus::views {

namespace {

constexpr std::int64_t kMaxRows = 512;  // queries that are read; of more, some evenly apart

struct DistanceProfileKey {
  std::int64_t layer = 0;
  std::int64_t head = 0;
  models::Quantity quantity = models::Quantity::kWeight;
  bool baseline = true;
  std::int64_t skip = 0;
  std::string theory;

  friend bool operator==(const DistanceProfileKey&, const DistanceProfileKey&) = default;
};

// One value per distance Δ = 0 … T−1.
struct DistanceCurves {
  analysis::DistanceProfile scores;
  std::vector<models::TheoryCurve> theory;  // of the logit; none where there is none
};
// What it weighs in the cache.
std::size_t cached_bytes(const DistanceCurves& profile) {
  const analysis::DistanceProfile& scores = profile.scores;
  return sizeof profile + views::cached_bytes(scores.edges) + views::cached_bytes(scores.mean) +
         views::cached_bytes(scores.low) + views::cached_bytes(scores.high) + views::cached_bytes(scores.cells) +
         3 * views::cached_bytes(scores.mean) * profile.theory.size();
}

class DistanceProfile final : public MeasuredView<DistanceProfileKey, DistanceCurves> {
 public:
  const ViewInfo& info() const override { return info_; }
  Selection pick(const ViewInput& input, const Hit& hit) const override;

 protected:
  Result<DistanceProfileKey> measure_key(const ViewInput& input, std::size_t /*column*/) const override {
    const bool of_logits = input.quantity == models::Quantity::kLogit && input.head != kMean;
    return DistanceProfileKey{
        .layer = input.layer,
        .head = input.head,
        .quantity = input.quantity,
        .baseline = option<bool>(input, "baseline") && input.quantity == models::Quantity::kWeight,
        .skip = option<std::int64_t>(input, "skip-first"),
        .theory = of_logits ? option<std::string>(input, "theory") : "none",  // it is of one head's mean logit
    };
  }
  Result<DistanceCurves> measure(const DistanceProfileKey& key, const MeasureContext& context) const override;
  Result<figure::Figure> draw(const ViewInput& input, const Numbers& profiles) const override;
  Result<Data> table(const ViewInput& input, const Numbers& profiles) const override;

 private:
  ViewInfo info_{
      .name = "distance-profile",
      .title = "Distance profile",
      .group = Group::kPosition,
      .caption = "The average score that this head gives a token, depending on how far back it is.",
      .shows =
          "The mean over queries, and the band between the 10 % and 90 % quantiles, by the distance Δ = i − j from "
          "query to key, or |Δ| for models that attend in both directions. Weights can be divided by 1/(i+1), the "
          "weight that a head without preferences gives each key.",
      .uses_layer = true,
      .uses_head = true,
      .uses_quantity = true,
      .controls =
          {toggle("baseline", "Relative to uniform",
                  "Divide weights by 1/(i+1), the weight of a uniform average over all keys", true),
           toggle("log-distance", "Logarithmic Δ", "A logarithmic distance axis"),
           whole("skip-first", "Leave out first keys",
                 "Number of keys to exclude at the start of the text, such as attention sinks", 0, 0, 64, "none"),
           choice("theory", "Theory",
                  "The theoretical mean logit (rope and tapa), for the angles of the model (llama) or of the paper",
                  {"none", "llama", "paper"}),
           band_control()},
      .brushes = {{"first keys left out", "", "skip-first"}},
  };
};

// Encodings that have no theory have no curves.
Result<std::vector<models::TheoryCurve>> theory_of(const DistanceProfileKey& key, const MeasureContext& context) {
  std::vector<models::TheoryCurve> none;
  if (key.theory == "none") {
    return none;
  }
  const std::vector<double> distances = counted(static_cast<std::size_t>(context.column.trace->length()));
  const auto angle = key.theory == "paper" ? models::TheoryAngle::kPaper : models::TheoryAngle::kLlama;
  auto curves = models::theory_curves(*context.column.trace, key.layer, key.head, distances, angle);
  if (!curves && curves.error().code == ErrorCode::kUnsupported) {
    return none;
  }
  return curves;
}

// The share of the variance of the mean over distances that `expected` explains, each distance as often as it occurs;
// below 0 where a constant is nearer. NaN where the mean does not vary.
double explained(const analysis::DistanceProfile& scores, const std::vector<double>& expected) {
  double cells = 0;
  double sum = 0;
  const auto each = [&](const auto& use) {
    for (std::size_t n = 0; n < std::min(scores.mean.size(), expected.size()); ++n) {
      if (!std::isnan(scores.mean[n])) {
        use(static_cast<double>(scores.cells[n]), scores.mean[n], expected[n]);
      }
    }
  };
  each([&](double count, double mean, double) {
    cells += count;
    sum += count * mean;
  });
  double around = 0;
  double missed = 0;
  each([&](double count, double mean, double foretold) {
    around += count * (mean - sum / cells) * (mean - sum / cells);
    missed += count * (mean - foretold) * (mean - foretold);
  });
  return around > 0 ? 1 - missed / around : kNaN;
}

figure::Curve theory_line(const std::string& name, const models::TheoryCurve& expected,
                          const analysis::DistanceProfile& scores, bool logarithmic) {
  figure::Curve line;
  const double share = explained(scores, expected.mean);
  line.name = name + ": " + expected.name +
              (std::isnan(share) ? "" : std::string(", R² ") + (share < 0 ? "−" : "") + fixed_text(std::abs(share), 3));
  line.dashed = true;
  for (std::size_t n = logarithmic ? 1 : 0; n < expected.mean.size(); ++n) {
    line.x.push_back(static_cast<double>(n));
    line.y.push_back(expected.mean[n]);
    if (!expected.deviation.empty()) {
      line.low.push_back(expected.mean[n] - expected.deviation[n]);
      line.high.push_back(expected.mean[n] + expected.deviation[n]);
    }
  }
  return line;
}

Result<DistanceCurves> DistanceProfile::measure(const DistanceProfileKey& key, const MeasureContext& context) const {
  const std::int64_t length = context.column.trace->length();
  analysis::DistanceProfileOptions options;
  options.quantity = key.quantity;
  options.head = key.head;
  options.bins = length;  // every distance for itself
  options.skip_keys = key.skip;
  options.cell_limit = kMaxRows * length;
  options.relative_to_uniform = key.baseline;
  DistanceCurves profile;
  LOCUS_TRY(profile.scores,
            models::distance_profile(*context.column.trace, key.layer, options, context.stop, context.progress));
  LOCUS_TRY(profile.theory, theory_of(key, context));
  return profile;
}

// The waves of a band of rotary pairs, where they are no longer than the text.
Status mark_waves(const ViewInput& input, figure::Panel& panel) {
  LOCUS_TRY(const std::optional<Range> band, band_of(input));
  const auto list = models::pair_list(*input.columns[0].trace, input.layer, std::max<std::int64_t>(input.head, 0));
  if (!band || !list) {
    return {};
  }
  for (std::int64_t pair = band->begin; pair < std::min(band->end, list->pairs); ++pair) {
    const analysis::PairRow& row = list->rows[static_cast<std::size_t>(pair)];
    if (row.wavelength < panel.x.view.high) {
      panel.layers.emplace_back(vertical_line(row.wavelength, "pair " + row.name));
    }
  }
  return {};
}

// The pair whose wavelength is nearest to the distance, in proportion.
Selection DistanceProfile::pick(const ViewInput& input, const Hit& hit) const {
  const auto list = models::pair_list(*input.columns[0].trace, input.layer, std::max<std::int64_t>(input.head, 0));
  if (!list || !(hit.x > 0)) {
    return {};
  }
  std::int64_t nearest = kNone;
  double best = std::numeric_limits<double>::infinity();
  for (std::int64_t pair = 0; pair < list->pairs; ++pair) {
    const double apart = std::abs(std::log(list->rows[static_cast<std::size_t>(pair)].wavelength / hit.x));
    nearest = apart < best ? pair : nearest;
    best = std::min(apart, best);
  }
  Selection selection;
  if (nearest != kNone) {
    selection.option = {"band", std::to_string(nearest)};
  }
  return selection;
}

Result<figure::Figure> DistanceProfile::draw(const ViewInput& input, const Numbers& profiles) const {
  const bool logarithmic = option<bool>(input, "log-distance");
  figure::Panel panel;
  double low = 0;
  double high = 0;
  double longest = 1;
  bool first = true;
  std::string note;
  for (std::size_t c = 0; c < profiles.size(); ++c) {
    const std::string& name = input.columns[c].name;
    const analysis::DistanceProfile& scores = profiles[c]->scores;
    figure::Curve curve;
    curve.name = name;
    for (std::size_t n = logarithmic ? 1 : 0; n < scores.mean.size(); ++n) {
      if (std::isnan(scores.mean[n])) {
        continue;
      }
      curve.x.push_back(static_cast<double>(n));
      curve.y.push_back(scores.mean[n]);
      curve.low.push_back(scores.low[n]);
      curve.high.push_back(scores.high[n]);
      low = first ? scores.low[n] : std::min({low, scores.low[n], scores.mean[n]});
      high = first ? scores.high[n] : std::max({high, scores.high[n], scores.mean[n]});
      first = false;
    }
    longest = std::max(longest, static_cast<double>(scores.mean.size()));
    panel.layers.emplace_back(std::move(curve));
    for (const models::TheoryCurve& expected : profiles[c]->theory) {
      panel.layers.emplace_back(theory_line(name, expected, scores, logarithmic));
      note += expected.note.empty() ? "" : "; " + name + ": " + expected.note;
    }
  }
  const bool divided = option<bool>(input, "baseline") && input.quantity == models::Quantity::kWeight;
  const double margin = high > low ? 0.05 * (high - low) : 1;
  panel.title = head_label(input.columns[0].trace->model(), input.layer, input.head);
  const bool causal = input.columns[0].trace->model().causal;
  panel.x.label = causal ? "distance Δ (tokens)" : "distance |Δ| (tokens)";
  panel.x.view = {logarithmic ? 1.0 : 0.0, longest};
  panel.x.logarithmic = logarithmic;
  panel.y.label = quantity_label(input.quantity) + (divided ? causal ? " × (i + 1)" : " × keys seen" : "");
  panel.y.view = {input.quantity == models::Quantity::kWeight ? 0 : low - margin, high + margin};
  const analysis::DistanceProfile& of_first = profiles.front()->scores;
  panel.note = "mean; band: 10 % to 90 % of the queries";
  if (of_first.rows_used < of_first.rows) {
    panel.note += ", " + std::to_string(of_first.rows_used) + " of " + std::to_string(of_first.rows);
  }
  panel.note += note;
  LOCUS_CHECK(mark_waves(input, panel));
  mark_trained_distance(input.columns, panel);
  return figure_of(std::move(panel));
}

Result<Data> DistanceProfile::table(const ViewInput& input, const Numbers& profiles) const {
  std::vector<Series> series;
  for (std::size_t c = 0; c < profiles.size(); ++c) {
    const std::string& name = input.columns[c].name;
    const analysis::DistanceProfile& scores = profiles[c]->scores;
    series.push_back({name + " mean", scores.mean});
    series.push_back({name + " low", scores.low});
    series.push_back({name + " high", scores.high});
    series.push_back({name + " count", {scores.cells.begin(), scores.cells.end()}});
    for (const models::TheoryCurve& expected : profiles[c]->theory) {
      series.push_back({name + ": " + expected.name, expected.mean});
      if (!expected.deviation.empty()) {
        series.push_back({name + ": " + expected.name + ", deviation", expected.deviation});
      }
    }
  }
  return table_of(std::move(series), "distance");
}

}  // namespace

const View& distance_profile_view() {
  return made_once<DistanceProfile>();
}

}  // namespace locus::views
