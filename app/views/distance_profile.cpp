// `distance-profile`: how a head's scores depend on the distance between query and key.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "app/views/controls.h"
#include "app/views/list.h"
#include "app/views/score_map.h"
#include "models/analyses.h"

namespace locus::views {

namespace {

constexpr std::int64_t kMostRows = 512;  // queries that are read; more are sampled evenly
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// One value a distance Δ = 0 … T−1.
struct Profile {
  std::vector<double> mean;
  std::vector<double> low;   // 10 % quantile
  std::vector<double> high;  // 90 % quantile
  std::vector<double> count;
  models::TheoryCurve theory;  // of the mean logit; empty where there is none
};

class DistanceProfile final : public View {
 public:
  const ViewInfo& info() const override { return info_; }
  Result<figure::Figure> figure(const ViewInput& input) const override;
  Result<Data> data(const ViewInput& input) const override;

 private:
  ViewInfo info_{
      .name = "distance-profile",
      .title = "Distance profile",
      .shows =
          "The mean over queries, and the band from the 10 % to the 90 % quantile, by the distance Δ = i − j from "
          "query to key. Weights can be divided by 1/(i+1), what a head without preferences would give.",
      .look_for =
          "A fall at short distances is locality; a flat line is none; waves are the encoding's own rotation. "
          "Compare columns: the same text under another encoding. Theory, over logits: RoPE's mean score is "
          "√D·(μ₀ C(λ) + ν₀ S(λ)), C(λ) = 1/D Σ cos λθ_d and S(λ) with sin (Eq. 24), with μ₀ and ν₀ from the head's "
          "own "
          "unrotated queries and keys; the paper turns by 2πλθ. TAPA's is E[amplitude]·(1 + (2πΔ^α s/√d)²)^(−d/2).",
      .paper = "TAPA §2",
      .uses_layer = true,
      .uses_head = true,
      .uses_quantity = true,
      .controls = {{Control::Kind::kToggle,
                    "baseline",
                    "Relative to uniform",
                    "Divide weights by 1/(i+1), the weight of an even average over all keys",
                    true,
                    0,
                    1,
                    {}},
                   {Control::Kind::kToggle,
                    "log-distance",
                    "Logarithmic Δ",
                    "A logarithmic axis of distances",
                    false,
                    0,
                    1,
                    {}},
                   whole("skip-first", "Leave out first keys",
                         "Keys at the start of the text that are left out: attention sinks", 0, 0, 64, "none"),
                   choice("theory", "Theory",
                          "What theory expects of the mean logit (rope and tapa), in a model's angles or the paper's",
                          {"none", "llama", "paper"})},
  };
};

double quantile(std::vector<float>& values, double share) {
  if (values.empty()) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const auto index = static_cast<std::ptrdiff_t>(std::llround(share * static_cast<double>(values.size() - 1)));
  std::nth_element(values.begin(), values.begin() + index, values.end());
  return static_cast<double>(values[static_cast<std::size_t>(index)]);
}

// values[Δ]: every finite value at that distance, of the sampled queries.
Result<std::vector<std::vector<float>>> collect(const ViewInput& input, const Column& column) {
  LOCUS_TRY(const bool baseline, input.options.boolean("baseline", true));
  LOCUS_TRY(const std::int64_t skip, input.options.integer("skip-first", 0));
  const std::int64_t length = column.trace->length();
  const bool divide = baseline && input.quantity == models::Quantity::kWeight;
  std::vector<std::vector<float>> values(static_cast<std::size_t>(length));
  const std::int64_t step = std::max<std::int64_t>(1, (length + kMostRows - 1) / kMostRows);
  for (std::int64_t i = length - 1; i >= 0; i -= step) {
    models::MapRequest request;
    request.layer = input.layer;
    request.head = input.head;
    request.quantity = input.quantity;
    request.rows = {i, i + 1};
    request.columns = {0, i + 1};  // keys after the query have no distance here
    auto row = column.trace->map(request, input.stop);
    if (!row) {
      return row.error().within(column.name);
    }
    for (std::int64_t j = skip; j <= i; ++j) {
      const float value = row->at(0, j) * (divide ? static_cast<float>(i + 1) : 1.0F);
      if (std::isfinite(value)) {
        values[static_cast<std::size_t>(i - j)].push_back(value);
      }
    }
    report(input.progress, 1 - static_cast<double>(i) / static_cast<double>(length), column.name);
  }
  return values;
}

// Encodings that have no theory have an empty curve.
Result<models::TheoryCurve> theory_of(const ViewInput& input, const Column& column) {
  LOCUS_TRY(const std::string theory, input.options.text("theory", "none"));
  if (theory == "none" || input.quantity != models::Quantity::kLogit || input.head == kMean) {
    return models::TheoryCurve{};
  }
  std::vector<double> distances(static_cast<std::size_t>(column.trace->length()));
  std::iota(distances.begin(), distances.end(), 0.0);
  const auto angle = theory == "paper" ? models::TheoryAngle::kPaper : models::TheoryAngle::kLlama;
  auto curve = models::theory_curve(*column.trace, input.layer, input.head, distances, angle);
  if (!curve && curve.error().code != ErrorCode::kUnsupported) {
    return curve.error().within(column.name);
  }
  return curve ? *std::move(curve) : models::TheoryCurve{};
}

Result<Profile> profile_of(const ViewInput& input, const Column& column) {
  LOCUS_TRY(auto values, collect(input, column));
  Profile profile;
  LOCUS_TRY(profile.theory, theory_of(input, column));
  for (std::vector<float>& each : values) {
    double sum = 0;
    for (const float value : each) {
      sum += static_cast<double>(value);
    }
    profile.count.push_back(static_cast<double>(each.size()));
    profile.mean.push_back(each.empty() ? static_cast<double>(kNaN) : sum / static_cast<double>(each.size()));
    profile.low.push_back(quantile(each, 0.1));
    profile.high.push_back(quantile(each, 0.9));
  }
  return profile;
}

Result<figure::Figure> DistanceProfile::figure(const ViewInput& input) const {
  LOCUS_CHECK(check(*this, input));
  LOCUS_TRY(const bool baseline, input.options.boolean("baseline", true));
  LOCUS_TRY(const bool logarithmic, input.options.boolean("log-distance", false));
  figure::Panel panel;
  double low = 0;
  double high = 0;
  double longest = 1;
  bool first = true;
  for (const Column& column : input.columns) {
    LOCUS_TRY(const Profile profile, profile_of(input, column));
    figure::Curve curve;
    curve.name = column.name;
    for (std::size_t n = logarithmic ? 1 : 0; n < profile.mean.size(); ++n) {
      if (std::isnan(profile.mean[n])) {
        continue;
      }
      curve.x.push_back(static_cast<double>(n));
      curve.y.push_back(profile.mean[n]);
      curve.low.push_back(profile.low[n]);
      curve.high.push_back(profile.high[n]);
      low = first ? profile.low[n] : std::min({low, profile.low[n], profile.mean[n]});
      high = first ? profile.high[n] : std::max({high, profile.high[n], profile.mean[n]});
      first = false;
    }
    longest = std::max(longest, static_cast<double>(profile.mean.size()));
    panel.layers.emplace_back(std::move(curve));
    if (!profile.theory.mean.empty()) {
      figure::Curve theory;
      theory.name = column.name + ": " + profile.theory.name;
      theory.dashed = true;
      for (std::size_t n = logarithmic ? 1 : 0; n < profile.theory.mean.size(); ++n) {
        theory.x.push_back(static_cast<double>(n));
        theory.y.push_back(profile.theory.mean[n]);
      }
      panel.layers.emplace_back(std::move(theory));
    }
  }
  const bool divided = baseline && input.quantity == models::Quantity::kWeight;
  const double margin = high > low ? 0.05 * (high - low) : 1;
  panel.title = head_label(input.columns[0].trace->model(), input.layer, input.head);
  panel.x.label = "distance Δ (tokens)";
  panel.x.view = {logarithmic ? 1.0 : 0.0, longest};
  panel.x.logarithmic = logarithmic;
  panel.y.label = quantity_label(input.quantity) + (divided ? " × (i + 1)" : "");
  panel.y.view = {input.quantity == models::Quantity::kWeight ? 0 : low - margin, high + margin};
  panel.note = "mean; band: 10 % to 90 % of the queries";
  figure::Figure figure;
  figure.panels.push_back(std::move(panel));
  return figure;
}

Result<Data> DistanceProfile::data(const ViewInput& input) const {
  LOCUS_CHECK(check(*this, input));
  std::vector<Profile> profiles;
  std::size_t rows = 0;
  Data data;
  data.columns = {"distance"};
  for (const Column& column : input.columns) {
    LOCUS_TRY(auto profile, profile_of(input, column));
    rows = std::max(rows, profile.mean.size());
    profiles.push_back(std::move(profile));
    for (const char* what : {" mean", " low", " high", " count"}) {
      data.columns.push_back(column.name + what);
    }
    if (!profiles.back().theory.mean.empty()) {
      data.columns.push_back(column.name + ": " + profiles.back().theory.name);
    }
  }
  for (std::size_t n = 0; n < rows; ++n) {
    data.values.push_back(static_cast<float>(n));
    for (const Profile& profile : profiles) {
      for (const auto* series : {&profile.mean, &profile.low, &profile.high, &profile.count}) {
        data.values.push_back(n < series->size() ? static_cast<float>((*series)[n]) : kNaN);
      }
      if (!profile.theory.mean.empty()) {
        data.values.push_back(n < profile.theory.mean.size() ? static_cast<float>(profile.theory.mean[n]) : kNaN);
      }
    }
  }
  data.shape = {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(data.columns.size())};
  return data;
}

}  // namespace

const View& distance_profile_view() {
  static const DistanceProfile view;
  return view;
}

}  // namespace locus::views
