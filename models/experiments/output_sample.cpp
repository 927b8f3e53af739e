#include "models/experiments/output_sample.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <unordered_map>

#include "models/experiments/exponential_sum.h"
#include "models/transformer/check_numbers.h"

namespace locus::models {

namespace {

constexpr std::int64_t kLogitsAtOnce = std::int64_t{1} << 22;  // 16 MiB of float32
constexpr std::uint64_t kSeed = 1;
// Where a sample fits, in the mean over rows: the share of a drawn output in a sum, and KL(first ‖ run) in nats. Sums
// that a run moves to outputs which were unlikely need about e^KL times as many drawn ones.
constexpr double kMaxSingle = 0.02;
constexpr double kMaxDivergence = 2;

// `count` places, drawn with replacement by these weights, whose sum is `whole`.
std::vector<std::int64_t> drawn_by(const std::vector<double>& weights, double whole, std::int64_t count,
                                   std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> at(static_cast<std::size_t>(count));
  for (double& each : at) {
    each = static_cast<double>(random() >> 11) * 0x1p-53 * whole;
  }
  std::ranges::sort(at);
  std::vector<std::int64_t> places;
  double sum = 0;
  auto next = at.begin();
  std::int64_t last = 0;
  for (std::size_t n = 0; n < weights.size(); ++n) {
    if (weights[n] <= 0) {
      continue;
    }
    last = static_cast<std::int64_t>(n);
    sum += weights[n];
    for (; next != at.end() && *next < sum; ++next) {
      places.push_back(last);
    }
  }
  places.resize(static_cast<std::size_t>(count), last);  // those that rounding left behind the last one
  for (std::size_t n = places.size(); n > 1; --n) {      // every part is a sample of its own
    std::swap(places[n - 1], places[random() % n]);
  }
  return places;
}

double log_sum(const double* logs, std::int64_t count) {
  const double largest = *std::max_element(logs, logs + count);
  double sum = 0;
  for (std::int64_t n = 0; n < count && std::isfinite(largest); ++n) {
    sum += std::exp(logs[n] - largest);
  }
  return std::isfinite(largest) ? largest + std::log(sum) : largest;
}

}  // namespace

Range OutputSample::outputs_of(std::int64_t n) const {
  if (n == 0) {
    return {0, likely_};
  }
  return {likely_ + (n - 1) * drawn_ / kParts, likely_ + n * drawn_ / kParts};
}

void OutputSample::choose(const at::Tensor& largest, const at::Tensor& mean, const at::Tensor& own) {
  const std::int64_t needed = own.defined() ? std::get<0>(at::_unique2(own)).size(0) : 0;
  likely_ = std::min(std::max(kLikely, needed), largest.size(0));
  const at::Tensor likely = std::get<1>(largest.topk(likely_));
  at::Tensor others = mean.to(at::kDouble);
  others = others.index_fill(0, likely, 0);
  const std::vector<double> weights(others.data_ptr<double>(), others.data_ptr<double>() + others.size(0));
  const double whole = others.sum().item<double>();
  drawn_ = whole > 0 ? kDrawn : 0;
  log_q_.assign(static_cast<std::size_t>(size()), 0);
  outputs_ = likely;
  if (drawn_ == 0) {
    return;
  }
  const std::vector<std::int64_t> drawn = drawn_by(weights, whole, drawn_, kSeed);
  for (std::size_t n = 0; n < drawn.size(); ++n) {
    log_q_[static_cast<std::size_t>(likely_) + n] =
        static_cast<float>(std::log(weights[static_cast<std::size_t>(drawn[n])] / whole));
  }
  outputs_ = at::cat({likely, at::tensor(drawn, at::kLong)});
}

Result<OutputSample> OutputSample::of(const transformer::Transformer& model, const at::Tensor& stream,
                                      const OutputSums& sums, const at::Tensor& ids, const StopToken& stop) {
  const at::NoGradGuard no_grad;
  OutputSample made(model);
  const std::int64_t rows = stream.size(0);
  const std::int64_t outputs = model.spec().outputs();
  const at::Tensor log_all = sums.log_sum_exp.to(at::kFloat).unsqueeze(1);
  at::Tensor largest = at::empty({outputs}, at::kFloat);
  at::Tensor mean = at::empty({outputs}, at::kFloat);
  const at::Tensor read = model.head().read(stream.unsqueeze(0));
  const std::int64_t block = std::max<std::int64_t>(kLogitsAtOnce / std::max<std::int64_t>(rows, 1), 1024);
  for (std::int64_t begin = 0; begin < outputs; begin += block) {
    if (stop.stop_requested()) {
      return cancelled();
    }
    const std::int64_t end = std::min(begin + block, outputs);
    const at::Tensor logits = model.head().logits(read, {begin, end}).select(0, 0).to(at::kFloat).cpu();
    const at::Tensor shares = (logits - log_all).exp_();
    largest.slice(0, begin, end).copy_(shares.amax(0));
    mean.slice(0, begin, end).copy_(shares.mean(0));
  }
  if (ids.defined()) {
    largest.index_fill_(0, ids.cpu(), std::numeric_limits<float>::infinity());
  }
  made.choose(largest, mean, ids.defined() ? ids.cpu() : ids);
  made.weights_ = model.head().output_rows(made.outputs_);
  if (ids.defined()) {
    std::unordered_map<std::int64_t, std::int64_t> places;
    for (std::int64_t n = 0; n < made.likely_; ++n) {
      places.emplace(made.outputs_.data_ptr<std::int64_t>()[n], n);
    }
    const at::Tensor own = ids.cpu().contiguous();
    for (std::int64_t r = 0; r < rows; ++r) {
      made.own_.push_back(places.at(own.data_ptr<std::int64_t>()[r]));
    }
  }
  const at::Tensor logits = made.logits(stream);
  made.logits_.assign(logits.data_ptr<float>(), logits.data_ptr<float>() + logits.numel());
  const at::Tensor all = sums.log_sum_exp.contiguous();
  made.log_all_.assign(all.data_ptr<double>(), all.data_ptr<double>() + rows);
  made.set_first(logits);
  return made;
}

at::Tensor OutputSample::logits(const at::Tensor& stream) const {
  const transformer::Head& head = model_->head();
  return head.logits(head.read(stream.unsqueeze(0)), weights_).select(0, 0).to(at::kFloat).cpu().contiguous();
}

void OutputSample::set_first(const at::Tensor& logits) {
  std::vector<float> shares(logits_.size());
  first_.resize(log_all_.size());
  for (std::int64_t r = 0; r < logits.size(0); ++r) {
    float* const row = logits.data_ptr<float>() + r * size();
    RowParts& parts = first_[static_cast<std::size_t>(r)];
    parts = parts_of(r, row);
    for (std::int64_t n = 0; n <= (drawn_ > 0 ? kParts : 0); ++n) {
      const Range some = outputs_of(n);
      for (std::int64_t s = some.begin; s < some.end; ++s) {
        const double share = std::exp(static_cast<double>(row[s]) - parts.log_sum[static_cast<std::size_t>(n)]);
        shares[static_cast<std::size_t>(r * size() + s)] = std::isnan(share) ? 0 : static_cast<float>(share);
      }
    }
  }
  shares_ = std::move(shares);
}

OutputSample::RowParts OutputSample::parts_of(std::int64_t row, float* logits) const {
  RowParts made;
  made.largest = -std::numeric_limits<double>::infinity();
  const float* const first = logits_.data() + row * size();
  const float* const shares = shares_.empty() ? nullptr : shares_.data() + row * size();
  for (std::int64_t n = 0; n <= (drawn_ > 0 ? kParts : 0); ++n) {
    const Range some = outputs_of(n);
    const auto place = static_cast<std::size_t>(n);
    for (std::int64_t s = some.begin; s < some.end && shares != nullptr; ++s) {
      made.less[place] += shares[s] > 0 ? static_cast<double>(shares[s] * (first[s] - logits[s])) : 0;
    }
    for (std::int64_t s = some.begin; s < some.end; ++s) {
      logits[s] -= log_q_[static_cast<std::size_t>(s)];
    }
    const ExponentialSum sum = exponential_sum(logits + some.begin, some.size());
    const auto largest = static_cast<double>(sum.largest);
    made.log_sum[place] = std::isinf(largest) ? largest : largest + std::log(sum.sum);
    made.largest = n > 0 ? std::max(made.largest, largest) : made.largest;
  }
  return made;
}

OutputSample::RowChanges OutputSample::change_of(std::int64_t row, const RowParts& parts) const {
  const RowParts& first = first_[static_cast<std::size_t>(row)];
  const double log_all = log_all_[static_cast<std::size_t>(row)];
  const double likely =
      std::min(std::exp(first.log_sum[0] - log_all), 1.0);  // the probability of these in the first run
  const double others = 1 - likely;
  const double sum_likely = std::exp(parts.log_sum[0] - log_all);
  // How the sum of the others grows, e^after / e^before by some of the drawn ones; 1 where these have no probability.
  const auto growth = [](double before, double after) { return std::isinf(before) ? 1 : std::exp(after - before); };
  const auto change = [&](double growth_of_others, double less, bool divergence) {
    return (divergence ? likely * parts.less[0] + others * less : 0) + std::log(sum_likely + others * growth_of_others);
  };
  const bool kl = own_.empty();
  RowChanges made;
  if (drawn_ == 0) {
    made.by.fill(change(1, 0, kl));
    return made;
  }
  const double before = log_sum(first.log_sum.data() + 1, kParts);
  const double after = log_sum(parts.log_sum.data() + 1, kParts);
  double less = 0;
  for (std::size_t n = 1; n <= kParts; ++n) {
    made.by[n] = change(growth(first.log_sum[n], parts.log_sum[n]), parts.less[n], kl);
    less += std::isinf(before) ? 0 : std::exp(first.log_sum[n] - before) * parts.less[n];
  }
  const double grown = growth(before, after);
  made.by[0] = change(grown, less, kl);
  made.divergence = change(grown, less, true);
  made.single =
      std::isinf(after) ? 0 : std::exp(parts.largest - after) * others * grown / (sum_likely + others * grown);
  return made;
}

Result<OutputSample::Changes> OutputSample::changes(const at::Tensor& others, const StopToken& stop) const {
  const at::NoGradGuard no_grad;
  const std::int64_t runs = others.size(0);
  const std::int64_t rows = others.size(1);
  const at::Tensor all = others.reshape({runs * rows, -1});
  Changes made{at::empty({runs, rows}, at::kDouble), at::empty({runs}, at::kDouble), at::empty({runs}, at::kBool)};
  std::vector<RowChanges> found(static_cast<std::size_t>(runs * rows));
  for (std::int64_t begin = 0; begin < runs * rows; begin += kMaxOutputRows) {
    if (stop.stop_requested()) {
      return cancelled();
    }
    const std::int64_t end = std::min(begin + kMaxOutputRows, runs * rows);
    const at::Tensor logits = this->logits(all.slice(0, begin, end));
    LOCUS_CHECK(transformer::check_logits(logits));
    float* const values = logits.data_ptr<float>();
    at::parallel_for(begin, end, 4, [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t n = from; n < to; ++n) {
        float* const own = values + (n - begin) * size();
        const std::int64_t row = n % rows;
        const double change = own_.empty()
                                  ? 0
                                  : static_cast<double>(logits_[static_cast<std::size_t>(row * size() + own_[row])]) -
                                        static_cast<double>(own[own_[static_cast<std::size_t>(row)]]);
        RowChanges& each = found[static_cast<std::size_t>(n)];
        each = change_of(row, parts_of(row, own));
        for (double& one : each.by) {
          one += change;
        }
      }
    });
  }
  for (std::int64_t run = 0; run < runs; ++run) {
    RowChanges mean;
    for (std::int64_t row = 0; row < rows; ++row) {
      const RowChanges& each = found[static_cast<std::size_t>(run * rows + row)];
      made.rows.data_ptr<double>()[run * rows + row] = each.by[0];
      mean.single += each.single / static_cast<double>(rows);
      mean.divergence += each.divergence / static_cast<double>(rows);
      for (std::size_t n = 0; n < each.by.size(); ++n) {
        mean.by[n] += each.by[n] / static_cast<double>(rows);
      }
    }
    double middle = 0;
    for (std::size_t n = 1; n <= kParts; ++n) {
      middle += mean.by[n] / kParts;
    }
    double squares = 0;
    for (std::size_t n = 1; n <= kParts; ++n) {
      squares += std::pow(mean.by[n] - middle, 2);
    }
    made.error.data_ptr<double>()[run] = std::sqrt(squares / (kParts - 1) / kParts);
    made.fits.data_ptr<bool>()[run] = mean.single <= kMaxSingle && mean.divergence <= kMaxDivergence;
  }
  return made;
}

}  // namespace locus::models
