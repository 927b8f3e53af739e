#include "models/experiments/knock_out_probe.h"

#include <algorithm>
#include <cmath>

#include "models/experiments/outputs.h"
#include "models/transformer/check_numbers.h"

namespace locus::models {

namespace {

// A mean over pairs of losses: of the same token with the edit and without; NaN is no pair.
KnockOutProbe::Effect paired(const at::Tensor& all) {
  const at::Tensor changes = all.masked_select(all.isnan().logical_not());
  const auto count = static_cast<double>(changes.numel());
  const double mean = changes.mean().item<double>();
  if (count < 2) {
    return {.value = mean};
  }
  return {.value = mean, .error = std::sqrt((changes - mean).square().sum().item<double>() / (count - 1) / count)};
}

// The positions whose predictions a mean is over.
std::vector<std::int64_t> predicting(const Rerun& run, const KnockOutOptions& options) {
  std::vector<double> left_out(static_cast<std::size_t>(run.length()));
  std::vector<std::int64_t> all;
  const bool loss = options.measure == KnockOutMeasure::kLoss;
  const std::int64_t end = run.length() - (loss ? 1 : 0);
  if (loss) {
    leave_out_cells(run.data.images, left_out.data(), end);
  }
  for (std::int64_t n = 0; n < end; ++n) {
    if (!std::isnan(left_out[static_cast<std::size_t>(n)])) {
      all.push_back(n);
    }
  }
  return all;
}

// So many of these, spread evenly: that in the middle of each stretch.
std::vector<std::int64_t> spread(const std::vector<std::int64_t>& all, std::int64_t wanted) {
  const auto count = static_cast<std::int64_t>(all.size());
  std::vector<std::int64_t> chosen;
  for (std::int64_t n = 0; n < wanted; ++n) {
    chosen.push_back(all[static_cast<std::size_t>((2 * n + 1) * count / (2 * wanted))]);
  }
  return chosen;
}

// The positions that are measured, (P) int64. Undefined: all rows of the stream.
at::Tensor measured_positions(const Rerun& run, const KnockOutOptions& options) {
  if (options.measure == KnockOutMeasure::kLogit || run.loaded.info().image) {
    return {};
  }
  const std::vector<std::int64_t> all = predicting(run, options);
  if (options.positions > 0 && options.positions < static_cast<std::int64_t>(all.size())) {
    return at::tensor(spread(all, options.positions), at::kLong);
  }
  return has_estimates(run, options) ? at::tensor(all, at::kLong) : at::Tensor();
}

}  // namespace

bool has_estimates(const Rerun& run, const KnockOutOptions& options) {
  return knock_out_has_estimates(run.loaded.info(), options.measure, run.length());
}

KnockOutProbe::KnockOutProbe(const Rerun& run, KnockOutOptions options, StopToken stop)
    : run_(&run),
      options_(std::move(options)),
      image_(run.transformer.spec().is_image()),
      positions_(measured_positions(run, options_)),
      stop_(std::move(stop)) {}

Result<KnockOutProbe> KnockOutProbe::make(const Rerun& run, const KnockOutOptions& options, const at::Tensor& unedited,
                                          bool samples, const StopToken& stop) {
  KnockOutProbe made(run, options, stop);
  made.unedited_ = made.read(unedited);
  const bool loss = options.measure == KnockOutMeasure::kLoss;
  if (loss || samples) {
    const at::Tensor ids = loss ? made.next_ids() : at::Tensor();
    LOCUS_TRY(const OutputSums sums, output_sums(run.transformer, made.unedited_, {.ids = ids, .stop = stop}));
    if (loss) {
      made.own_losses_ = made.losses(sums, 1)[0];
    }
    if (samples) {
      LOCUS_TRY(made.sample_, OutputSample::of(run.transformer, made.unedited_, sums, ids, stop));
    }
  }
  if (options.measure == KnockOutMeasure::kLogit) {
    LOCUS_TRY(const at::Tensor logits, made.last_logits(made.unedited_));
    made.token_ = options.token < 0 ? logits.argmax().item<std::int64_t>() : options.token;
    made.own_log_share_ = made.log_share(logits);
  } else if (made.image_) {
    LOCUS_TRY(made.own_logits_, made.last_logits(made.unedited_));
  }
  return made;
}

std::int64_t KnockOutProbe::at_once() const {
  const bool shared = options_.measure != KnockOutMeasure::kLogit && !image_;
  return shared ? std::max<std::int64_t>(kMaxOutputRows / std::max<std::int64_t>(unedited_.size(0), 1), 1) : 1;
}

Result<std::vector<KnockOutProbe::Effect>> KnockOutProbe::operator()(const std::vector<at::Tensor>& streams) const {
  std::vector<Effect> effects;
  const std::vector<at::Tensor> rows = read(streams);
  if (options_.measure == KnockOutMeasure::kLoss) {
    const auto runs = static_cast<std::int64_t>(rows.size());
    LOCUS_TRY(const OutputSums sums,
              output_sums(run_->transformer, at::cat(rows), {.ids = next_ids().repeat({runs}), .stop = stop_}));
    const at::Tensor edited = losses(sums, runs);
    for (std::int64_t n = 0; n < runs; ++n) {
      effects.push_back(mean(edited[n] - own_losses_));
    }
  } else if (options_.measure == KnockOutMeasure::kKl && !image_) {
    LOCUS_TRY(const OutputDivergence found,
              output_divergence(run_->transformer, unedited_, at::stack(rows), {.stop = stop_}));
    for (std::int64_t n = 0; n < found.kl.size(0); ++n) {
      effects.push_back(mean(found.kl[n]));
    }
  } else {
    for (const at::Tensor& each : rows) {
      LOCUS_TRY(const at::Tensor logits, last_logits(each));
      const double change = options_.measure == KnockOutMeasure::kLogit
                                ? log_share(logits) - own_log_share_
                                : mean_divergence(own_logits_.unsqueeze(0), logits.unsqueeze(0));
      effects.push_back({.value = change});
    }
  }
  return effects;
}

Result<std::vector<KnockOutProbe::Effect>> KnockOutProbe::estimates(const std::vector<at::Tensor>& streams) const {
  std::vector<Effect> effects;
  LOCUS_TRY(const OutputSample::Changes found, sample_->changes(at::stack(read(streams)), stop_));
  for (std::int64_t n = 0; n < found.rows.size(0); ++n) {
    effects.push_back(mean(found.rows[n]));
    effects.back().sampling = found.error[n].item<double>();
    if (!found.fits[n].item<bool>()) {
      LOCUS_TRY(const std::vector<Effect> exact, (*this)({streams[static_cast<std::size_t>(n)]}));
      effects.back() = exact.front();
    }
  }
  return effects;
}

KnockOutProbe::Effect KnockOutProbe::mean(const at::Tensor& changes) const {
  return options_.measure == KnockOutMeasure::kLoss ? paired(changes) : Effect{.value = changes.mean().item<double>()};
}

at::Tensor KnockOutProbe::read(const at::Tensor& stream) const {
  if (positions_.defined()) {
    return stream.index_select(0, positions_.to(stream.device()));
  }
  return options_.measure == KnockOutMeasure::kLoss ? stream.slice(0, 0, stream.size(0) - 1) : stream;
}

std::vector<at::Tensor> KnockOutProbe::read(const std::vector<at::Tensor>& streams) const {
  std::vector<at::Tensor> rows;
  for (const at::Tensor& stream : streams) {
    rows.push_back(read(stream));
  }
  return rows;
}

Result<at::Tensor> KnockOutProbe::last_logits(const at::Tensor& stream) const {
  const at::Tensor last = image_ ? stream : stream.slice(0, stream.size(0) - 1);
  const at::Tensor logits = run_->transformer.head()(last.unsqueeze(0)).select(0, 0);
  LOCUS_CHECK(transformer::check_logits(logits));
  return logits[-1];
}

double KnockOutProbe::log_share(const at::Tensor& logits) const {
  return logits.to(at::kDouble).log_softmax(-1)[token_].item<double>();
}

at::Tensor KnockOutProbe::next_ids() const {
  const at::Tensor after = run_->batch.ids[0].slice(0, 1);
  return positions_.defined() ? after.index_select(0, positions_.to(after.device())) : after;
}

at::Tensor KnockOutProbe::losses(const OutputSums& sums, std::int64_t runs) const {
  at::Tensor found = (sums.log_sum_exp - sums.own.to(at::kDouble)).view({runs, -1});
  for (std::int64_t n = 0; n < runs && !positions_.defined(); ++n) {
    leave_out_cells(run_->data.images, found[n].data_ptr<double>(), found.size(1));
  }
  return found;
}

}  // namespace locus::models
