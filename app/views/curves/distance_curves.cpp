#include "app/views/curves/distance_curves.h"

#include <algorithm>
#include <cmath>

#include "app/views/curves/atlas_profile.h"
#include "app/views/shared/plots/series.h"
#include "core/base/numbers.h"
#include "models/api/atlas_trace.h"

namespace locus::views {

namespace {

constexpr double kSink = 0.3;           // mean weight of the first token from which on it is a sink
constexpr std::int64_t kMaxRows = 512;  // queries that are read; of more, some evenly apart

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

// The places of tokens along a component, and which are compared: for t all, for h and w the cells of a picture.
Status place_tokens(const Column& column, const std::string& along, analysis::DistanceProfileOptions& options) {
  const models::Trace& trace = *column.trace;
  const std::vector<std::array<double, 3>> vectors = trace.position_vectors();
  if (vectors.empty()) {
    return unsupported("distances along t, h or w need positions of three components (M-RoPE); those of " +
                       column.name + " are one number");
  }
  const std::size_t component = along == "t" ? 0 : along == "h" ? 1 : 2;
  for (const std::array<double, 3>& vector : vectors) {
    options.places.push_back(vector[component]);
  }
  options.groups.assign(vectors.size(), component == 0 ? 0 : -1);
  const std::vector<models::ImageSpan>& images = trace.images();
  if (component > 0 && images.empty()) {
    return unsupported("distances along h or w are those of a picture's cells; " + column.name +
                       " read text without a picture in it");
  }
  for (std::size_t n = 0; component > 0 && n < images.size(); ++n) {
    for (std::int64_t cell = 0; cell < images[n].count; ++cell) {
      options.groups[static_cast<std::size_t>(images[n].token(cell))] = static_cast<std::int64_t>(n);
    }
  }
  return {};
}

}  // namespace

Result<double> sink_weight(const models::Trace& trace, const HeadRef& head, const StopToken& stop) {
  models::MapRequest request;
  request.layer = head.layer;
  request.head = head.head;
  request.rows = {0, trace.length()};
  request.columns = {0, 1};
  const auto weights = trace.map(request, stop);
  if (!weights && weights.error().code == ErrorCode::kCancelled) {
    return weights.error();
  }
  double sum = 0;
  for (std::int64_t row = 1; weights && row < weights->rows; ++row) {
    sum += std::isfinite(weights->at(row, 0)) ? static_cast<double>(weights->at(row, 0)) : 0;
  }
  const double mean = sum / static_cast<double>(std::max<std::int64_t>(trace.length() - 1, 1));
  return mean > kSink ? mean : 0;
}

std::string sink_note(double weight) {
  return "without the first token, which has " + fixed_text(100 * weight, 0) + " % of the weight";
}

std::size_t cached_bytes(const DistanceCurves& profile) {
  const analysis::DistanceProfile& scores = profile.scores;
  return sizeof profile + views::cached_bytes(scores.edges) + views::cached_bytes(scores.mean) +
         views::cached_bytes(scores.low) + views::cached_bytes(scores.high) + views::cached_bytes(scores.cells) +
         3 * views::cached_bytes(scores.mean) * profile.theory.size();
}

figure::Curve theory_line(const std::string& name, const models::TheoryCurve& expected,
                          const analysis::DistanceProfile& scores, bool logarithmic) {
  figure::Curve line;
  const double share = explained(scores, expected.mean);
  line.name = name + ": " + expected.name +
              (std::isnan(share) ? "" : std::string(", R² ") + (share < 0 ? "−" : "") + fixed_text(std::abs(share), 3));
  line.dashed = true;
  const std::size_t end = std::min(expected.mean.size(), static_cast<std::size_t>(scores.edges.back()));
  for (std::size_t n = logarithmic ? 1 : 0; n < end; ++n) {
    line.x.push_back(static_cast<double>(n));
    line.y.push_back(expected.mean[n]);
    if (!expected.deviation.empty()) {
      line.low.push_back(expected.mean[n] - expected.deviation[n]);
      line.high.push_back(expected.mean[n] + expected.deviation[n]);
    }
  }
  return line;
}

Result<DistanceCurves> measure_distances(const DistanceProfileKey& key, const MeasureContext& context) {
  if (const models::Atlas* const atlas = models::atlas_of(*context.column.trace)) {
    if (key.along != "tokens") {
      return unsupported("an atlas has distances in tokens alone");
    }
    DistanceCurves profile;
    LOCUS_TRY(profile.scores, atlas_profile(*atlas, {key.layer, key.head}, key.quantity));
    return profile;
  }
  const std::int64_t length = context.column.trace->length();
  analysis::DistanceProfileOptions options;
  options.quantity = key.quantity;
  options.head = key.head;
  options.bins = std::numeric_limits<std::int64_t>::max();  // every distance for itself
  options.skip_keys = std::max<std::int64_t>(key.skip, 0);
  options.cell_limit = kMaxRows * length;
  options.relative_to_uniform = key.baseline;
  if (key.along != "tokens") {
    LOCUS_CHECK(place_tokens(context.column, key.along, options));
  }
  DistanceCurves profile;
  if (key.skip == kSkipSinks && key.along == "tokens") {
    LOCUS_TRY(profile.sink, sink_weight(*context.column.trace, {key.layer, key.head}, context.stop));
    options.skip_keys = profile.sink > 0 ? 1 : 0;
  }
  LOCUS_TRY(profile.scores,
            models::distance_profile(*context.column.trace, key.layer, options, context.stop, context.progress));
  if (key.along == "tokens") {
    LOCUS_TRY(profile.theory, theory_of(key, context));
  }
  return profile;
}

std::string window_note(std::int64_t farthest) {
  return "no query sees farther than " + std::to_string(farthest) + (farthest == 1 ? " token" : " tokens");
}

std::string distance_label(const std::string& along, bool causal) {
  if (along == "t") {
    return "time apart (query − key)";
  }
  if (along != "tokens") {
    return std::string(along == "h" ? "rows" : "columns") + " apart (query − key, cells of a picture)";
  }
  return causal ? "distance Δ (tokens)" : "distance |Δ| (tokens)";
}

}  // namespace locus::views
