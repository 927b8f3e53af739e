#include "models/api/knock_out.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <iterator>
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
#include "models/experiments/layer_reuse.h"
#include "models/experiments/output_sums.h"
#include "models/experiments/outputs.h"
#include "models/experiments/rerun.h"
#include "models/transformer/check_numbers.h"

namespace locus::models {

namespace {

// A measure, and the standard error of a mean over tokens; NaN where it is none.
struct Effect {
  double value = 0;
  double error = kNaN;
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

// Whether every head is to have an estimate from some positions before the others are read: where somebody looks on,
// outputs take most of the time, and the streams of all heads can be kept in between.
bool estimates_first(const Rerun& run, const KnockOutOptions& options, std::size_t positions) {
  constexpr std::int64_t kLargeVocabulary = 65536;
  constexpr std::int64_t kMaxStreams = std::int64_t{1} << 26;  // numbers: 256 MiB
  const ModelInfo& info = run.loaded.info();
  return options.so_far && options.measure != KnockOutMeasure::kLogit && !info.image &&
         info.vocabulary >= kLargeVocabulary && positions >= std::size_t{4} * kEstimatePositions &&
         info.layers * info.heads * run.length() * run.transformer.spec().width <= kMaxStreams;
}

// The positions that are measured, (P) int64 each, one set after the other. Undefined: all rows of the stream.
std::vector<at::Tensor> turns_of(const Rerun& run, const KnockOutOptions& options) {
  if (options.measure == KnockOutMeasure::kLogit || run.loaded.info().image) {
    return {at::Tensor()};
  }
  std::vector<std::int64_t> all = predicting(run, options);
  if (options.positions > 0 && options.positions < static_cast<std::int64_t>(all.size())) {
    all = spread(all, options.positions);
  } else if (!estimates_first(run, options, all.size())) {
    return {at::Tensor()};
  }
  if (!estimates_first(run, options, all.size())) {
    return {at::tensor(all, at::kLong)};
  }
  const std::vector<std::int64_t> first = spread(all, kEstimatePositions);
  std::vector<std::int64_t> others;
  std::set_difference(all.begin(), all.end(), first.begin(), first.end(), std::back_inserter(others));
  return {at::tensor(first, at::kLong), at::tensor(others, at::kLong)};
}

// The quantity read from a run's stream (R, C) before the head. Rows of a large vocabulary are never held whole.
class Probe {
 public:
  static Result<Probe> make(const Rerun& run, const KnockOutOptions& options, const at::Tensor& positions,
                            const at::Tensor& unedited, const StopToken& stop) {
    Probe made(run, options, positions, stop);
    made.unedited_ = made.read(unedited);
    if (options.measure == KnockOutMeasure::kLoss) {
      LOCUS_TRY(const at::Tensor losses, made.losses(made.unedited_.unsqueeze(0)));
      made.own_losses_ = losses[0];
    } else if (options.measure == KnockOutMeasure::kLogit) {
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
  // What each run changes: (P) float64 of a mean over positions, else (1). Errors: output_sums()'s.
  Result<std::vector<at::Tensor>> operator()(std::vector<at::Tensor> streams) const {
    std::vector<at::Tensor> changes;
    for (at::Tensor& stream : streams) {
      stream = read(stream);
    }
    if (options_.measure == KnockOutMeasure::kLoss) {
      LOCUS_TRY(const at::Tensor edited, losses(at::stack(streams)));
      for (std::int64_t n = 0; n < edited.size(0); ++n) {
        changes.push_back(edited[n] - own_losses_);
      }
    } else if (options_.measure == KnockOutMeasure::kKl && !image_) {
      LOCUS_TRY(const OutputDivergence found,
                output_divergence(run_->transformer, unedited_, at::stack(streams), {.stop = stop_}));
      for (std::int64_t n = 0; n < found.kl.size(0); ++n) {
        changes.push_back(found.kl[n]);
      }
    } else {
      for (const at::Tensor& stream : streams) {
        LOCUS_TRY(const at::Tensor logits, last_logits(stream));
        const double change = options_.measure == KnockOutMeasure::kLogit
                                  ? share(logits) - own_share_
                                  : mean_divergence(own_logits_.unsqueeze(0), logits.unsqueeze(0));
        changes.push_back(at::full({1}, change, at::kDouble));
      }
    }
    return changes;
  }
  // The effect on a run, from its changes at all sets of positions.
  Effect effect(const std::vector<at::Tensor>& changes) const {
    const at::Tensor all = at::cat(changes);
    return options_.measure == KnockOutMeasure::kLoss ? paired(all) : Effect{all.mean().item<double>(), kNaN};
  }

 private:
  Probe(const Rerun& run, KnockOutOptions options, at::Tensor positions, StopToken stop)
      : run_(&run),
        options_(std::move(options)),
        image_(run.transformer.spec().is_image()),
        positions_(std::move(positions)),
        stop_(std::move(stop)) {}

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
  // (N, P) float64, as token_losses() has them, of the rows (N, P, C) of streams that are measured.
  Result<at::Tensor> losses(const at::Tensor& rows) const {
    const std::int64_t runs = rows.size(0);
    const std::int64_t count = rows.size(1);
    const at::Tensor after = run_->batch.ids[0].slice(0, 1);
    const at::Tensor next = positions_.defined() ? after.index_select(0, positions_.to(after.device())) : after;
    LOCUS_TRY(const OutputSums sums, output_sums(run_->transformer, rows.reshape({runs * count, rows.size(2)}),
                                                 {.ids = next.repeat({runs}), .stop = stop_}));
    at::Tensor found = (sums.log_sum_exp - sums.own.to(at::kDouble)).view({runs, count});
    for (std::int64_t n = 0; n < runs && !positions_.defined(); ++n) {
      leave_out_cells(run_->data.images, found[n].data_ptr<double>(), count);
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

// Heads of a layer, which share runs and passes over the vocabulary, and what is kept of them between two turns.
struct HeadGroup {
  std::int64_t layer = 0;
  Range heads = {};
  std::vector<at::Tensor> streams = {};
  std::vector<std::vector<at::Tensor>> changes = {};  // of each head, set after set of positions
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

Result<KnockOutEffects> effects_of(const Rerun& run, const KnockOutOptions& options, const StopToken& stop,
                                   const Progress& progress) {
  const ModelInfo& info = run.loaded.info();
  LOCUS_TRY(const LayerReuse runs,
            LayerReuse::begin(run.transformer, info, run.batch, read_tokens(run, options), stop));
  std::vector<Probe> probes;
  for (const at::Tensor& positions : turns_of(run, options)) {
    LOCUS_TRY(Probe probe, Probe::make(run, options, positions, runs.first_stream(), stop));
    probes.push_back(std::move(probe));
  }
  KnockOutEffects made{layer_head_field(info.layers, info.heads, ""), {}};
  std::fill(made.effect.values.begin(), made.effect.values.end(), std::numeric_limits<float>::quiet_NaN());
  if (options.measure == KnockOutMeasure::kLoss && run.length() > 2 && options.positions != 1) {
    made.error = made.effect;
  }
  std::vector<HeadGroup> groups = groups_of(info, std::max(runs.at_once(), probes.back().at_once()));
  std::int64_t estimated = 0;
  for (std::size_t turn = 0; turn < probes.size(); ++turn) {
    const Probe& probe = probes[turn];
    const bool last = turn + 1 == probes.size();
    std::vector<HeadGroup*> waiting;  // for a pass over the vocabulary
    std::vector<at::Tensor> streams;  // of their heads
    for (std::size_t n = 0; n < groups.size(); ++n) {
      HeadGroup& group = groups[n];
      if (stop.stop_requested()) {
        return cancelled();
      }
      const double done = (static_cast<double>(turn) + static_cast<double>(n) / static_cast<double>(groups.size())) /
                          static_cast<double>(probes.size());
      report(progress, done, "head " + std::to_string(group.layer) + "." + std::to_string(group.heads.begin));
      if (turn == 0) {
        LOCUS_TRY(group.streams, runs.streams(edits_of(group, run, options), group.layer, run.layout()));
      }
      waiting.push_back(&group);
      streams.insert(streams.end(), group.streams.begin(), group.streams.end());
      if (last) {
        group.streams.clear();
      }
      const bool more = n + 1 < groups.size();
      if (!last && more && 2 * static_cast<std::int64_t>(streams.size()) < probe.at_once()) {  // half a pass
        continue;
      }
      LOCUS_TRY(const std::vector<at::Tensor> changes, probe(std::exchange(streams, {})));
      auto change = changes.begin();
      for (HeadGroup* const each : std::exchange(waiting, {})) {
        each->changes.resize(static_cast<std::size_t>(each->heads.size()));
        for (std::int64_t head = each->heads.begin; head < each->heads.end; ++head) {
          std::vector<at::Tensor>& all = each->changes[static_cast<std::size_t>(head - each->heads.begin)];
          all.push_back(*change++);
          set_head(made, each->layer, head, probe.effect(all));
        }
        estimated += probes.size() == 1 ? 0 : last ? -each->heads.size() : each->heads.size();
      }
      if (options.so_far) {
        options.so_far(made, estimated);
      }
    }
  }
  return made;
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
      LOCUS_TRY(KnockOutEffects effects, effects_of(run, options, stop, part));
      fields.push_back(std::move(effects.effect));
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
