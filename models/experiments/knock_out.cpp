#include "models/api/knock_out.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "core/base/guarded.h"
#include "core/base/numbers.h"
#include "core/base/shown.h"
#include "models/api/local.h"
#include "models/edits/run_edits.h"
#include "models/experiments/fields.h"
#include "models/experiments/layer_reuse.h"
#include "models/experiments/output_sample.h"
#include "models/experiments/output_sums.h"
#include "models/experiments/outputs.h"
#include "models/experiments/rerun.h"
#include "models/transformer/check_numbers.h"

namespace locus::models {

namespace {

// A measure; the standard error of a mean over tokens, NaN where it is none; and that of a sample of the outputs.
struct Effect {
  double value = 0;
  double error = kNaN;
  double sampling = 0;
};

// A mean over pairs of losses: of the same token with the edit and without; NaN is no pair.
Effect paired(const at::Tensor& all) {
  const at::Tensor changes = all.masked_select(all.isnan().logical_not());
  const auto count = static_cast<double>(changes.numel());
  const double mean = changes.mean().item<double>();
  if (count < 2) {
    return {mean, kNaN};
  }
  return {mean, std::sqrt((changes - mean).square().sum().item<double>() / (count - 1) / count)};
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

bool has_estimates(const Rerun& run, const KnockOutOptions& options) {
  return knock_out_has_estimates(run.loaded.info(), options.measure, run.length());
}

// Whether the streams of all heads can be kept until the outputs that were not in the sample are read too.
bool keeps_streams(const Rerun& run) {
  constexpr std::int64_t kMaxNumbers = std::int64_t{1} << 26;  // 256 MiB
  const ModelInfo& info = run.loaded.info();
  return info.layers * info.heads * run.length() * run.transformer.spec().width <= kMaxNumbers;
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

// The quantity read from a run's stream (R, C) before the head. Rows of a large vocabulary are never held whole.
class Probe {
 public:
  static Result<Probe> make(const Rerun& run, const KnockOutOptions& options, const at::Tensor& positions,
                            const at::Tensor& unedited, const StopToken& stop) {
    Probe made(run, options, positions, stop);
    made.unedited_ = made.read(unedited);
    if (options.measure == KnockOutMeasure::kLoss || has_estimates(run, options)) {
      const at::Tensor ids = options.measure == KnockOutMeasure::kLoss ? made.next_ids() : at::Tensor();
      LOCUS_TRY(const OutputSums sums, output_sums(run.transformer, made.unedited_, {.ids = ids, .stop = stop}));
      if (ids.defined()) {
        made.own_losses_ = made.losses(sums, 1)[0];
      }
      if (has_estimates(run, options)) {
        LOCUS_TRY(made.sample_, OutputSample::of(run.transformer, made.unedited_, sums, ids, stop));
      }
    }
    if (options.measure == KnockOutMeasure::kLogit) {
      LOCUS_TRY(const at::Tensor logits, made.last_logits(made.unedited_));
      made.token_ = options.token < 0 ? logits.argmax().item<std::int64_t>() : options.token;
      made.own_share_ = made.share(logits);
    } else if (made.image_) {
      LOCUS_TRY(made.own_logits_, made.last_logits(made.unedited_));
    }
    return made;
  }

  // How many runs share a pass over the vocabulary.
  std::int64_t at_once() const {
    const bool shared = options_.measure != KnockOutMeasure::kLogit && !image_;
    return shared ? std::max<std::int64_t>(kMaxOutputRows / std::max<std::int64_t>(unedited_.size(0), 1), 1) : 1;
  }
  // What each run changes. Errors: output_sums()'s.
  Result<std::vector<Effect>> operator()(const std::vector<at::Tensor>& whole) const {
    std::vector<Effect> effects;
    const std::vector<at::Tensor> streams = read(whole);
    if (options_.measure == KnockOutMeasure::kLoss) {
      const auto runs = static_cast<std::int64_t>(streams.size());
      LOCUS_TRY(const OutputSums sums,
                output_sums(run_->transformer, at::cat(streams), {.ids = next_ids().repeat({runs}), .stop = stop_}));
      const at::Tensor edited = losses(sums, runs);
      for (std::int64_t n = 0; n < runs; ++n) {
        effects.push_back(mean(edited[n] - own_losses_));
      }
    } else if (options_.measure == KnockOutMeasure::kKl && !image_) {
      LOCUS_TRY(const OutputDivergence found,
                output_divergence(run_->transformer, unedited_, at::stack(streams), {.stop = stop_}));
      for (std::int64_t n = 0; n < found.kl.size(0); ++n) {
        effects.push_back(mean(found.kl[n]));
      }
    } else {
      for (const at::Tensor& stream : streams) {
        LOCUS_TRY(const at::Tensor logits, last_logits(stream));
        const double change = options_.measure == KnockOutMeasure::kLogit
                                  ? share(logits) - own_share_
                                  : mean_divergence(own_logits_.unsqueeze(0), logits.unsqueeze(0));
        effects.push_back({.value = change});
      }
    }
    return effects;
  }
  // The same from a sample of the outputs, or from all of them where the sample does not fit. Precondition: has_estimates().
  Result<std::vector<Effect>> estimates(const std::vector<at::Tensor>& whole) const {
    std::vector<Effect> effects;
    LOCUS_TRY(const OutputSample::Changes found, sample_->changes(at::stack(read(whole)), stop_));
    for (std::int64_t n = 0; n < found.rows.size(0); ++n) {
      effects.push_back(mean(found.rows[n]));
      effects.back().sampling = found.error[n].item<double>();
      if (!found.fits[n].item<bool>()) {
        LOCUS_TRY(const std::vector<Effect> exact, (*this)({whole[static_cast<std::size_t>(n)]}));
        effects.back() = exact.front();
      }
    }
    return effects;
  }

 private:
  Probe(const Rerun& run, KnockOutOptions options, at::Tensor positions, StopToken stop)
      : run_(&run),
        options_(std::move(options)),
        image_(run.transformer.spec().is_image()),
        positions_(std::move(positions)),
        stop_(std::move(stop)) {}

  // The mean of a run's changes at the positions (P) float64.
  Effect mean(const at::Tensor& changes) const {
    return options_.measure == KnockOutMeasure::kLoss ? paired(changes)
                                                      : Effect{.value = changes.mean().item<double>()};
  }
  std::vector<at::Tensor> read(const std::vector<at::Tensor>& streams) const {
    std::vector<at::Tensor> rows;
    for (const at::Tensor& stream : streams) {
      rows.push_back(read(stream));
    }
    return rows;
  }
  // The rows of a stream that are measured.
  at::Tensor read(const at::Tensor& stream) const {
    if (positions_.defined()) {
      return stream.index_select(0, positions_.to(stream.device()));
    }
    return options_.measure == KnockOutMeasure::kLoss ? stream.slice(0, 0, stream.size(0) - 1) : stream;
  }

  // (V) of the last row that was read, or (classes) of an image.
  Result<at::Tensor> last_logits(const at::Tensor& stream) const {
    const at::Tensor read = image_ ? stream : stream.slice(0, stream.size(0) - 1);
    const at::Tensor logits = run_->transformer.head()(read.unsqueeze(0)).select(0, 0);
    LOCUS_CHECK(transformer::check_logits(logits));
    return logits[-1];
  }
  double share(const at::Tensor& logits) const { return logits.to(at::kDouble).log_softmax(-1)[token_].item<double>(); }
  // (P) int64, the token after each position.
  at::Tensor next_ids() const {
    const at::Tensor after = run_->batch.ids[0].slice(0, 1);
    return positions_.defined() ? after.index_select(0, positions_.to(after.device())) : after;
  }
  // (N, P) float64, as token_losses() has them, from the sums of N runs' rows.
  at::Tensor losses(const OutputSums& sums, std::int64_t runs) const {
    at::Tensor found = (sums.log_sum_exp - sums.own.to(at::kDouble)).view({runs, -1});
    for (std::int64_t n = 0; n < runs && !positions_.defined(); ++n) {
      leave_out_cells(run_->data.images, found[n].data_ptr<double>(), found.size(1));
    }
    return found;
  }

  const Rerun* run_;
  KnockOutOptions options_;
  bool image_;
  at::Tensor positions_;  // (P); undefined: all
  at::Tensor unedited_;   // (P, C)
  StopToken stop_;
  std::int64_t token_ = 0;
  at::Tensor own_losses_;  // (P) float64
  at::Tensor own_logits_;  // (classes) of an image
  double own_share_ = 0;
  std::optional<OutputSample> sample_;
};

Status check(const Rerun& run, const KnockOutOptions& options) {
  const ModelInfo& info = run.loaded.info();
  const std::int64_t length = run.length();
  if (options.positions < 0) {
    return bad_input("knock-out: expected 0 positions, for all of them, or more, found " +
                     std::to_string(options.positions));
  }
  if (options.positions > 0 && (info.image || options.measure == KnockOutMeasure::kLogit)) {
    return bad_input("knock-out: expected 0 positions, found " + std::to_string(options.positions) +
                     ": they are of a text's loss and kl");
  }
  if (options.measure == KnockOutMeasure::kLoss && (!info.causal || info.image || length < 2)) {
    return info.causal && !info.image
               ? bad_input("knock-out: expected at least two tokens, of which the first predicts, found one")
               : unsupported("knock-out: " + info.name + " does not predict the next token; measure kl or logit");
  }
  if (options.measure == KnockOutMeasure::kLogit && (options.token >= info.vocabulary || options.position >= length)) {
    return bad_input(options.token >= info.vocabulary
                         ? "knock-out: expected a token below " + std::to_string(info.vocabulary) + ", found " +
                               std::to_string(options.token)
                         : "knock-out: expected a position below " + std::to_string(length) + ", found " +
                               std::to_string(options.position));
  }
  return options.measure == KnockOutMeasure::kLogit ? Status() : check_logits(run, "knock-out");
}

Result<Rerun> knock_out_run(const Model& model, const Trace& trace, const KnockOutOptions& options) {
  LOCUS_TRY(const Rerun run, rerun_of(model, trace, "knock-out"));
  LOCUS_CHECK(check(run, options));
  return run;
}

// The tokens that are measured; empty: all.
Range read_tokens(const Rerun& run, const KnockOutOptions& options) {
  if (options.measure != KnockOutMeasure::kLogit) {
    return {};
  }
  const std::int64_t at = options.position < 0 ? run.length() - 1 : options.position;
  return {at, at + 1};
}

void set_head(KnockOutEffects& made, std::int64_t layer, std::int64_t head, const Effect& effect) {
  made.effect.at(layer, head) = static_cast<float>(effect.value);
  if (!made.error.values.empty()) {
    made.error.at(layer, head) = static_cast<float>(effect.error);
  }
}

// Heads of a layer, whose runs are computed side by side.
struct HeadGroup {
  std::int64_t layer = 0;
  Range heads = {};
};

std::vector<HeadGroup> groups_of(const ModelInfo& info, std::int64_t at_once) {
  std::vector<HeadGroup> groups;
  for (std::int64_t layer = 0; layer < info.layers; ++layer) {
    if (!info.layer_info[static_cast<std::size_t>(layer)].attends) {
      continue;  // no head to switch off
    }
    for (std::int64_t first = 0; first < info.heads; first += at_once) {
      groups.push_back({layer, {first, std::min(first + at_once, info.heads)}});
    }
  }
  return groups;
}

// The run's own edits and the ablation of each head.
std::vector<Edits> edits_of(const HeadGroup& group, const Rerun& run, const KnockOutOptions& options) {
  std::vector<Edits> edits;
  for (std::int64_t head = group.heads.begin; head < group.heads.end; ++head) {
    edits.push_back(run.loaded.edits());
    edits.back().push_back({.layer = {{group.layer}}, .head = {{head}}, .to = options.to});
  }
  return edits;
}

// A map of all heads on one input, a few heads after the other.
class KnockOutMap {
 public:
  static Result<KnockOutMap> begin(const Rerun& run, const KnockOutOptions& options, const StopToken& stop) {
    const ModelInfo& info = run.loaded.info();
    LOCUS_TRY(LayerReuse runs, LayerReuse::begin(run.transformer, info, run.batch, read_tokens(run, options), stop));
    LOCUS_TRY(Probe probe, Probe::make(run, options, measured_positions(run, options), runs.first_stream(), stop));
    return KnockOutMap(run, options, std::move(runs), std::move(probe), stop);
  }

  // Estimates all heads; `keeps`: their streams are kept for measure().
  Status estimate(bool keeps, const Progress& progress) {
    for (std::size_t n = 0; n < groups_.size(); ++n) {
      LOCUS_CHECK(next(n, progress));
      LOCUS_TRY(std::vector<at::Tensor> streams, streams_of(n));
      LOCUS_TRY(const std::vector<Effect> effects, probe_.estimates(streams));
      set(n, effects);
      estimates_.heads += groups_[n].heads.size();
      if (keeps) {
        kept_.push_back(std::move(streams));
      }
      tell();
    }
    return {};
  }

  // Measures all heads. Those of several layers share a pass over the vocabulary.
  Status measure(const Progress& progress) {
    std::vector<std::size_t> waiting;
    std::vector<at::Tensor> streams;
    for (std::size_t n = 0; n < groups_.size(); ++n) {
      LOCUS_CHECK(next(n, progress));
      const bool kept = n < kept_.size();
      LOCUS_TRY(const std::vector<at::Tensor> own,
                kept ? Result<std::vector<at::Tensor>>(std::exchange(kept_[n], {})) : streams_of(n));
      streams.insert(streams.end(), own.begin(), own.end());
      waiting.push_back(n);
      // Half a pass is enough where nothing has to be run before the next one.
      const std::int64_t wanted = kept_.empty() ? 1 : (probe_.at_once() + 1) / 2;
      if (n + 1 < groups_.size() && static_cast<std::int64_t>(streams.size()) < wanted) {
        continue;
      }
      LOCUS_TRY(const std::vector<Effect> effects, probe_(std::exchange(streams, {})));
      auto effect = effects.begin();
      for (const std::size_t each : std::exchange(waiting, {})) {
        const std::int64_t heads = groups_[each].heads.size();
        set(each, {effect, effect + heads});
        effect += heads;
        estimates_.heads -= kept_.empty() ? 0 : heads;
      }
      tell();
    }
    return {};
  }

  const KnockOutEffects& made() const { return made_; }

 private:
  KnockOutMap(const Rerun& run, const KnockOutOptions& options, LayerReuse runs, Probe probe, StopToken stop)
      : run_(&run), options_(&options), runs_(std::move(runs)), probe_(std::move(probe)), stop_(std::move(stop)) {
    const ModelInfo& info = run.loaded.info();
    made_.effect = layer_head_field(info.layers, info.heads, "");
    std::fill(made_.effect.values.begin(), made_.effect.values.end(), std::numeric_limits<float>::quiet_NaN());
    if (options.measure == KnockOutMeasure::kLoss && run.length() > 2 && options.positions != 1) {
      made_.error = made_.effect;
    }
    groups_ = groups_of(info, std::max(runs_.at_once(), probe_.at_once()));
    sampling_.resize(groups_.size());
  }

  // Before the n-th group.
  Status next(std::size_t n, const Progress& progress) const {
    if (stop_.stop_requested()) {
      return cancelled();
    }
    const HeadGroup& group = groups_[n];
    report(progress, static_cast<double>(n) / static_cast<double>(groups_.size()),
           "head " + std::to_string(group.layer) + "." + std::to_string(group.heads.begin));
    return {};
  }
  // (R, C) of each head of the n-th group.
  Result<std::vector<at::Tensor>> streams_of(std::size_t n) const {
    return runs_.streams(edits_of(groups_[n], *run_, *options_), groups_[n].layer, run_->layout());
  }
  void set(std::size_t n, const std::vector<Effect>& effects) {
    sampling_[n] = 0;
    for (std::size_t head = 0; head < effects.size(); ++head) {
      const HeadGroup& group = groups_[n];
      set_head(made_, group.layer, group.heads.begin + static_cast<std::int64_t>(head), effects[head]);
      sampling_[n] = std::max(sampling_[n], effects[head].sampling);
    }
  }
  void tell() {
    if (options_->so_far) {
      estimates_.error = *std::max_element(sampling_.begin(), sampling_.end());
      options_->so_far(made_, estimates_);
    }
  }

  const Rerun* run_;
  const KnockOutOptions* options_;
  LayerReuse runs_;
  Probe probe_;
  StopToken stop_;
  std::vector<HeadGroup> groups_;
  std::vector<double> sampling_;  // the largest error of estimates in each group
  std::vector<std::vector<at::Tensor>> kept_;
  KnockOutEffects made_;
  KnockOutEstimates estimates_;
};

// A part of the work, of which `before` is done.
Progress part_of(const Progress& whole, double before, double share) {
  return
      [&whole, before, share](const ProgressReport& news) { report(whole, before + share * news.fraction, news.what); };
}

// Effects of all heads, estimates first where somebody looks on.
Result<KnockOutEffects> effects_of(const Rerun& run, const KnockOutOptions& options, const StopToken& stop,
                                   const Progress& progress) {
  LOCUS_TRY(KnockOutMap map, KnockOutMap::begin(run, options, stop));
  const bool twice = options.so_far && has_estimates(run, options) && keeps_streams(run);
  const double first = twice ? 0.5 : 0;
  if (twice) {
    LOCUS_CHECK(map.estimate(true, part_of(progress, 0, first)));
  }
  LOCUS_CHECK(map.measure(part_of(progress, first, 1 - first)));
  return map.made();
}

// The effects on a shuffled copy, where estimates will do.
Result<Field> null_effects(const Rerun& run, const KnockOutOptions& options, const StopToken& stop,
                           const Progress& progress) {
  LOCUS_TRY(KnockOutMap map, KnockOutMap::begin(run, options, stop));
  LOCUS_CHECK(has_estimates(run, options) ? map.estimate(false, progress) : map.measure(progress));
  return map.made().effect;
}

// 0 … n − 1 in some order, the same on every machine.
std::vector<std::int64_t> shuffled_order(std::size_t count, std::mt19937_64& random) {
  std::vector<std::int64_t> order(count);
  std::iota(order.begin(), order.end(), std::int64_t{0});
  for (std::size_t n = count; n > 1; --n) {
    std::swap(order[n - 1], order[random() % n]);
  }
  return order;
}

// (T) with the tokens that stand for bytes of the text in another order; special ones stay.
at::Tensor shuffled_ids(const at::Tensor& ids, const std::vector<TokenInfo>& tokens, std::mt19937_64& random) {
  const bool any = std::any_of(tokens.begin(), tokens.end(), [](const TokenInfo& each) { return !each.bytes.empty(); });
  std::vector<std::int64_t> places;
  for (std::size_t n = 0; n < tokens.size(); ++n) {
    if (!any || !tokens[n].bytes.empty()) {
      places.push_back(static_cast<std::int64_t>(n));
    }
  }
  const at::Tensor to = at::tensor(places, at::kLong);
  const at::Tensor from = to.index_select(0, at::tensor(shuffled_order(places.size(), random), at::kLong));
  const at::Tensor own = ids.cpu();
  return own.index_copy(0, to, own.index_select(0, from)).to(ids.device());
}

// (1, channels, height, width) with its patches in another order.
at::Tensor shuffled_patches(const at::Tensor& pixels, std::int64_t patch, std::mt19937_64& random) {
  const std::int64_t rows = pixels.size(2) / patch;
  const std::int64_t columns = pixels.size(3) / patch;
  const at::Tensor order =
      at::tensor(shuffled_order(static_cast<std::size_t>(rows * columns), random), at::kLong).to(pixels.device());
  // (1, channels, patch, patch, rows, columns)
  const at::Tensor patches = pixels.reshape({1, -1, rows, patch, columns, patch}).permute({0, 1, 3, 5, 2, 4});
  const at::Tensor moved = patches.flatten(4).index_select(4, order).view(patches.sizes());
  return moved.permute({0, 1, 4, 2, 5, 3}).reshape(pixels.sizes());
}

// The token that a logit is of, where it is the input's likeliest.
Result<std::int64_t> likeliest(const Rerun& run, std::int64_t position, const StopToken& stop) {
  const std::int64_t at = position < 0 ? run.length() - 1 : position;
  LOCUS_TRY(const transformer::Observation seen,
            run.transformer.observe(run.batch, {.read = {at, at + 1}, .stop = stop}));
  return seen.logits[0][-1].argmax().item<std::int64_t>();
}

}  // namespace

Result<KnockOutEffects> local::knock_out(const Model& model, const Trace& trace, const KnockOutOptions& options,
                                         StopToken stop, const Progress& progress) {
  return guarded([&]() -> Result<KnockOutEffects> {
    const at::NoGradGuard no_grad;
    LOCUS_TRY(const Rerun run, knock_out_run(model, trace, options));
    return effects_of(run, options, stop, progress);
  });
}

Result<std::vector<Field>> local::knock_out_shuffled(const Model& model, const Trace& trace,
                                                     const KnockOutOptions& asked, std::int64_t copies,
                                                     std::uint64_t seed, StopToken stop, const Progress& progress) {
  return guarded([&]() -> Result<std::vector<Field>> {
    const at::NoGradGuard no_grad;
    KnockOutOptions options = asked;
    options.so_far = nullptr;
    LOCUS_TRY(Rerun run, knock_out_run(model, trace, options));
    if (copies < 1) {
      return bad_input("knock-out: expected at least one shuffled copy, found " + std::to_string(copies));
    }
    if (options.measure == KnockOutMeasure::kLogit && options.token < 0) {
      LOCUS_TRY(options.token, likeliest(run, options.position, stop));
    }
    const transformer::Batch own = run.batch;
    std::mt19937_64 random(seed);
    std::vector<Field> fields;
    for (std::int64_t n = 0; n < copies; ++n) {
      const Progress part = [&](const ProgressReport& news) {
        report(progress, (static_cast<double>(n) + news.fraction) / static_cast<double>(copies),
               "shuffled copy " + std::to_string(n + 1) + " of " + std::to_string(copies) + ", " + news.what);
      };
      if (own.ids.defined()) {
        run.batch.ids = shuffled_ids(own.ids[0], run.data.tokens, random).unsqueeze(0);
      } else {
        run.batch.pixels = shuffled_patches(own.pixels, run.transformer.spec().image.patch, random);
      }
      LOCUS_TRY(fields.emplace_back(), null_effects(run, options, stop, part));
    }
    return fields;
  });
}

Result<std::int64_t> local::token_named(const Model& model, const std::string& word) {
  if (const auto id = parse_number<std::int64_t>(word)) {
    return *id;
  }
  const auto tokens = model.tokenize({.text = word});
  std::vector<TokenInfo> own;
  for (std::size_t n = 0; tokens.ok() && n < tokens->size(); ++n) {
    if (!(*tokens)[n].bytes.empty()) {
      own.push_back((*tokens)[n]);
    }
  }
  if (own.size() != 1) {
    return usage("token: expected an id or a text of one token, found \"" + shown(word) + "\"" +
                 (own.empty() ? "" : ", which is " + std::to_string(own.size())));
  }
  return own.front().id;
}

}  // namespace locus::models
