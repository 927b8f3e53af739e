// `distance-profile`: how a head's scores depend on the distance between query and key.
#include <algorithm>
#include <cmath>
#include <limits>

#include "app/views/curves/distance_curves.h"
#include "app/views/shared/measured/atlas_values.h"
#include "app/views/shared/measured/pair_rows.h"
#include "app/views/shared/plots/trained_length.h"
#include "app/views/shared/score_maps/score_map.h"
#include "app/views/shared/view.h"
#include "core/base/controls.h"
#include "core/base/lists.h"
#include "core/base/numbers.h"
#include "models/api/pairs.h"
#include "models/api/rope_sums.h"

namespace locus::views {

namespace {

class DistanceProfile final : public MeasuredView<DistanceProfileKey, DistanceCurves> {
 public:
  const ViewInfo& info() const override { return info_; }
  Selection pick(const ViewInput& input, const Hit& hit) const override;

  std::string why_idle(const ViewInput& input, const std::string& name) const override {
    if (name != "baseline") {
      return {};
    }
    return !option<std::string>(input, "bases").empty() ? "Sums of a base are no weights, which alone can be divided"
           : has_atlas(input)                           ? "An atlas has mean weights, which are not divided"
           : input.quantity == models::Quantity::kWeight
               ? ""
               : "Only weights can be divided: Quantity is " + models::to_text(input.quantity);
  }

 protected:
  Result<DistanceProfileKey> measure_key(const ViewInput& input, std::size_t column) const override {
    const HeadRef head = head_of_column(input, column);
    const bool of_logits = input.quantity == models::Quantity::kLogit && head.head != kMean;
    return DistanceProfileKey{
        .layer = head.layer,
        .head = head.head,
        .quantity = input.quantity,
        .baseline = relative(input),
        .skip = option<std::int64_t>(input, "skip-first"),
        .theory = of_logits ? option<std::string>(input, "theory") : "none",  // it is of one head's mean logit
        .along = option<std::string>(input, "along"),
    };
  }
  Result<DistanceCurves> measure(const DistanceProfileKey& key, const MeasureContext& context) const override {
    return measure_distances(key, context);
  }
  Result<figure::Figure> draw(const ViewInput& input, const Numbers& profiles) const override;
  Result<Data> table(const ViewInput& input, const Numbers& profiles) const override;

 private:
  // Whether weights are divided by those of a uniform head; an atlas has the weights themselves, and so has what stands
  // beside it.
  bool relative(const ViewInput& input) const {
    return option<bool>(input, "baseline") && input.quantity == models::Quantity::kWeight && !has_atlas(input);
  }

  ViewInfo info_ = described({
      .name = "distance-profile",
      .caption = "The average score that this head gives a token, depending on how far back it is.",
      .shows =
          "The mean over queries, and the band between the 10 % and 90 % quantiles, by the distance Δ = i − j from "
          "query to key, or |Δ| for models that attend in both directions. Weights can be divided by 1/(i+1), the "
          "weight that a head without preferences gives each key. An atlas shows the mean over its windows with a 95 % "
          "interval, in bins of distances.",
      .uses_layer = true,
      .uses_head = true,
      .uses_quantity = true,
      .of_atlases = true,
      .controls =
          {toggle("baseline", "Relative to uniform",
                  "Divide weights by 1/(i+1), the weight of a uniform average over all keys", true),
           toggle("log-distance", "Logarithmic Δ", "A logarithmic distance axis"),
           whole(
               "skip-first", "Leave out first keys",
               "Number of keys to exclude at the start of the text; -1: the first token where it has more than 0.3 of "
               "the head's weight",
               kSkipSinks, kSkipSinks, 64, "sinks"),
           choice("theory", "Theory",
                  "The theoretical mean logit (rope and tapa), for the angles of the model (llama) or of the paper",
                  {"none", "llama", "paper"}),
           choice(
               "along", "Along",
               "Distances in tokens, or in a component of M-RoPE's positions: t of all tokens, rows h or columns w of "
               "the cells of a picture",
               {"tokens", "t", "h", "w"}),
           words(
               "bases", "Sums of bases",
               "RoPE bases whose sums C(Δ) and S(Δ) are shown instead of the head, to ten times the base; empty: none",
               "none; 10000 500000"),
           whole("width", "Head width of the sums", "Number of channels of the sums; 0: those of the head", 0, 0, 65536,
                 "the head's"),
           band_control()},
      .brushes = {{"first keys left out", "", "skip-first"}},
  });
};

// A rotary pair of the first column's head: its name, and the tokens it takes for a turn.
struct Wave {
  std::string name;
  double wavelength = 0;
};
std::vector<Wave> waves_of(const ViewInput& input) {
  const HeadRef head = head_of_column(input, 0);
  std::vector<Wave> waves;
  if (const models::Atlas* const atlas = models::atlas_of(*input.columns[0].trace)) {
    for (const double wavelength : models::pair_wavelengths(*atlas, head.layer)) {
      waves.push_back({std::to_string(waves.size()), wavelength});
    }
    return waves;
  }
  const auto list = models::pair_list(*input.columns[0].trace, head.layer, std::max<std::int64_t>(head.head, 0));
  for (std::int64_t pair = 0; list.ok() && pair < list->pairs; ++pair) {
    const analysis::PairRow& row = list->rows[static_cast<std::size_t>(pair)];
    waves.push_back({row.name, row.wavelength});
  }
  return waves;
}

// The waves of a band of rotary pairs, where they are no longer than the text.
Status mark_waves(const ViewInput& input, figure::Panel& panel) {
  LOCUS_TRY(const std::optional<Range> band, band_of(input));
  if (!band) {
    return {};
  }
  const std::vector<Wave> waves = waves_of(input);
  for (std::int64_t pair = band->begin; pair < std::min(band->end, std::ssize(waves)); ++pair) {
    const Wave& wave = waves[static_cast<std::size_t>(pair)];
    if (wave.wavelength < panel.x.view.high) {
      panel.layers.emplace_back(vertical_line(wave.wavelength, "pair " + wave.name));
    }
  }
  return {};
}

constexpr std::int64_t kSumPoints = 500;  // at most, of a curve and of the far distances

// C_D and S_D of one base at whole distances from 1 to ten times the base, and what Theorem 2.2 is about: the least C
// near (1 < λ < base^(1/4)/8) less the largest far (λ from the base on); NaN where no whole distance is near.
struct BaseSums {
  double base = 0;
  std::vector<double> distance;
  std::vector<double> cosine;
  std::vector<double> sine;
  std::int64_t near = 0;  // the largest near distance; below 2: none
  double gap = kNaN;
};

// Ascending whole numbers from `first` to `last`, each as much larger than the one before, or by 1.
std::vector<double> spread_out(double first, double last, std::int64_t count) {
  std::vector<double> list;
  const double ratio = std::pow(last / first, 1.0 / static_cast<double>(count - 1));
  for (double at = first; at <= last * (1 + 1e-12); at = std::max(at + 1, std::round(at * ratio))) {
    list.push_back(at);
  }
  return list;
}

BaseSums sums_of(double base, std::int64_t width, models::AngleConvention convention) {
  BaseSums sums{.base = base, .distance = spread_out(1, 10 * base, kSumPoints), .cosine = {}, .sine = {}};
  const auto at = [&](double distance) { return models::rope_sums(distance, width, base, convention); };
  for (const double distance : sums.distance) {
    const models::RopeSums both = at(distance);
    sums.cosine.push_back(both.cosine);
    sums.sine.push_back(both.sine);
  }
  const double bound = std::pow(base, 0.25) / 8;
  sums.near = static_cast<std::int64_t>(std::ceil(bound)) - 1;
  if (sums.near >= 2) {
    double least = 1;
    for (const double distance : spread_out(2, static_cast<double>(sums.near), kSumPoints)) {
      least = std::min(least, at(distance).cosine);
    }
    double largest = -1;
    for (const double distance : spread_out(std::floor(base) + 1, 10 * base, kSumPoints)) {
      largest = std::max(largest, at(distance).cosine);
    }
    sums.gap = least - largest;
  }
  return sums;
}

// RoPE's sums for each base in `text`; empty without bases. A width of 0 stands for that of the head.
Result<std::vector<BaseSums>> sums_of(const ViewInput& input, const std::string& text, std::int64_t width,
                                      const std::string& theory) {
  const auto bases = parse_numbers<double>(split_words(text, " ,;"));
  if (!bases || !std::ranges::all_of(*bases, [](double base) { return base > 10 && base <= 1e12; })) {
    return usage("option bases: expected numbers above 10, 1e12 at most, found \"" + text + "\"");
  }
  const models::AngleConvention convention =
      theory == "llama" ? models::AngleConvention::kLlama : models::AngleConvention::kPaper;
  std::vector<BaseSums> list;
  list.reserve(bases->size());
  for (const double base : *bases) {
    list.push_back(sums_of(base, width > 0 ? width : input.columns[0].trace->model().head_width, convention));
  }
  return list;
}

figure::Figure sums_figure(const std::vector<BaseSums>& list) {
  figure::Figure figure = figure_across(2);
  for (const bool of_cosine : {true, false}) {
    figure::Panel panel;
    Extent x;
    Extent y;
    std::string note;
    for (const BaseSums& sums : list) {
      const std::string name = "base " + general_text(sums.base, 6);
      add_curve(curve_through(name, sums.distance, of_cosine ? sums.cosine : sums.sine), x, y, panel);
      note +=
          ", " + general_text(sums.base, 6) +
          (sums.near < 2 ? " none near" : " " + fixed_text(sums.gap, 3) + " (λ ≤ " + std::to_string(sums.near) + ")");
    }
    panel.title = of_cosine ? "C(λ) = 1/D Σ cos" : "S(λ) = 1/D Σ sin";
    panel.x.label = "distance λ (tokens)";
    panel.x.view = {1, std::max(x.padded(0).high, 10.0)};
    panel.x.logarithmic = true;
    panel.y.label = of_cosine ? "C" : "S";
    panel.y.view = y.padded();
    panel.note =
        of_cosine ? "near less far (" + std::to_string(kSumPoints) + " distances)" + note + "; Theorem 2.2: 1/8" : "";
    figure.panels.push_back(std::move(panel));
  }
  return figure;
}

Data sums_table(const std::vector<BaseSums>& list) {
  std::vector<Series> series;
  for (const BaseSums& sums : list) {
    const std::string name = "base " + general_text(sums.base, 6);
    series.push_back({name + " distance", sums.distance});
    series.push_back({name + " C", sums.cosine});
    series.push_back({name + " S", sums.sine});
  }
  return table_of(std::move(series));
}

// The pair whose wavelength is nearest to the distance, in proportion.
Selection DistanceProfile::pick(const ViewInput& input, const Hit& hit) const {
  const std::vector<Wave> list = waves_of(input);
  if (!(hit.x > 0) || !option<std::string>(input, "bases").empty()) {
    return {};
  }
  std::int64_t nearest = kNone;
  double best = std::numeric_limits<double>::infinity();
  for (std::int64_t pair = 0; pair < std::ssize(list); ++pair) {
    const double apart = std::abs(std::log(list[static_cast<std::size_t>(pair)].wavelength / hit.x));
    nearest = apart < best ? pair : nearest;
    best = std::min(apart, best);
  }
  Selection selection;
  if (nearest != kNone) {
    selection.option = {"band", std::to_string(nearest)};
  }
  return selection;
}

// A column's mean and band, as far as they are on the axis. `enough`: of distances that enough queries have.
figure::Curve profile_curve(const std::string& name, const DistanceCurves& profile, bool logarithmic, bool enough) {
  const analysis::DistanceProfile& scores = profile.scores;
  figure::Curve curve;
  curve.name = name;
  for (std::size_t n = 0; n < scores.mean.size(); ++n) {
    const bool few = enough && !profile.drawn(n);
    if (std::isnan(scores.mean[n]) || (logarithmic && profile.distance(n) < 1) || few) {
      continue;
    }
    curve.x.push_back(profile.distance(n));
    curve.y.push_back(scores.mean[n]);
    curve.low.push_back(scores.low[n]);
    curve.high.push_back(scores.high[n]);
  }
  return curve;
}

// "3.2", "layer 3": of a column that shows another head than the first.
std::string own_head(const HeadRef& head) {
  return head.head < 0 ? "layer " + std::to_string(head.layer) : head_name(head.layer, head.head);
}

Result<figure::Figure> DistanceProfile::draw(const ViewInput& input, const Numbers& profiles) const {
  LOCUS_TRY(const std::vector<BaseSums> sums,
            sums_of(input, option<std::string>(input, "bases"), option<std::int64_t>(input, "width"),
                    option<std::string>(input, "theory")));
  if (!sums.empty()) {
    return sums_figure(sums);
  }
  const bool logarithmic = option<bool>(input, "log-distance");
  const auto along = option<std::string>(input, "along");
  const bool by_tokens = along == "tokens" && !has_atlas(input);
  figure::Panel panel;
  Extent values;
  Extent distances;
  std::string note;
  bool differ = false;  // the heads of the columns
  for (std::size_t c = 0; c < profiles.size(); ++c) {
    const HeadRef head = head_of_column(input, c);
    const bool own = head != head_of_column(input, 0) || has_own_head(input, c);
    const std::string name = input.columns[c].name + (own ? " " + own_head(head) : "");
    differ = differ || own;
    figure::Curve curve = profile_curve(name, *profiles[c], logarithmic, by_tokens);
    for (const std::vector<double>* each : {&curve.low, &curve.y, &curve.high}) {
      values.add(*each);
    }
    const std::vector<std::int64_t>& edges = profiles[c]->scores.edges;
    distances.add(
        {static_cast<double>(edges.front()), static_cast<double>(edges.back() - (along == "tokens" ? 0 : 1))});
    panel.layers.emplace_back(std::move(curve));
    if (profiles[c]->sink > 0) {
      note += "; " + (profiles.size() > 1 ? name + ": " : std::string()) + sink_note(profiles[c]->sink);
    }
    for (const models::TheoryCurve& expected : profiles[c]->theory) {
      panel.layers.emplace_back(theory_line(name, expected, profiles[c]->scores, logarithmic));
      note += expected.note.empty() ? "" : "; " + name + ": " + expected.note;
    }
  }
  const bool divided = relative(input);
  panel.title = differ ? "" : head_label(input.columns[0].trace->model(), input.layer, input.head);
  const models::ModelInfo& model = input.columns[0].trace->model();
  const bool causal = model.causal;
  const auto farthest = model.farthest(head_of_column(input, 0).layer);
  panel.x.label = distance_label(along, causal);
  panel.x.view = distances.padded(0);
  panel.x.view.low = logarithmic ? 1 : panel.x.view.low;
  panel.x.view.high = std::max(panel.x.view.high, panel.x.view.low + 1);
  panel.x.logarithmic = logarithmic;
  panel.y.label =
      quantity_label(input, input.quantity) + (divided ? causal && !farthest ? " × (i + 1)" : " × keys seen" : "");
  panel.y.view = values.padded();
  panel.y.view.low = input.quantity == models::Quantity::kWeight ? 0 : panel.y.view.low;
  const analysis::DistanceProfile& of_first = profiles.front()->scores;
  panel.note = "mean; band: 10 % to 90 % of the queries";
  if (of_first.rows_used < of_first.rows) {
    panel.note += ", " + std::to_string(of_first.rows_used) + " of " + std::to_string(of_first.rows);
  }
  if (by_tokens && !profiles.front()->drawn(of_first.cells.size() - 1)) {
    panel.note += "; " + rare_note();
  }
  panel.note = has_atlas(input) ? atlases_note(input, panel.note) : panel.note + note;
  const std::int64_t shown = of_first.edges.back() - 1;
  if (along == "tokens" && farthest && !has_atlas(input) && shown + 1 < input.columns[0].trace->length()) {
    panel.note += "; " + window_note(shown);
  }
  if (along == "tokens") {
    LOCUS_CHECK(mark_waves(input, panel));
    mark_trained_distance(input.columns, panel);
  }
  return figure_of(std::move(panel));
}

// Values of a profile from distance `first` to before `last`; NaN for those that it does not have.
Series padded_series(std::string name, const std::vector<double>& values, const DistanceCurves& profile, Range all) {
  Series series{std::move(name), std::vector<double>(static_cast<std::size_t>(all.size()), kNaN)};
  const auto offset = static_cast<std::size_t>(profile.scores.edges.front() - all.begin);
  std::copy_n(values.begin(), std::min(values.size(), profile.scores.mean.size()),
              series.values.begin() + static_cast<std::ptrdiff_t>(offset));
  return series;
}

// Bins instead of single distances, which atlases have: each column has its own.
Data table_of_bins(const ViewInput& input, const std::vector<std::shared_ptr<const DistanceCurves>>& profiles) {
  std::vector<Series> series;
  for (std::size_t c = 0; c < profiles.size(); ++c) {
    const std::string& name = input.columns[c].name;
    const analysis::DistanceProfile& scores = profiles[c]->scores;
    series.push_back({name + " from", {scores.edges.begin(), scores.edges.end() - 1}});
    series.push_back({name + " mean", scores.mean});
    series.push_back({name + " low", scores.low});
    series.push_back({name + " high", scores.high});
    series.push_back({name + " count", {scores.cells.begin(), scores.cells.end()}});
  }
  return table_of(std::move(series));
}

Result<Data> DistanceProfile::table(const ViewInput& input, const Numbers& profiles) const {
  LOCUS_TRY(const std::vector<BaseSums> sums,
            sums_of(input, option<std::string>(input, "bases"), option<std::int64_t>(input, "width"),
                    option<std::string>(input, "theory")));
  if (!sums.empty()) {
    return sums_table(sums);
  }
  if (has_atlas(input)) {
    return table_of_bins(input, profiles);
  }
  Range all{profiles.front()->scores.edges.front(), profiles.front()->scores.edges.back()};
  for (const Pointer& profile : profiles) {
    all = {std::min(all.begin, profile->scores.edges.front()), std::max(all.end, profile->scores.edges.back())};
  }
  std::vector<Series> series{{"distance", {}}};
  for (std::int64_t distance = all.begin; distance < all.end; ++distance) {
    series.front().values.push_back(static_cast<double>(distance));
  }
  for (std::size_t c = 0; c < profiles.size(); ++c) {
    const std::string& name = input.columns[c].name;
    const DistanceCurves& profile = *profiles[c];
    const analysis::DistanceProfile& scores = profile.scores;
    const auto add = [&](const std::string& what, const std::vector<double>& values) {
      series.push_back(padded_series(name + what, values, profile, all));
    };
    add(" mean", scores.mean);
    add(" low", scores.low);
    add(" high", scores.high);
    add(" count", {scores.cells.begin(), scores.cells.end()});
    for (const models::TheoryCurve& expected : profile.theory) {
      add(": " + expected.name, expected.mean);
      if (!expected.deviation.empty()) {
        add(": " + expected.name + ", deviation", expected.deviation);
      }
    }
  }
  return table_of(std::move(series));
}

}  // namespace

const View& distance_profile_view() {
  return made_once<DistanceProfile>();
}

}  // namespace locus::views
