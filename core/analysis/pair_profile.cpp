#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "core/analysis/correlation.h"
#include "core/analysis/pair_layer.h"
#include "core/analysis/row_blocks.h"
#include "core/attention/tasks.h"
#include "core/base/numbers.h"
#include "core/position/tapa.h"

namespace locus::analysis {

namespace {

// One thread's sequences.
struct Sequences {
  std::vector<double> q0, q1, k0, k1;
  std::optional<Correlator> correlator;
};

// Channel `channel` of the tokens of a segment, each at its entry.
void gather(const PairLayer& layer, const Places& places, Range segment, const float* tokens, std::int64_t width,
            std::int64_t channel, std::vector<double>& to) {
  to.assign(index(segment.size()), 0.0);
  if (channel < 0) {
    return;
  }
  const bool grid = layer.grid();
  const Range all = grid ? layer.placed : segment;
  for (std::int64_t t = all.begin; t < all.end; ++t) {
    to[index((grid ? places.of_token[index(t)] : t) - segment.begin)] =
        static_cast<double>(tokens[t * width + channel]);
  }
}

// Σ over cells of ⟨q^m, k^m⟩ by distance; what fades with distance, fades.
void correlate(const PairLayer& layer, const Places& places, std::int64_t head, std::int64_t row, Sequences& with,
               std::vector<double>& sums) {
  const std::vector<std::int64_t>& channels = layer.channels(row);
  const std::int64_t width = layer.query.size(2);
  Correlator& correlator = *with.correlator;
  correlator.begin();
  for (const Range segment : places.segments) {
    for (std::size_t n = 0; n < channels.size(); n += 2) {  // two channels are one complex number
      const std::int64_t second = n + 1 < channels.size() ? channels[n + 1] : -1;
      gather(layer, places, segment, layer.query_of(head), width, channels[n], with.q0);
      gather(layer, places, segment, layer.query_of(head), width, second, with.q1);
      gather(layer, places, segment, layer.key_of(head), width, channels[n], with.k0);
      gather(layer, places, segment, layer.key_of(head), width, second, with.k1);
      for (std::int64_t t = segment.begin; t < std::min(segment.end, places.skip_keys); ++t) {
        with.k0[index(t - segment.begin)] = with.k1[index(t - segment.begin)] = 0;
      }
      correlator.add({with.q0, with.q1}, {with.k0, with.k1});
    }
  }
  correlator.finish();
  sums.assign(places.count.size(), 0.0);
  for (const Lag& lag : places.lags) {
    const double fading = layer.form.decay.defined() ? std::exp(layer.decay(row, lag.steps[0])) : 1.0;
    sums[index(lag.distance)] += fading * correlator.at(lag.lag);
  }
}

// The mean of a row's unrotated query and key.
struct Means {
  double query_real = 0, query_imaginary = 0, key_real = 0, key_imaginary = 0;
};

Result<Means> means_of(const PairLayer& layer, std::int64_t head, std::int64_t pair, Range keys) {
  LOCUS_TRY(const Unrotated points, unrotated(layer, head, pair));
  const auto mean = [&](const std::vector<double>& of, Range tokens) {
    return std::accumulate(of.begin() + tokens.begin, of.begin() + tokens.end, 0.0) /
           static_cast<double>(tokens.size());
  };
  return Means{mean(points.query_real, layer.placed), mean(points.query_imaginary, layer.placed),
               mean(points.key_real, keys), mean(points.key_imaginary, keys)};
}

// The tokens whose keys count.
Range keys_of(const PairLayer& layer, const Places& places) {
  return {std::max(layer.placed.begin, places.skip_keys), layer.placed.end};
}

// Σ over some channels of the products of their means.
double mean_product(const PairLayer& layer, std::int64_t head, const std::vector<std::int64_t>& channels, Range keys) {
  const std::int64_t width = layer.query.size(2);
  double total = 0;
  for (const std::int64_t channel : channels) {
    double query = 0;
    double key = 0;
    for (std::int64_t t = layer.placed.begin; t < layer.placed.end; ++t) {
      query += static_cast<double>(layer.query_of(head)[t * width + channel]);
      key += keys.contains(t) ? static_cast<double>(layer.key_of(head)[t * width + channel]) : 0;
    }
    total += query * key;
  }
  return total / (static_cast<double>(layer.placed.size()) * static_cast<double>(keys.size()));
}

// Empty where the means tell nothing: uneven positions, no planes.
Result<std::vector<double>> carrier_of(const PairLayer& layer, const Places& places, std::int64_t head) {
  if (layer.form.planes.empty() || !(layer.grid() || places.step)) {
    return std::vector<double>();
  }
  std::vector<double> sums(places.count.size(), 0.0);
  const double magnitude = layer.form.magnitude * layer.form.magnitude;
  for (std::int64_t pair = 0; pair < layer.form.pairs(); ++pair) {
    const Result<Means> means = means_of(layer, head, pair, keys_of(layer, places));
    if (!means && means.error().code == ErrorCode::kUnsupported) {
      return std::vector<double>();
    }
    if (!means) {
      return means.error();
    }
    // q̄·conj(k̄)
    const double real = means->query_real * means->key_real + means->query_imaginary * means->key_imaginary;
    const double imaginary = means->query_imaginary * means->key_real - means->query_real * means->key_imaginary;
    for (const Lag& lag : places.lags) {
      const double angle = layer.angle(head, pair, lag.steps);
      sums[index(lag.distance)] += lag.count * magnitude * std::exp(layer.decay(pair, lag.steps[0])) *
                                   (real * std::cos(angle) - imaginary * std::sin(angle));
    }
  }
  const double rest = mean_product(layer, head, layer.form.rest, keys_of(layer, places));
  for (std::size_t n = 0; n < sums.size(); ++n) {
    sums[n] = places.count[n] > 0 ? layer.scale * (sums[n] / places.count[n] + rest) : kNaN;
  }
  return sums;
}

// TAPA: amplitude and cosine of the mean query and the mean key.
std::vector<double> modulated_carrier(const PairLayer& layer, const Places& places, std::int64_t head) {
  if (!places.step) {
    return {};
  }
  const position::Modulation& modulation = *layer.form.modulation;
  const double amplitude =
      modulation.amplitude_scale * mean_product(layer, head, layer.channels(0), keys_of(layer, places));
  double phase = mean_product(layer, head, layer.channels(1), keys_of(layer, places));
  if (modulation.linear) {
    const at::Tensor query = layer.query.select(0, head).slice(1, layer.channels(1).front());
    const at::Tensor key = layer.key.select(0, head / layer.group).slice(1, layer.channels(1).front());
    phase = query.to(at::kDouble).mean(0).sum().item<double>() +
            key.to(at::kDouble).slice(0, places.skip_keys).mean(0).sum().item<double>();
  }
  std::vector<double> carrier(places.count.size(), kNaN);
  for (const Lag& lag : places.lags) {
    const double steps = std::abs(lag.steps[0]);
    const double turning = steps > 0 ? std::pow(steps, modulation.alpha) : 0.0;
    carrier[index(lag.distance)] =
        amplitude * std::cos(2 * std::numbers::pi * turning * modulation.phase_scale * phase);
  }
  return carrier;
}

// Σ of the logits themselves by distance, all cells in blocks of rows.
Status add_logits(const PairLayer& layer, const Places& places, std::int64_t head, std::vector<double>& sums,
                  StopToken stop, const Progress& progress) {
  const std::shared_ptr<const attention::ScoreSource> source(std::shared_ptr<void>(), layer.scores);
  const attention::ScoreField field(source, layer.mask);
  const auto visit = [&](Range rows, Range columns, const at::Tensor& scores) {
    const at::Tensor host = scores.select(0, 0).to(at::kCPU, at::kFloat).contiguous();
    const float* cell = host.data_ptr<float>();
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      const Range visible = layer.mask.columns({row, row + 1}, layer.length);
      for (std::int64_t column = columns.begin; column < columns.end; ++column, ++cell) {
        if (visible.contains(column) && column >= places.skip_keys) {
          sums[index(std::abs(row - column))] += static_cast<double>(*cell);
        }
      }
    }
    report(progress, static_cast<double>(rows.end) / static_cast<double>(layer.length), "phases by distance");
  };
  return for_each_row_block(field, attention::Quantity::kLogit, {head, head + 1}, {}, visit, stop);
}

// Sums by distance of every row.
Result<std::vector<std::vector<double>>> row_sums(const PairLayer& layer, const Places& places, std::int64_t head,
                                                  const StopToken& stop, const Progress& progress) {
  std::int64_t longest = 0;
  for (const Range segment : places.segments) {
    longest = std::max(longest, segment.size());
  }
  const Correlator tables(longest, places.most);
  const std::int64_t correlated = layer.form.modulation ? 1 : layer.rows();
  std::vector<std::vector<double>> sums(index(layer.rows()));
  const std::int64_t batch = std::int64_t{2} * std::max(at::get_num_threads(), 1);
  for (std::int64_t first = 0; first < correlated; first += batch) {
    report(progress, static_cast<double>(first) / static_cast<double>(correlated), "pairs by distance");
    const auto work = [&](std::int64_t task, Sequences& with) {
      if (!with.correlator) {
        with.correlator = tables;
      }
      correlate(layer, places, head, first + task, with, sums[index(first + task)]);
    };
    LOCUS_CHECK(attention::run_tasks<Sequences>(std::min(batch, correlated - first), stop, work));
  }
  if (layer.form.modulation) {
    std::vector<double>& amplitude = sums[0];
    std::vector<double>& phase = sums[1];
    phase.assign(places.count.size(), 0.0);
    LOCUS_CHECK(add_logits(layer, places, head, phase, stop, progress));
    for (std::size_t n = 0; n < phase.size(); ++n) {
      amplitude[n] *= layer.form.modulation->amplitude_scale;
      phase[n] -= amplitude[n];
    }
  }
  return sums;
}

// Means, variances and covariances over distances, each cell counted alike.
struct Weighted {
  const std::vector<double>& count;

  double mean(const std::vector<double>& of) const {
    double sum = 0;
    double cells = 0;
    for (std::size_t n = 0; n < count.size(); ++n) {
      if (count[n] > 0) {
        sum += count[n] * of[n];
        cells += count[n];
      }
    }
    return sum / cells;
  }
  double covariance(const std::vector<double>& a, const std::vector<double>& b) const {
    const double mean_a = mean(a);
    const double mean_b = mean(b);
    double sum = 0;
    for (std::size_t n = 0; n < count.size(); ++n) {
      if (count[n] > 0) {
        sum += count[n] * (a[n] - mean_a) * (b[n] - mean_b);
      }
    }
    return sum;
  }
  double squared_error(const std::vector<double>& a, const std::vector<double>& b) const {
    double sum = 0;
    for (std::size_t n = 0; n < count.size(); ++n) {
      if (count[n] > 0) {
        sum += count[n] * (a[n] - b[n]) * (a[n] - b[n]);
      }
    }
    return sum;
  }
};

// Shares of the logit's variance by carrier and row.
void explain(const std::vector<std::vector<double>>& parts, PairProfile& profile) {
  const Weighted cells{profile.count};
  const double variance = cells.covariance(profile.logit, profile.logit);
  profile.explained = profile.carrier.empty() || !(variance > 0)
                          ? kNaN
                          : 1 - cells.squared_error(profile.logit, profile.carrier) / variance;
  double still = 0;
  bool known = false;
  for (std::size_t row = 0; row < parts.size(); ++row) {
    profile.share.push_back(variance > 0 ? cells.covariance(parts[row], profile.logit) / variance : kNaN);
    const double wavelength = profile.pairs.rows[row].wavelength;
    known = known || std::isfinite(wavelength);
    still += std::isfinite(wavelength) && wavelength > profile.pairs.span ? profile.share.back() : 0.0;
  }
  profile.still_share = known ? still : kNaN;
}

}  // namespace

Result<PairProfile> pair_profile(const PairSource& source, std::int64_t head, std::int64_t skip_keys, StopToken stop,
                                 const Progress& progress) {
  const at::NoGradGuard no_grad;
  LOCUS_TRY(const PairLayer layer, PairLayer::of(source));
  LOCUS_CHECK(layer.check_head(head));
  if (skip_keys < 0 || (!layer.grid() && skip_keys >= layer.length)) {
    return bad_input("first keys left out: expected 0 to " + std::to_string(layer.length - 1) + ", found " +
                     std::to_string(skip_keys));
  }
  LOCUS_TRY(const Places places, layer.places(skip_keys));
  if (layer.form.decay.defined() && !places.step) {
    return unsupported("pairs that fade with distance need positions that count evenly");
  }
  LOCUS_TRY(auto parts, row_sums(layer, places, head, stop, progress));
  PairProfile profile;
  profile.pairs = layer.list(head);
  profile.count = places.count;
  profile.logit.assign(places.count.size(), 0.0);
  profile.parts = Field::zeros(layer.rows(), static_cast<std::int64_t>(places.count.size()));
  profile.parts.row_axis.name = "pair";
  profile.parts.column_axis = {"distance", layer.unit(), 0, 1};
  profile.parts.quantity = "mean part of the logit";
  for (std::int64_t row = 0; row < layer.rows(); ++row) {
    for (std::size_t n = 0; n < places.count.size(); ++n) {
      double& part = parts[index(row)][n];
      part = places.count[n] > 0 ? layer.scale * part / places.count[n] : kNaN;
      profile.logit[n] += part;
      profile.parts.at(row, static_cast<std::int64_t>(n)) = static_cast<float>(part);
    }
  }
  if (layer.form.modulation) {
    profile.carrier = modulated_carrier(layer, places, head);
  } else {
    LOCUS_TRY(profile.carrier, carrier_of(layer, places, head));
  }
  explain(parts, profile);
  return profile;
}

}  // namespace locus::analysis
