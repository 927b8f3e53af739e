#include "core/analysis/pairs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "core/analysis/pair_layer.h"
#include "core/attention/tasks.h"
#include "core/base/numbers.h"

namespace locus::analysis {

namespace {

double concentration(const std::vector<double>& real, const std::vector<double>& imaginary, std::int64_t first) {
  double x = 0;
  double y = 0;
  double points = 0;
  for (std::size_t t = index(first); t < real.size(); ++t) {
    const double size = std::hypot(real[t], imaginary[t]);
    if (size > 0) {
      x += real[t] / size;
      y += imaginary[t] / size;
      points += 1;
    }
  }
  return points > 0 ? std::hypot(x, y) / points : kNaN;
}

std::vector<float> narrowed(const std::vector<double>& from) {
  return {from.begin(), from.end()};
}

// ⟨q_i, k_j⟩ over some channels.
double product(const PairLayer& layer, std::int64_t head, std::int64_t query, std::int64_t key,
               const std::vector<std::int64_t>& channels) {
  const std::int64_t width = layer.query.size(2);
  double sum = 0;
  for (const std::int64_t channel : channels) {
    sum += static_cast<double>(layer.query_of(head)[query * width + channel]) *
           static_cast<double>(layer.key_of(head)[key * width + channel]);
  }
  return sum;
}

// Σ of one token's phase channels.
double channel_sum(const float* token, const std::vector<std::int64_t>& channels) {
  return std::accumulate(channels.begin(), channels.end(), 0.0,
                         [&](double sum, std::int64_t channel) { return sum + static_cast<double>(token[channel]); });
}

// TAPA's amplitude and 2π·φ of a cell.
std::pair<double, double> modulated(const PairLayer& layer, std::int64_t head, std::int64_t query, std::int64_t key) {
  const position::Modulation& modulation = *layer.form.modulation;
  const std::int64_t width = layer.query.size(2);
  const double phase = modulation.linear ? channel_sum(layer.query_of(head) + query * width, layer.channels(1)) +
                                               channel_sum(layer.key_of(head) + key * width, layer.channels(1))
                                         : product(layer, head, query, key, layer.channels(1));
  return {modulation.amplitude_scale * product(layer, head, query, key, layer.channels(0)),
          2 * std::numbers::pi * modulation.phase_scale * phase};
}

double turning(double steps, double alpha) {
  return steps == 0 ? 0.0 : std::pow(std::abs(steps), alpha);
}

// Computes the logits of the cell's query and key at other δ, a row.
double elsewhere(const PairLayer& layer, std::int64_t head, std::int64_t query, std::int64_t key, std::int64_t row,
                 double other) {
  const double here = layer.steps(query, key)[0];
  if (row >= layer.form.pairs()) {
    return layer.scale * product(layer, head, query, key, layer.form.rest);
  }
  const std::vector<std::int64_t>& plane = layer.channels(row);
  const std::int64_t width = layer.query.size(2);
  const float* const q = layer.query_of(head) + query * width;
  const float* const k = layer.key_of(head) + key * width;
  const auto at = [&](const float* token, std::size_t part) { return static_cast<double>(token[plane[part]]); };
  const double real = at(q, 0) * at(k, 0) + at(q, 1) * at(k, 1);
  const double imaginary = at(q, 1) * at(k, 0) - at(q, 0) * at(k, 1);
  const double angle = layer.angle(head, row, {other - here, 0, 0});
  return layer.scale * std::exp(layer.decay(row, other)) * (real * std::cos(angle) - imaginary * std::sin(angle));
}

Field elsewhere_field(const PairLayer& layer, std::int64_t head, std::int64_t query, std::int64_t key,
                      const std::vector<double>& distances) {
  Field field = Field::zeros(layer.rows(), static_cast<std::int64_t>(distances.size()));
  field.row_axis.name = "pair";
  field.column_axis = {"distance", "token", distances.front(), distances.size() > 1 ? distances[1] - distances[0] : 1};
  field.quantity = "part of the logit at another distance";
  for (std::int64_t row = 0; row < field.rows; ++row) {
    for (std::int64_t n = 0; n < field.columns; ++n) {
      const double distance = distances[index(n)];
      double part = 0;
      if (layer.form.modulation) {
        const auto [amplitude, phase] = modulated(layer, head, query, key);
        const double cosine = std::cos(phase * turning(distance, layer.form.modulation->alpha));
        part = row == 0 ? amplitude : amplitude * (cosine - 1);
      } else {
        part = elsewhere(layer, head, query, key, row, distance);
      }
      field.at(row, n) = static_cast<float>(part);
    }
  }
  return field;
}

}  // namespace

Result<PairList> pair_list(const PairSource& source, std::int64_t head) {
  const at::NoGradGuard no_grad;
  LOCUS_TRY(const PairLayer layer, PairLayer::of(source));
  LOCUS_CHECK(layer.check_head(head));
  return layer.list(head);
}

Result<CellParts> pair_parts(const PairSource& source, std::int64_t head, std::int64_t query, std::int64_t key,
                             const std::vector<double>& distances) {
  const at::NoGradGuard no_grad;
  LOCUS_TRY(const PairLayer layer, PairLayer::of(source));
  LOCUS_CHECK(layer.check_head(head));
  for (const auto& [what, token] : {std::pair("query", query), std::pair("key", key)}) {
    if (token < 0 || token >= layer.length) {
      return bad_input(std::string(what) + ": expected 0 to " + std::to_string(layer.length - 1) + ", found " +
                       std::to_string(token));
    }
  }
  CellParts cell;
  const Steps steps = layer.steps(query, key);
  if (layer.form.modulation) {
    const auto [amplitude, phase] = modulated(layer, head, query, key);
    cell.parts = {amplitude, amplitude * (std::cos(phase * turning(steps[0], layer.form.modulation->alpha)) - 1)};
  } else {
    for (std::int64_t row = 0; row < layer.rows(); ++row) {
      cell.parts.push_back(layer.scale * std::exp(layer.decay(row, steps[0])) *
                           product(layer, head, query, key, layer.channels(row)));
    }
  }
  cell.logit = std::accumulate(cell.parts.begin(), cell.parts.end(), 0.0);
  const bool told = !layer.grid() && (layer.form.modulation || (!layer.form.planes.empty() && !layer.form.state));
  if (!distances.empty() && told) {
    cell.elsewhere = elsewhere_field(layer, head, query, key, distances);
  }
  return cell;
}

Result<PairPlane> pair_plane(const PairSource& source, std::int64_t head, std::int64_t pair) {
  const at::NoGradGuard no_grad;
  LOCUS_TRY(const PairLayer layer, PairLayer::of(source));
  LOCUS_CHECK(layer.check_head(head));
  LOCUS_TRY(const Unrotated points, unrotated(layer, head, pair));
  PairPlane plane;
  plane.query = {narrowed(points.query_real), narrowed(points.query_imaginary)};
  plane.key = {narrowed(points.key_real), narrowed(points.key_imaginary)};
  const std::vector<std::int64_t>& channels = layer.channels(pair);
  const std::int64_t width = layer.query.size(2);
  for (std::int64_t t = 0; t < layer.length; ++t) {
    const float* const q = layer.query_of(head) + t * width;
    const float* const k = layer.key_of(head) + t * width;
    plane.turned_query.real.push_back(q[channels[0]]);
    plane.turned_query.imaginary.push_back(q[channels[1]]);
    plane.turned_key.real.push_back(k[channels[0]]);
    plane.turned_key.imaginary.push_back(k[channels[1]]);
  }
  plane.query_concentration = concentration(points.query_real, points.query_imaginary, layer.prefix);
  plane.key_concentration = concentration(points.key_real, points.key_imaginary, layer.prefix);
  return plane;
}

PairQuarters pair_quarters(const PairList& pairs, const Field& energy, std::int64_t head) {
  std::vector<std::int64_t> turning;
  for (std::int64_t pair = 0; pair < pairs.pairs; ++pair) {
    if (std::isfinite(pairs.rows[index(pair)].wavelength)) {
      turning.push_back(pair);
    }
  }
  std::ranges::stable_sort(turning, {}, [&](std::int64_t pair) { return pairs.rows[index(pair)].wavelength; });
  const auto sum = [&](std::size_t begin, std::size_t end) {
    double total = 0;
    for (std::size_t n = begin; n < end; ++n) {
      total += static_cast<double>(energy.at(head, turning[n]));
    }
    return total;
  };
  const std::size_t quarter = (turning.size() + 2) / 4;
  const double all = sum(0, turning.size());
  if (turning.size() < 4 || !(all > 0)) {
    return {};
  }
  return {sum(0, quarter) / all, sum(turning.size() - quarter, turning.size()) / all};
}

Result<std::vector<PairStatistics>> pair_statistics(const PairSource& source, StopToken stop) {
  LOCUS_TRY(const Field energy, pair_energy(source, PairNorm::kProduct, stop));
  std::vector<PairStatistics> statistics;
  for (std::int64_t head = 0; head < energy.rows; ++head) {
    LOCUS_TRY(const PairProfile profile, pair_profile(source, head, 0, stop));
    double weight = 0;
    double logarithm = 0;
    std::int64_t strongest = 0;
    for (std::int64_t pair = 0; pair < profile.pairs.pairs; ++pair) {
      const auto own = static_cast<double>(energy.at(head, pair));
      const double wavelength = profile.pairs.rows[index(pair)].wavelength;
      weight += own;
      logarithm += own * std::log(wavelength);
      strongest = energy.at(head, pair) > energy.at(head, strongest) ? pair : strongest;
    }
    const PairQuarters quarters = pair_quarters(profile.pairs, energy, head);
    PairStatistics own{weight > 0 ? std::exp(logarithm / weight) : kNaN,
                       profile.explained,
                       profile.still_share,
                       kNaN,
                       quarters.fastest,
                       quarters.slowest};
    if (const auto plane = pair_plane(source, head, strongest)) {
      own.concentration = plane->query_concentration * plane->key_concentration;
    } else if (plane.error().code != ErrorCode::kUnsupported) {
      return plane.error();
    }
    statistics.push_back(own);
  }
  return statistics;
}

}  // namespace locus::analysis
