#include "models/api/knock_out.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "core/base/guarded.h"
#include "core/base/numbers.h"
#include "core/base/shown.h"
#include "models/api/local.h"
#include "models/edits/run_edits.h"
#include "models/experiments/fields.h"
#include "models/experiments/knock_out_probe.h"
#include "models/experiments/layer_reuse.h"
#include "models/experiments/outputs.h"
#include "models/experiments/rerun.h"

namespace locus::models {

namespace {

// Whether the streams of all heads can be kept until the outputs that were not in the sample are read too.
bool keeps_streams(const Rerun& run) {
  constexpr std::int64_t kMaxNumbers = std::int64_t{1} << 26;  // 256 MiB
  const ModelInfo& info = run.loaded.info();
  return info.layers * info.heads * run.length() * run.transformer.spec().width <= kMaxNumbers;
}

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
  return {};
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

void set_head(KnockOutEffects& made, std::int64_t layer, std::int64_t head, const KnockOutProbe::Effect& effect) {
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
  // `samples`: heads can be estimated.
  static Result<KnockOutMap> begin(const Rerun& run, const KnockOutOptions& options, bool samples,
                                   const StopToken& stop) {
    const ModelInfo& info = run.loaded.info();
    LOCUS_TRY(LayerReuse runs, LayerReuse::begin(run.transformer, info, run.batch, read_tokens(run, options), stop));
    LOCUS_TRY(KnockOutProbe probe, KnockOutProbe::make(run, options, runs.first_stream(), samples, stop));
    return KnockOutMap(run, options, std::move(runs), std::move(probe), stop);
  }

  // Estimates all heads; `keeps`: their streams are kept for measure().
  Status estimate(bool keeps, const Progress& progress) {
    for (std::size_t n = 0; n < groups_.size(); ++n) {
      LOCUS_CHECK(next(n, progress));
      LOCUS_TRY(std::vector<at::Tensor> streams, streams_of(n));
      LOCUS_TRY(const std::vector<KnockOutProbe::Effect> effects, probe_.estimates(streams));
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
      LOCUS_TRY(const std::vector<KnockOutProbe::Effect> effects, probe_(std::exchange(streams, {})));
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
  KnockOutMap(const Rerun& run, const KnockOutOptions& options, LayerReuse runs, KnockOutProbe probe, StopToken stop)
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
  void set(std::size_t n, const std::vector<KnockOutProbe::Effect>& effects) {
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
  KnockOutProbe probe_;
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
  const bool twice = options.so_far && has_estimates(run, options) && keeps_streams(run);
  LOCUS_TRY(KnockOutMap map, KnockOutMap::begin(run, options, twice, stop));
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
  const bool samples = has_estimates(run, options);
  LOCUS_TRY(KnockOutMap map, KnockOutMap::begin(run, options, samples, stop));
  LOCUS_CHECK(samples ? map.estimate(false, progress) : map.measure(progress));
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
