// `pair-profile`: what each rotary pair gives to the mean logit at a distance, and how much of it is position alone.
#include <algorithm>
#include <cmath>

#include "app/views/curves/distance_curves.h"
#include "app/views/shared/measured/measured_view.h"
#include "app/views/shared/measured/pair_rows.h"
#include "app/views/shared/plots/trained_length.h"
#include "app/views/shared/score_maps/score_map.h"
#include "app/views/shared/view.h"
#include "core/base/controls.h"
#include "models/api/pairs.h"

namespace locus::views {

namespace {

struct PairCurves : analysis::PairProfile {
  double sink = 0;  // mean weight of the first token, where it is left out as a sink
};

struct PairCurvesKey {
  HeadRef head;
  std::int64_t skip = 0;  // first keys that are left out; kSkipSinks: the first token where the head sinks there

  friend bool operator==(const PairCurvesKey&, const PairCurvesKey&) = default;
};

std::size_t cached_bytes(const PairCurves& profile) {
  const std::size_t curves = profile.count.size() + profile.logit.size() + profile.carrier.size();
  return sizeof profile + views::cached_bytes(profile.parts) + pair_bytes(profile.pairs) + curves * sizeof(double);
}

class PairProfile final : public MeasuredView<PairCurvesKey, PairCurves> {
 public:
  const ViewInfo& info() const override { return info_; }
  Selection pick(const ViewInput& input, const Hit& hit) const override {
    const std::size_t column = hit.panel % input.columns.size();
    const auto profile = kept(input, column);
    return profile && hit.panel < input.columns.size() ? pick_pair(hit.y, profile->parts.rows, column) : Selection{};
  }
  Selection drag(const ViewInput& input, const Hit& from, const Hit& to) const override {
    return pick_band(pick(input, from), pick(input, to));
  }

 protected:
  Result<PairCurvesKey> measure_key(const ViewInput& input, std::size_t column) const override {
    LOCUS_CHECK(needs_one_head(input));
    LOCUS_CHECK(band_of(input));
    LOCUS_CHECK(band_of(input, "without"));
    return PairCurvesKey{head_of_column(input, column), option<std::int64_t>(input, "skip-first")};
  }
  Result<PairCurves> measure(const PairCurvesKey& key, const MeasureContext& context) const override {
    const models::Trace& trace = *context.column.trace;
    double sink = 0;
    if (key.skip == kSkipSinks && trace.image_grid().rows == 0) {
      LOCUS_TRY(sink, sink_weight(trace, key.head, context.stop));
    }
    const std::int64_t skip = key.skip == kSkipSinks ? (sink > 0 ? 1 : 0) : key.skip;
    LOCUS_TRY(auto profile,
              models::pair_profile(trace, key.head.layer, key.head.head, skip, context.stop, context.progress));
    return PairCurves{std::move(profile), sink};
  }
  Result<figure::Figure> draw(const ViewInput& input, const Numbers& numbers) const override;
  Result<Data> table(const ViewInput& input, const Numbers& numbers) const override {
    const Field& parts = numbers.front()->parts;
    if (option<std::string>(input, "data") == "curves") {
      std::vector<Series> series;
      for (std::size_t n = 0; n < numbers.size(); ++n) {
        const std::string& name = input.columns[n].name;
        series.push_back({name + " count", numbers[n]->count});
        series.push_back({name + " logit", numbers[n]->logit});
        series.push_back({name + " carrier", numbers[n]->carrier});
      }
      return table_of(std::move(series), "distance");
    }
    return Data{{parts.rows, parts.columns}, parts.values, {}};
  }

 private:
  ViewInfo info_ = described({
      .name = "pair-profile",
      .caption = "What every rotary frequency adds to the score, depending on how far back a token is.",
      .shows =
          "Above, pairs × distance: the contribution of each rotary pair to the logit, averaged over all queries at "
          "that distance. Below: their sum, the mean logit; the carrier, which the mean query and the mean key alone "
          "would give; and R², the share of the mean logit's variation over distance that the carrier explains: 1 "
          "means position alone.",
      .uses_layer = true,
      .uses_head = true,
      .controls = {words("without", "Without",
                         "Add a curve of the mean logit without these pairs: a:b, or a single pair", "none; 3:7, or 3"),
                   choice("data", "Data",
                          "What is exported: the contributions of all pairs, or the curves with their counts",
                          {"parts", "curves"}),
                   whole("skip-first", "Leave out first keys",
                         "Number of keys to exclude at the start of the text; -1: the first token where it has more "
                         "than 0.3 of the head's weight",
                         kSkipSinks, kSkipSinks, 64, "sinks"),
                   band_control()},
  });
};

figure::Curve curve_of(const std::string& name, const std::vector<double>& values, Extent& extent) {
  extent.add(values);
  return curve_through(name, counted(values.size()), values);
}

// The mean logit less some rows.
std::vector<double> logit_without(const PairCurves& profile, Range pairs) {
  std::vector<double> values = profile.logit;
  for (std::int64_t row = pairs.begin; row < std::min(pairs.end, profile.parts.rows); ++row) {
    for (std::size_t n = 0; n < values.size(); ++n) {
      values[n] -= static_cast<double>(profile.parts.at(row, static_cast<std::int64_t>(n)));
    }
  }
  return values;
}

// The numbers of cells at each distance, 0 where too few queries have it: a text with as many as a distance of 0.
std::vector<double> enough_of(const std::vector<double>& count) {
  std::vector<double> enough = count;  // of one distance at least
  for (double& each : enough) {
    each = is_rare(each, static_cast<std::int64_t>(count.front())) ? 0 : each;
  }
  return enough;
}

std::vector<double> where_enough(std::vector<double> values, const std::vector<double>& enough) {
  for (std::size_t n = 0; n < values.size(); ++n) {
    values[n] = enough[n] > 0 ? values[n] : kNaN;
  }
  return values;
}

// "pair 9 (wavelength 331) has 74 % of the variance over distance".
std::string strongest_text(const PairCurves& profile) {
  const auto strongest = std::ranges::max_element(
      profile.share, [](double a, double b) { return std::isnan(b) ? false : std::isnan(a) || a < b; });
  if (strongest == profile.share.end() || std::isnan(*strongest)) {
    return {};
  }
  const analysis::PairRow& row = profile.pairs.rows[static_cast<std::size_t>(strongest - profile.share.begin())];
  return (profile.pairs.planes ? "pair " : "") + row.name +
         (std::isfinite(row.wavelength) ? " (wavelength " + short_number(row.wavelength) + ")" : "") + " has " +
         short_number(100 * *strongest) + " % of the variance over distance";
}

Result<figure::Figure> PairProfile::draw(const ViewInput& input, const Numbers& numbers) const {
  LOCUS_TRY(const std::optional<Range> band, band_of(input));
  LOCUS_TRY(const std::optional<Range> without, band_of(input, "without"));
  Fields fields;
  for (const Pointer& profile : numbers) {
    fields.push_back(parts_on_screen(profile->parts, enough_of(profile->count)));
  }
  figure::Figure figure = figure_across(numbers.size());
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    const PairCurves& profile = *numbers[n];
    const ViewInput own = of_column(input, n);
    const Column& column = input.columns[n];
    figure::Panel panel = pair_map(profile.pairs, fields[n], scale_of(input, Sign::kZeroCentred, fields, n));
    name_after(column, panel, " · " + head_label(column.trace->model(), own.layer, own.head));
    panel.x.view = {0, static_cast<double>(profile.parts.columns)};
    panel.color_bar_label = "mean part of the logit";
    frame_band(band, profile.parts.rows, false, panel);
    figure.panels.push_back(std::move(panel));
  }
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    const PairCurves& profile = *numbers[n];
    figure::Panel panel;
    Extent extent;
    panel.x.label = profile.pairs.grid ? "distance (" + units(profile.pairs) + ")" : "distance Δ (tokens)";
    panel.x.view = {0, static_cast<double>(profile.parts.columns)};
    panel.y.label = "mean logit";
    const std::vector<double> enough = enough_of(profile.count);
    panel.layers.emplace_back(curve_of("mean logit", where_enough(profile.logit, enough), extent));
    if (!profile.carrier.empty()) {
      figure::Curve carrier = curve_of("carrier", where_enough(profile.carrier, enough), extent);
      carrier.dashed = true;
      panel.layers.emplace_back(std::move(carrier));
    }
    if (without) {
      panel.layers.emplace_back(curve_of("without " + option<std::string>(input, "without"),
                                         where_enough(logit_without(profile, *without), enough), extent));
    }
    panel.y.view = extent.padded();
    panel.note = joined_notes("R² of the carrier: " + short_number(profile.explained), strongest_text(profile));
    if (!std::isnan(profile.still_share)) {
      panel.note += "; pairs that never complete a turn over " + span_text(profile.pairs) + ": " +
                    short_number(100 * profile.still_share) + " %";
    }
    const auto layer = static_cast<std::size_t>(head_of_column(input, n).layer);
    if (input.columns[n].trace->model().layer_info[layer].soft_cap > 0) {
      panel.note += "; logits before the cap";
    }
    if (profile.sink > 0) {
      panel.note += "; " + sink_note(profile.sink);
    }
    if (enough != profile.count) {
      panel.note += "; " + rare_note();
    }
    mark_trained_distance({&input.columns[n], 1}, panel);
    figure.panels.push_back(std::move(panel));
  }
  return figure;
}

}  // namespace

const View& pair_profile_view() {
  return made_once<PairProfile>();
}

}  // namespace locus::views
