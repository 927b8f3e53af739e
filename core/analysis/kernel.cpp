#include "core/analysis/kernel.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "core/analysis/kernel_source.h"
#include "core/analysis/row_blocks.h"
#include "core/attention/score_field.h"
#include "core/base/numbers.h"
#include "core/position/shared/pair_form.h"

namespace locus::analysis {

namespace {

using position::PairForm;
using position::PositionEncoding;
using Scores = std::shared_ptr<const attention::ComputedScores>;

constexpr std::int64_t kTurnCells = std::int64_t{1} << 22;  // of turned moments at once

// The mean token at every position.
Result<Scores> mean_text(const KernelSource& source) {
  const std::int64_t length = source.reach + 1;
  const position::Positions positions = position::Positions::sequence(length);
  if (const Status accepted = source.encoding->accepts(positions); !accepted.ok()) {
    return accepted.error();
  }
  const auto everywhere = [&](const at::Tensor& mean) {
    return mean.expand({mean.size(0), length, mean.size(2)}).unsqueeze(0).to(source.device, at::kFloat).contiguous();
  };
  position::Projections projections;
  projections.query = everywhere(source.mean_query);
  projections.key = projections.value = everywhere(source.mean_key);
  position::Prepared prepared =
      source.encoding->prepare(source.encoding->begin(positions, 1), source.layer, projections);
  return std::make_shared<const attention::ComputedScores>(source.encoding, source.layer, std::move(prepared),
                                                           at::Tensor());
}

// The mean of every diagonal.
Result<std::vector<double>> by_distance(const Scores& scores, const attention::Mask& mask, std::int64_t head,
                                        const StopToken& stop, const Progress& progress) {
  const attention::ScoreField field(scores, mask);
  const auto length = static_cast<std::size_t>(scores->length());
  std::vector<double> sum(length, 0.0);
  std::vector<double> count(length, 0.0);
  const auto visit = [&](Range rows, Range columns, const at::Tensor& logits) {
    const at::Tensor host = logits.to(at::kCPU, at::kFloat).contiguous();
    const float* cell = host.data_ptr<float>();
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      for (std::int64_t column = columns.begin; column < columns.end; ++column, ++cell) {
        if (std::isfinite(*cell)) {
          const auto distance = static_cast<std::size_t>(std::abs(row - column));
          sum[distance] += static_cast<double>(*cell);
          count[distance] += 1;
        }
      }
    }
    report(progress, static_cast<double>(rows.end) / static_cast<double>(length), "distances");
  };
  LOCUS_CHECK(for_each_row_block(field, attention::Quantity::kLogit, {head, head + 1}, {}, visit, stop));
  for (std::size_t n = 0; n < length; ++n) {
    sum[n] /= count[n];
  }
  return sum;
}

// Which channel each one turns with, and (n, D) what it and that one are multiplied with to turn a key by δ.
struct Turning {
  at::Tensor partner;
  at::Tensor own;
  at::Tensor other;
};

Turning turning(const PairForm& form, std::int64_t head, std::int64_t width, const at::Tensor& delta) {
  Turning turn{at::arange(width, at::kLong), at::ones({delta.size(0), width}, at::kDouble),
               at::zeros({delta.size(0), width}, at::kDouble)};
  const std::int64_t speeds = form.frequencies.size(0) == 1 ? 0 : head;
  for (std::int64_t m = 0; m < form.pairs(); ++m) {
    const std::int64_t a = form.planes[static_cast<std::size_t>(m)][0];
    const std::int64_t b = form.planes[static_cast<std::size_t>(m)][1];
    const at::Tensor angle = delta * form.frequencies[speeds][m].sum();
    at::Tensor factor = at::full_like(delta, form.magnitude * form.magnitude);
    if (form.decay.defined()) {
      factor = factor * (delta * form.decay[m]).exp();
    }
    turn.partner[a] = b;
    turn.partner[b] = a;
    turn.own.select(1, a).copy_(factor * angle.cos());
    turn.own.select(1, b).copy_(factor * angle.cos());
    turn.other.select(1, a).copy_(factor * angle.sin());
    turn.other.select(1, b).copy_(-factor * angle.sin());
  }
  return turn;
}

// (n) E[(qᵀ R(δ) k)²].
at::Tensor turned_squares(const KernelSource& source, const PairForm& form, std::int64_t head,
                          const at::Tensor& delta) {
  const Turning turn = turning(form, head, source.key_moment.size(0), delta);
  const at::Tensor& moment = source.key_moment;
  const at::Tensor rows =
      turn.own.unsqueeze(2) * moment + turn.other.unsqueeze(2) * moment.index_select(0, turn.partner);
  const at::Tensor both = turn.own.unsqueeze(1) * rows + turn.other.unsqueeze(1) * rows.index_select(2, turn.partner);
  return (both * source.query_moment).sum(at::IntArrayRef{1, 2});
}

// The variance over tokens of qᵀ a + bᵀ k, a and b (n, D).
at::Tensor variance_of(const KernelSource& source, const at::Tensor& mean_query, const at::Tensor& mean_key,
                       const at::Tensor& a, const at::Tensor& b) {
  const auto share = [&](const at::Tensor& left, const at::Tensor& moment, const at::Tensor& first,
                         const at::Tensor& second, const at::Tensor& right) {
    return (at::matmul(left, moment - at::outer(first, second)) * right).sum(1);
  };
  return share(a, source.query_moment, mean_query, mean_query, a) + share(b, source.key_moment, mean_key, mean_key, b) +
         2 * share(a, source.cross_moment, mean_query, mean_key, b);
}

// (n, D) R(δ) k̄ and R(δ)ᵀ q̄; without a form, k̄ and q̄ themselves.
std::pair<at::Tensor, at::Tensor> turned_means(const PairForm& form, std::int64_t head, const at::Tensor& mean_query,
                                               const at::Tensor& mean_key, const at::Tensor& delta) {
  const Turning turn = turning(form, head, mean_key.size(0), delta);
  return {turn.own * mean_key + turn.other * mean_key.index_select(0, turn.partner),
          turn.own * mean_query + (turn.other * mean_query).index_select(1, turn.partner)};
}

// Standard errors of the means of a sample of tokens, of a rotation or, without `form`, of a bias alone.
std::vector<double> errors(const KernelSource& source, const PairForm* form, std::int64_t head) {
  const std::int64_t group = source.mean_query.size(0) / source.mean_key.size(0);
  const at::Tensor mean_query = source.mean_query[head][0];
  const at::Tensor mean_key = source.mean_key[head / group][0];
  at::Tensor a = mean_key.unsqueeze(0);
  at::Tensor b = mean_query.unsqueeze(0);
  if (form != nullptr) {
    const at::Tensor delta = at::arange(source.reach + 1, at::kDouble);
    std::tie(a, b) = turned_means(*form, head, mean_query, mean_key, delta);
    if (!source.causal) {
      const auto [back_a, back_b] = turned_means(*form, head, mean_query, mean_key, -delta);
      a = (a + back_a) / 2;
      b = (b + back_b) / 2;
    }
  }
  const double scale = source.encoding->scale();
  const at::Tensor error =
      (variance_of(source, mean_query, mean_key, a, b).clamp_min(0) * source.sampling).sqrt() * scale;
  const at::Tensor all = error.expand({source.reach + 1}).contiguous();
  return {all.data_ptr<double>(), all.data_ptr<double>() + all.numel()};
}

// E[logit²] of unbiased logits at every distance, of a rotation.
Result<std::vector<double>> squares(const KernelSource& source, const PairForm& form, std::int64_t head,
                                    const StopToken& stop) {
  const std::int64_t width = source.key_moment.size(0);
  const std::int64_t step = std::max<std::int64_t>(1, kTurnCells / (width * width));
  const double scale = source.encoding->scale();
  std::vector<double> values;
  for (std::int64_t first = 0; first <= source.reach; first += step) {
    if (stop.stop_requested()) {
      return cancelled();
    }
    const at::Tensor delta = at::arange(first, std::min(first + step, source.reach + 1), at::kDouble);
    at::Tensor square = turned_squares(source, form, head, delta);
    if (!source.causal) {
      square = (square + turned_squares(source, form, head, -delta)) / 2;
    }
    square = (square * (scale * scale)).contiguous();
    values.insert(values.end(), square.data_ptr<double>(), square.data_ptr<double>() + square.numel());
  }
  return values;
}

// Whether a logit is scale·q·k and a bias that neither q nor k changes: what makes one cell of each sample.
bool adds_bias_alone(const KernelSource& source, const position::Prepared& prepared, std::int64_t head) {
  if (source.encoding->description().rotates) {
    return false;
  }
  position::Prepared without = prepared;
  const auto logits_of = [&](bool query, bool key) {
    without.query = query ? prepared.query : at::zeros_like(prepared.query);
    without.key = key ? prepared.key : at::zeros_like(prepared.key);
    const std::int64_t last = prepared.query.size(2);
    return source.encoding->score(without, {source.layer, {head, head + 1}, {last - 1, last}, {0, last}}).logits;
  };
  const at::Tensor bias = logits_of(false, false);
  return at::equal(logits_of(true, false), bias) && at::equal(logits_of(false, true), bias);
}

Status add_pairs(const KernelSource& source, const Scores& scores, const attention::Mask& mask, std::int64_t head,
                 Kernel& made, const StopToken& stop, const Progress& progress) {
  LOCUS_TRY(PairProfile profile, pair_profile({*scores, mask}, head, 0, stop, progress));
  made.mean = std::move(profile.logit);
  made.pairs = std::move(profile.pairs);
  made.parts = std::move(profile.parts);
  made.share = std::move(profile.share);
  if (!source.query_moment.defined()) {
    return {};
  }
  LOCUS_TRY(const PairForm form, position::pair_form(*source.encoding, scores->prepared(), source.layer));
  LOCUS_TRY(made.spread, squares(source, form, head, stop));
  made.error = source.sampling > 0 ? errors(source, &form, head) : made.error;
  return {};
}

}  // namespace

Status has_kernel(const PositionEncoding& encoding, std::int64_t layer) {
  const position::Description& about = encoding.description();
  const std::string begin = "kernel: encoding " + about.name;
  if (about.has_gates) {
    return unsupported(begin + " counts positions by gates of the text: there is none before any text");
  }
  if (about.forgets) {
    return unsupported(begin + " forgets by gates of the text: there is none before any text");
  }
  if (about.learns_positions) {
    return unsupported(begin + " computes positions from the text: there is none before any text");
  }
  if (about.updates) {
    return unsupported(begin + " has positions that every layer renews from the text: there is none before any text");
  }
  if (encoding.follows_between()) {
    return unsupported(begin + " scores a key by the tokens between it and the query: there are none before any text");
  }
  if (!encoding.is_linear()) {
    return unsupported(begin + " is not linear in queries and keys: the mean of its logits is not that of the means");
  }
  const auto* const paired = dynamic_cast<const position::Paired*>(&encoding);
  if (paired != nullptr) {
    position::Prepared empty;
    const position::ModelShape& shape = encoding.shape();
    empty.query = at::zeros({1, shape.heads, 1, shape.head_width});
    empty.key = at::zeros({1, shape.kv_heads, 1, shape.head_width});
    empty.positions = position::Positions::sequence(1);
    const Result<PairForm> form = paired->pair_form(empty, layer);
    if (form && form->modulation) {
      return unsupported(begin +
                         " multiplies two products of q and k: the mean of its logits is not that of the means");
    }
  }
  return {};
}

Result<Kernel> kernel(const KernelSource& source, std::int64_t head, StopToken stop, const Progress& progress) {
  const at::NoGradGuard no_grad;
  LOCUS_CHECK(has_kernel(*source.encoding, source.layer));
  if (head < 0 || head >= source.mean_query.size(0)) {
    return bad_input("kernel: expected a head of 0 to " + std::to_string(source.mean_query.size(0) - 1) + ", found " +
                     std::to_string(head));
  }
  LOCUS_TRY(const Scores scores, mean_text(source));
  const attention::Mask mask{source.causal};
  Kernel made;
  if (position::pair_form(*source.encoding, scores->prepared(), source.layer)) {
    LOCUS_CHECK(add_pairs(source, scores, mask, head, made, stop, progress));
  } else {
    LOCUS_TRY(made.mean, by_distance(scores, mask, head, stop, progress));
    if (source.query_moment.defined() && adds_bias_alone(source, scores->prepared(), head)) {
      const double scale = source.encoding->scale();
      const double square = scale * scale * (source.query_moment * source.key_moment).sum().item<double>();
      const std::int64_t group = source.mean_query.size(0) / source.mean_key.size(0);
      const double product = scale * source.mean_query[head][0].dot(source.mean_key[head / group][0]).item<double>();
      made.spread.assign(made.mean.size(), std::sqrt(std::max(square - product * product, 0.0)));
      made.error = source.sampling > 0 ? errors(source, nullptr, head) : made.error;
      return made;
    }
  }
  for (std::size_t n = 0; n < made.spread.size(); ++n) {
    made.spread[n] = std::sqrt(std::max(made.spread[n] - made.mean[n] * made.mean[n], 0.0));
  }
  return made;
}

}  // namespace locus::analysis
