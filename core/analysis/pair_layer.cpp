#include "core/analysis/pair_layer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/base/numbers.h"

namespace locus::analysis {

namespace {

// (H, T, W) as the loops read it.
at::Tensor readable(const at::Tensor& tensor) {
  return tensor.select(0, 0).detach().to(at::kCPU, at::kFloat).contiguous();
}

// Finds, in M-RoPE's positions (T, 3), the longest run of tokens of one time, which only a picture's cells share. A
// picture of one cell is no longer than a word.
Range largest_picture(const at::Tensor& ids) {
  const at::Tensor times = ids.select(1, 0).contiguous();
  const double* const time = times.data_ptr<double>();
  Range largest{0, 0};
  for (std::int64_t begin = 0, end = 0; begin < times.size(0); begin = end) {
    for (end = begin + 1; end < times.size(0) && time[end] == time[begin];) {
      ++end;
    }
    if (end - begin > std::max<std::int64_t>(largest.size(), 1)) {
      largest = {begin, end};
    }
  }
  return largest;
}

}  // namespace

Result<PairLayer> PairLayer::of(const PairSource& source) {
  const at::NoGradGuard no_grad;
  const attention::ComputedScores& scores = source.scores;
  const position::Prepared& prepared = scores.prepared();
  PairLayer layer;
  LOCUS_TRY(layer.form, position::pair_form(scores.encoding(), prepared, scores.layer()));
  if (layer.form.frequencies.defined()) {
    layer.form.frequencies = layer.form.frequencies.to(at::kCPU).contiguous();
  }
  if (layer.form.decay.defined()) {
    layer.form.decay = layer.form.decay.contiguous();
  }
  layer.scores = &scores;
  layer.mask = source.mask;
  layer.query = readable(prepared.query);
  layer.key = readable(prepared.key);
  // A file may say another head width than its vectors have.
  for (std::int64_t row = 0; row < layer.rows(); ++row) {
    for (const std::int64_t channel : layer.channels(row)) {
      if (channel >= std::min(layer.query.size(2), layer.key.size(2))) {
        return bad_input("pairs of encoding " + scores.encoding().description().name +
                         ": expected queries and keys of more than " + std::to_string(channel) + " channels, found " +
                         std::to_string(layer.query.size(2)) + " and " + std::to_string(layer.key.size(2)));
      }
    }
  }
  layer.ids = prepared.positions.ids.to(at::kCPU, at::kDouble);
  if (layer.ids.dim() == 1) {
    layer.ids = layer.ids.unsqueeze(1);
  }
  if (layer.ids.size(1) > 3) {
    return unsupported("pairs: expected positions of at most three numbers, found " +
                       std::to_string(layer.ids.size(1)));
  }
  layer.prefix = prepared.positions.prefix;
  layer.scale = layer.form.modulation ? 1.0 : scores.encoding().scale();
  layer.heads = layer.query.size(0);
  layer.group = layer.heads / layer.key.size(0);
  layer.length = layer.query.size(1);
  layer.placed = layer.of_text() && layer.grid() ? largest_picture(layer.ids) : Range{layer.prefix, layer.length};
  return layer;
}

Status PairLayer::check_head(std::int64_t head) const {
  if (head < 0 || head >= heads) {
    return bad_input("head: expected 0 to " + std::to_string(heads - 1) + ", found " + std::to_string(head));
  }
  return {};
}

Steps PairLayer::steps(std::int64_t query, std::int64_t key) const {
  const at::Tensor rows = ids.contiguous();
  const std::int64_t dimensions = rows.size(1);
  Steps steps{};
  for (std::int64_t p = 0; p < dimensions; ++p) {
    steps[index(p)] = rows.data_ptr<double>()[query * dimensions + p] - rows.data_ptr<double>()[key * dimensions + p];
  }
  return steps;
}

double PairLayer::angle(std::int64_t head, std::int64_t row, const Steps& steps) const {
  if (row >= form.pairs()) {
    return 0;
  }
  const std::int64_t dimensions = form.frequencies.size(2);
  const std::int64_t own = form.frequencies.size(0) == 1 ? 0 : head;
  const double* const speed = form.frequencies.data_ptr<double>() + (own * form.pairs() + row) * dimensions;
  double angle = 0;
  for (std::int64_t p = 0; p < dimensions; ++p) {
    angle += speed[p] * steps[index(p)];
  }
  return angle;
}

double PairLayer::decay(std::int64_t row, double steps) const {
  return form.decay.defined() && row < form.pairs() ? form.decay.data_ptr<double>()[row] * steps : 0.0;
}

PairList PairLayer::list(std::int64_t head) const {
  PairList list;
  list.pairs = form.pairs();
  list.magnitude = form.magnitude;
  list.planes = !form.planes.empty();
  list.grid = grid();
  list.unit = unit();
  list.span = static_cast<double>(length);
  if (list.grid && !placed.empty()) {
    const at::Tensor patches = ids.slice(0, placed.begin, placed.end);
    list.span = (std::get<0>(patches.max(0)) - std::get<0>(patches.min(0))).max().item<double>() + 1;
  }
  for (std::int64_t row = 0; row < rows(); ++row) {
    PairRow entry;
    entry.name = row >= form.pairs() ? "rest" : form.name(head, row);
    entry.wavelength = row >= form.pairs() ? std::numeric_limits<double>::infinity() : kNaN;
    if (row < form.pairs() && form.frequencies.defined()) {
      entry.wavelength =
          2 * std::numbers::pi /
          std::hypot(angle(head, row, {1, 0, 0}), angle(head, row, {0, 1, 0}), angle(head, row, {0, 0, 1}));
    }
    list.rows.push_back(std::move(entry));
  }
  return list;
}

Result<Unrotated> unrotated(const PairLayer& layer, std::int64_t head, std::int64_t pair) {
  const position::PairForm& form = layer.form;
  if (pair < 0 || pair >= layer.rows()) {
    return bad_input("pair: expected 0 to " + std::to_string(layer.rows() - 1) + ", found " + std::to_string(pair));
  }
  if (pair >= form.pairs() || form.planes.empty()) {
    return unsupported(pair >= form.pairs() ? "the rest does not turn: it is no plane"
                                            : "these channels are no planes of two that turn");
  }
  const position::Prepared& prepared = layer.scores->prepared();
  if (form.state && (!prepared.content_query.defined() || !prepared.content_key.defined())) {
    return unsupported("this trace does not hold the queries and keys before their state turned them");
  }
  const auto channel = [&](const at::Tensor& tensor, std::int64_t own, std::size_t part) {
    return tensor.select(0, own).select(1, form.planes[index(pair)][part]).to(at::kCPU, at::kDouble).contiguous();
  };
  const at::Tensor query = form.state ? prepared.content_query.detach().select(0, 0) : layer.query;
  const at::Tensor key = form.state ? prepared.content_key.detach().select(0, 0) : layer.key;
  const std::int64_t key_head = head * key.size(0) / layer.heads;
  const at::Tensor q0 = channel(query, head, 0);
  const at::Tensor q1 = channel(query, head, 1);
  const at::Tensor k0 = channel(key, key_head, 0);
  const at::Tensor k1 = channel(key, key_head, 1);
  const at::Tensor ids = layer.ids.contiguous();
  const double offset = form.offsets.defined() ? form.offsets[pair].item<double>() : 0.0;
  Unrotated points;
  for (std::int64_t t = 0; t < layer.length; ++t) {
    Steps at{};
    for (std::int64_t p = 0; p < ids.size(1); ++p) {
      at[index(p)] = ids.data_ptr<double>()[t * ids.size(1) + p];
    }
    const bool turns = !form.state && t >= layer.prefix;
    const bool own = !turns && form.class_angles.defined() && t < form.class_angles.size(0);
    const double angle = turns ? layer.angle(head, pair, at) + offset
                         : own ? form.class_angles[t][pair].item<double>()
                               : 0.0;
    const double cos = std::cos(angle) / (form.state ? 1.0 : form.magnitude);
    const double sin = std::sin(angle) / (form.state ? 1.0 : form.magnitude);
    const auto back = [&](const at::Tensor& real, const at::Tensor& imaginary, std::vector<double>& to_real,
                          std::vector<double>& to_imaginary) {
      const double a = real.data_ptr<double>()[t];
      const double b = imaginary.data_ptr<double>()[t];
      to_real.push_back(a * cos + b * sin);
      to_imaginary.push_back(b * cos - a * sin);
    };
    back(q0, q1, points.query_real, points.query_imaginary);
    back(k0, k1, points.key_real, points.key_imaginary);
  }
  return points;
}

}  // namespace locus::analysis
