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

// δ of neighbours, where it is the same everywhere; fractions of a token are rounded.
std::optional<double> even_step(const at::Tensor& ids) {
  const at::Tensor column = ids.select(1, 0).contiguous();
  const double* const id = column.data_ptr<double>();
  const std::int64_t length = column.size(0);
  const double step = length > 1 ? (id[length - 1] - id[0]) / static_cast<double>(length - 1) : 1.0;
  for (std::int64_t t = 1; t < length; ++t) {
    if (std::abs(id[t] - id[t - 1] - step) > 1e-9 * (1 + std::abs(id[t]))) {
      return std::nullopt;
    }
  }
  return step;
}

Places text_places(const PairLayer& layer) {
  Places places;
  const std::int64_t length = layer.length;
  const attention::Mask& mask = layer.mask;
  places.entries = length;
  places.step = even_step(layer.ids);
  for (std::int64_t t = 0; t < length; ++t) {
    places.of_token.push_back(t);
  }
  const std::int64_t chunk = mask.causal && mask.chunk > 0 ? std::min(mask.chunk, length) : length;
  for (std::int64_t begin = 0; begin < length; begin += chunk) {
    places.segments.push_back({begin, std::min(begin + chunk, length)});
  }
  places.most = std::min(chunk, mask.window > 0 ? mask.window : length) - 1;
  places.count.assign(index(length), 0.0);
  const double last = static_cast<double>(places.segments.back().size());
  const double whole = static_cast<double>(places.segments.size() - 1);
  for (std::int64_t lag = mask.causal ? 0 : -places.most; lag <= places.most; ++lag) {
    const auto distance = static_cast<double>(std::abs(lag));
    const double count = whole * std::max(static_cast<double>(chunk) - distance, 0.0) + std::max(last - distance, 0.0);
    places.lags.push_back({lag, std::abs(lag), count, {static_cast<double>(lag) * places.step.value_or(1), 0}});
    places.count[index(std::abs(lag))] += count;
  }
  return places;
}

Result<Places> grid_places(const PairLayer& layer) {
  const at::Tensor ids = layer.ids.contiguous();
  const double* const id = ids.data_ptr<double>();
  const std::int64_t patches = layer.length - layer.prefix;
  std::int64_t columns = 0;
  while (columns < patches && id[2 * (layer.prefix + columns)] == id[2 * layer.prefix]) {
    ++columns;
  }
  const std::int64_t rows = columns > 0 ? patches / columns : 0;
  bool even = rows * columns == patches && patches > 0;
  for (std::int64_t n = 0; even && n < patches; ++n) {
    const double* const at = id + 2 * (layer.prefix + n);
    const std::int64_t whole_rows = n / columns;
    const auto row = static_cast<double>(whole_rows);
    const auto column = static_cast<double>(n % columns);
    even = at[0] - id[2 * layer.prefix] == row && at[1] - id[2 * layer.prefix + 1] == column;
  }
  if (!even || layer.mask.causal || layer.mask.window > 0) {
    return unsupported("pairs by distance: expected patches of a whole grid that all see each other");
  }
  Places places;
  const std::int64_t wide = 2 * columns - 1;
  places.entries = rows * wide;
  places.segments.push_back({0, places.entries});
  for (std::int64_t t = 0; t < layer.length; ++t) {
    const std::int64_t n = t - layer.prefix;
    places.of_token.push_back(n < 0 ? -1 : n / columns * wide + n % columns);
  }
  places.most = (rows - 1) * wide + columns - 1;
  for (std::int64_t y = 1 - rows; y < rows; ++y) {
    for (std::int64_t x = 1 - columns; x < columns; ++x) {
      const auto distance =
          static_cast<std::int64_t>(std::llround(std::hypot(static_cast<double>(y), static_cast<double>(x))));
      const auto count = static_cast<double>((rows - std::abs(y)) * (columns - std::abs(x)));
      places.lags.push_back({y * wide + x, distance, count, {static_cast<double>(y), static_cast<double>(x)}});
      places.count.resize(std::max(places.count.size(), index(distance) + 1));
      places.count[index(distance)] += count;
    }
  }
  return places;
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
  layer.ids = prepared.positions.ids.to(at::kCPU, at::kDouble);
  if (layer.ids.dim() == 1) {
    layer.ids = layer.ids.unsqueeze(1);
  }
  if (layer.ids.size(1) > 2) {
    return unsupported("pairs: expected positions of one number, or of row and column, found vectors of " +
                       std::to_string(layer.ids.size(1)) + " (M-RoPE)");
  }
  layer.prefix = prepared.positions.prefix;
  layer.scale = layer.form.modulation ? 1.0 : scores.encoding().scale();
  layer.heads = layer.query.size(0);
  layer.group = layer.heads / layer.key.size(0);
  layer.length = layer.query.size(1);
  return layer;
}

Status PairLayer::check_head(std::int64_t head) const {
  if (head < 0 || head >= heads) {
    return bad_input("head: expected 0 to " + std::to_string(heads - 1) + ", found " + std::to_string(head));
  }
  return {};
}

double PairLayer::angle(std::int64_t head, std::int64_t row, const std::array<double, 2>& steps) const {
  if (row >= form.pairs()) {
    return 0;
  }
  const std::int64_t dimensions = form.frequencies.size(2);
  const std::int64_t own = form.frequencies.size(0) == 1 ? 0 : head;
  const double* const speed = form.frequencies.data_ptr<double>() + (own * form.pairs() + row) * dimensions;
  return speed[0] * steps[0] + (dimensions > 1 ? speed[1] * steps[1] : 0.0);
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
  list.span = static_cast<double>(length);
  if (list.grid) {
    const at::Tensor patches = ids.slice(0, prefix);
    list.span = (std::get<0>(patches.max(0)) - std::get<0>(patches.min(0))).max().item<double>() + 1;
  }
  for (std::int64_t row = 0; row < rows(); ++row) {
    PairRow entry;
    entry.name = row >= form.pairs() ? "rest" : form.names.empty() ? std::to_string(row) : form.names[index(row)];
    entry.wavelength = row >= form.pairs() ? std::numeric_limits<double>::infinity() : kNaN;
    if (row < form.pairs() && form.frequencies.defined()) {
      entry.wavelength =
          2 * std::numbers::pi / std::hypot(angle(head, row, {1, 0}), grid() ? angle(head, row, {0, 1}) : 0.0);
    }
    list.rows.push_back(std::move(entry));
  }
  return list;
}

Result<Places> PairLayer::places() const {
  if (grid()) {
    return grid_places(*this);
  }
  return text_places(*this);
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
    std::array<double, 2> at{};
    for (std::int64_t p = 0; p < ids.size(1); ++p) {
      at[index(p)] = ids.data_ptr<double>()[t * ids.size(1) + p];
    }
    const bool turns = !form.state && t >= layer.prefix;
    const double angle = turns ? layer.angle(head, pair, at) + offset : 0.0;
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
