#include "models/api/effect.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "core/base/guarded.h"
#include "core/base/numbers.h"
#include "models/api/local.h"
#include "models/experiments/fields.h"
#include "models/experiments/output_sums.h"
#include "models/experiments/outputs.h"
#include "models/experiments/rerun.h"
#include "models/transformer/check_numbers.h"

namespace locus::models {

namespace {

constexpr double kRounding = 1e-6;

// Takes numbers alone, not NaN.
double mean_of(const std::vector<double>& values) {
  double sum = 0;
  double count = 0;
  for (const double value : values) {
    sum += std::isnan(value) ? 0.0 : value;
    count += std::isnan(value) ? 0.0 : 1.0;
  }
  return count > 0 ? sum / count : kNaN;
}

at::Tensor log_shares(const at::Tensor& logits) {
  return logits.to(at::kCPU, at::kDouble).log_softmax(-1);
}

void append(std::vector<double>& list, const at::Tensor& values) {
  const at::Tensor flat = values.contiguous();
  list.insert(list.end(), flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel());
}

// Notes the likeliest of each row of log-shares.
void note_likeliest(const at::Tensor& shares, const TraceData& data, std::vector<Prediction>& tops) {
  const auto [most, ids] = shares.max(-1);
  for (std::int64_t n = 0; n < ids.size(0); ++n) {
    const auto id = ids[n].item<std::int64_t>();
    tops.push_back(
        {id, data.label ? data.label(id) : std::to_string(id), static_cast<float>(std::exp(most[n].item<double>()))});
  }
}

// Takes the losses of each token, without those of a picture's cells.
void set_losses(std::vector<double>& losses, std::vector<double>& losses_edited, const TraceData& data,
                EffectNumbers& effect) {
  for (std::vector<double>* const list : {&losses, &losses_edited}) {
    leave_out_cells(data.images, list->data(), static_cast<std::int64_t>(list->size()));
  }
  for (std::size_t n = 0; n < losses.size(); ++n) {
    effect.delta.push_back(losses_edited[n] - losses[n]);
  }
  effect.loss = mean_of(losses);
  effect.loss_edited = mean_of(losses_edited);
}

// Fills the effect on an image's classes (1, V). Also the likeliest, where there is a place for them.
void fill_from_classes(const at::Tensor& unedited, const at::Tensor& edited, const TraceData& data,
                       EffectNumbers& effect, EffectOnTrace* tops = nullptr) {
  const at::Tensor first = log_shares(unedited);
  const at::Tensor second = log_shares(edited);
  append(effect.kl, (first.exp() * (first - second)).sum(-1).clamp_min(0));
  if (tops != nullptr) {
    note_likeliest(first, data, tops->top);
    note_likeliest(second, data, tops->top_edited);
  }
  effect.loss = effect.loss_edited = kNaN;
}

// The tokens that a model predicts one by one from these logits; undefined where it does not.
at::Tensor predicted_ids(const ModelInfo& info, const at::Tensor& ids, const at::Tensor& logits) {
  return info.causal && !info.image && ids.defined() && logits.size(0) == ids.size(0) ? ids : at::Tensor();
}

bool differ(const at::Tensor& first, const at::Tensor& second) {
  return !at::equal(first, second) &&
         (first - second).abs().max().item<double>() > kRounding * first.abs().max().item<double>();
}

// EffectOnTrace::first_layer of two runs with the states entering each layer.
std::int64_t first_layer_of(const transformer::Observation& unedited, const transformer::Observation& edited) {
  const auto depth = static_cast<std::int64_t>(unedited.layers.size());
  for (std::int64_t n = 0; n < depth; ++n) {
    const auto at = static_cast<std::size_t>(n);
    if (differ(unedited.layers[at].hidden, edited.layers[at].hidden)) {
      return n - 1;
    }
  }
  return differ(unedited.stream, edited.stream) ? depth - 1 : depth;
}

// The layers of the unedited run below the lowest edited one; empty where there are none.
std::optional<transformer::ReusedLayers> layers_below(const Edits& edits, const transformer::Observation& unedited) {
  const auto depth = static_cast<std::int64_t>(unedited.layers.size());
  const std::int64_t first = std::min(first_difference({}, edits, depth), depth - 1);
  if (edits.empty() || first < 1) {
    return std::nullopt;
  }
  transformer::ReusedLayers reused;
  const auto begin = unedited.layers.begin();
  reused.layers.assign(begin, begin + first);
  reused.hidden = unedited.layers[static_cast<std::size_t>(first)].hidden;
  for (auto layer = begin + first; layer != unedited.layers.end(); ++layer) {
    reused.after.push_back(layer->state);
  }
  return reused;
}

// Whether two batches without edits are one input.
bool same_input(const transformer::Batch& first, const transformer::Batch& second) {
  const auto same = [](const at::Tensor& a, const at::Tensor& b) {
    return a.is_same(b) || (a.defined() && b.defined() && a.sizes() == b.sizes() && at::equal(a, b));
  };
  return same(first.ids, second.ids) && same(first.pixels, second.pixels) &&
         same(first.positions.ids, second.positions.ids) && first.positions.prefix == second.positions.prefix &&
         first.positions.suffix == second.positions.suffix && same(first.memory, second.memory) &&
         first.images == second.images && first.blocks == second.blocks && first.tiles == second.tiles;
}

// The pass of the batch without edits: the last one that was kept of its checkpoint, or a new one, which is kept where
// it is small. Errors: observe()'s.
Result<std::shared_ptr<const UneditedPass>> unedited_pass(const Rerun& run, const transformer::Batch& batch,
                                                          const transformer::ObserveOptions& options) {
  constexpr std::size_t kMaxKeptBytes = std::size_t{128} << 20;
  LastUneditedPass& last = run.loaded.checkpoint().unedited_pass();
  {
    const std::lock_guard lock(last.mutex);
    if (last.pass && same_input(last.pass->batch, batch)) {
      return last.pass;
    }
    last.pass.reset();
  }
  auto made = std::make_shared<UneditedPass>();
  made->batch = batch;
  LOCUS_TRY(made->seen, run.transformer.observe(batch, options));
  std::size_t bytes = made->seen.stream.nbytes();
  for (transformer::LayerRecord& record : made->seen.layers) {
    transformer::LayerRecord kept;
    kept.state = std::move(record.state);
    kept.hidden = std::move(record.hidden);
    bytes += kept.hidden.nbytes();
    if (run.transformer.spec().shares_keys()) {
      kept.prepared = std::move(record.prepared);
      kept.value = std::move(record.value);
      bytes += 4 * kept.hidden.nbytes();  // about
    }
    record = std::move(kept);
  }
  std::shared_ptr<const UneditedPass> pass = std::move(made);
  if (bytes <= kMaxKeptBytes) {
    const std::lock_guard lock(last.mutex);
    last.pass = pass;
  }
  return pass;
}

void append_likeliest(const OutputSums& sums, const TraceData& data, std::vector<Prediction>& tops) {
  for (std::int64_t n = 0; n < sums.likeliest.size(0); ++n) {
    const std::int64_t id = sums.likeliest.data_ptr<std::int64_t>()[n];
    const double share = std::exp(sums.largest.data_ptr<float>()[n] - sums.log_sum_exp.data_ptr<double>()[n]);
    tops.push_back({id, data.label ? data.label(id) : std::to_string(id), static_cast<float>(share)});
  }
}

// What the head of a model of texts reads of a run (R, C).
struct Read {
  const transformer::Transformer& model;
  at::Tensor stream;
};

// Fills the effect in blocks of the outputs: `effect` gets the losses of `ids` (R), undefined: none. Returns the sums of
// both. Errors: output_divergence()'s.
Result<OutputDivergence> fill_from_streams(const Read& unedited, const Read& edited, const at::Tensor& ids,
                                           const TraceData& data, const StopToken& stop, EffectNumbers& effect) {
  OutputSumsOptions options;
  options.stop = stop;
  if (ids.defined()) {
    options.ids = at::cat({ids.slice(0, 1), ids.slice(0, 0, 1)});  // nothing follows the last one
  }
  LOCUS_TRY(OutputDivergence found,
            output_divergence(unedited.model, unedited.stream, edited.stream.unsqueeze(0), options, &edited.model));
  append(effect.kl, found.kl);
  std::vector<double> losses;
  std::vector<double> losses_edited;
  if (ids.defined()) {
    const std::int64_t scored = ids.size(0) - 1;
    const auto append_losses = [&](const OutputSums& sums, std::vector<double>& list) {
      append(list, (sums.log_sum_exp - sums.own.to(at::kDouble)).slice(0, 0, scored));
    };
    append_losses(found.first, losses);
    append_losses(found.others, losses_edited);
  }
  set_losses(losses, losses_edited, data, effect);
  return found;
}

// A run of one of the models that are compared.
struct RunOf {
  const Model& model;
  TracePointer trace;
};

Error no_head(const Model& model) {
  return unsupported("an effect needs a model that predicts: this one has no head", model.info().name);
}

// What the head of the run's model reads. Errors: kUnsupported for a model that does not predict; kBadInput for a run
// that did not keep it; those of loading.
Result<Read> read_by_head(const RunOf& run, const TraceData& data) {
  const LoadedModel* const loaded = loaded_model_of(run.model);
  if (loaded == nullptr) {
    return internal("effect: expected a model of this machine");
  }
  LOCUS_TRY(const transformer::Transformer* const transformer, loaded->checkpoint().ready());
  if (!transformer->spec().head) {
    return no_head(run.model);
  }
  if (transformer->spec().token_score) {
    return unsupported("an effect needs a model that predicts: this one gives each token one number",
                       run.model.info().name);
  }
  if (!data.before_head.defined()) {
    return bad_input("expected a run that kept what the head reads of every token", run.model.info().name);
  }
  return Read{*transformer, data.before_head};
}

// What runs of texts keep for effect_between().
RunOptions read_options() {
  return {.keep = {"logits"}, .before_head = true};
}

// Errors: kUnsupported and kBadInput as in the header; output_divergence()'s.
Result<Effect> effect_between(RunOf unedited, RunOf edited, const StopToken& stop) {
  LOCUS_TRY(const TraceData* const before, data_of(*unedited.trace));
  LOCUS_TRY(const TraceData* const after, data_of(*edited.trace));
  Effect effect;
  if (unedited.model.info().image) {
    if (!before->logits.defined() || !after->logits.defined()) {
      return no_head(unedited.model);
    }
    if (before->logits.sizes() != after->logits.sizes()) {
      return bad_input("expected two runs with the same classes, found " + std::to_string(before->logits.size(-1)) +
                       " and " + std::to_string(after->logits.size(-1)));
    }
    fill_from_classes(before->logits, after->logits, *before, effect);
  } else {
    LOCUS_TRY(const Read first, read_by_head(unedited, *before));
    LOCUS_TRY(const Read second, read_by_head(edited, *after));
    const auto outputs = [](const Read& read) { return read.model.spec().outputs(); };
    if (first.stream.size(0) != second.stream.size(0) || outputs(first) != outputs(second)) {
      const auto shape = [&](const Read& read) {
        return std::to_string(read.stream.size(0)) + " tokens of " + std::to_string(outputs(read));
      };
      return bad_input("expected logits of the same tokens and outputs, found those of " + shape(first) + " and " +
                       shape(second));
    }
    LOCUS_CHECK(fill_from_streams(first, second, predicted_ids(unedited.model.info(), before->input_ids, first.stream),
                                  *before, stop, effect));
  }
  effect.unedited = std::move(unedited.trace);
  effect.edited = std::move(edited.trace);
  return effect;
}

}  // namespace

Result<EffectOnTrace> local::effect_on(const Model& model, const Trace& trace, StopToken stop,
                                       const Progress& progress) {
  return guarded([&]() -> Result<EffectOnTrace> {
    const at::NoGradGuard no_grad;
    LOCUS_TRY(Rerun run, rerun_of(model, trace, "effect"));
    if (!run.data.unedited_ids.defined()) {
      return unsupported("effect: expected a run of the checkpoint, found a trace of one", model.info().name);
    }
    transformer::ObserveOptions options{
        .hidden = true, .values = run.transformer.spec().shares_keys(), .all_logits = true, .before_head = true};
    options.stop = stop;
    options.progress = progress;
    transformer::Batch plain = run.batch;
    plain.edits = nullptr;
    plain.positions.ids = run.data.unedited_ids;
    LOCUS_TRY(const std::shared_ptr<const UneditedPass> pass, unedited_pass(run, plain, options));
    const transformer::Observation& before = pass->seen;
    const std::optional<transformer::ReusedLayers> below = layers_below(model.edits(), before);
    options.reused_layers = below ? &*below : nullptr;
    LOCUS_TRY(const transformer::Observation after, run.transformer.observe(run.batch, options));
    const at::Tensor first = before.stream.select(0, 0);
    const at::Tensor second = after.stream.select(0, 0);
    EffectOnTrace effect;
    if (run.transformer.spec().is_image()) {
      const transformer::Head& head = run.transformer.head();
      const at::Tensor classes = head(before.stream).select(0, 0);
      const at::Tensor classes_edited = head(after.stream).select(0, 0);
      LOCUS_CHECK(transformer::check_logits(classes));
      LOCUS_CHECK(transformer::check_logits(classes_edited));
      fill_from_classes(classes, classes_edited, run.data, effect, &effect);
    } else {
      LOCUS_TRY(const OutputDivergence found,
                fill_from_streams({run.transformer, first}, {run.transformer, second},
                                  predicted_ids(model.info(), run.data.input_ids, first), run.data, stop, effect));
      append_likeliest(found.first, run.data, effect.top);
      append_likeliest(found.others, run.data, effect.top_edited);
    }
    effect.first_layer = first_layer_of(before, after);
    return effect;
  });
}

Result<Effect> local::effect_of_edits(const Model& model, const Input& input, StopToken stop,
                                      const Progress& progress) {
  return guarded([&]() -> Result<Effect> {
    const at::NoGradGuard no_grad;
    if (model.edits().empty()) {
      return usage("effect: expected at least one --edit or --edits FILE");
    }
    LOCUS_TRY(const std::shared_ptr<const Model> plain, model.edited({}));
    RunOptions options = read_options();
    options.keep.insert("hidden");
    options.continuable = true;
    LOCUS_TRY(TracePointer unedited, plain->run(input, options, stop, progress));
    options.reuse = unedited;
    LOCUS_TRY(TracePointer edited, model.run(input, options, stop, progress));
    return effect_between({*plain, std::move(unedited)}, {model, std::move(edited)}, stop);
  });
}

Result<Effect> local::effect_of_change(const Model& model, const Model& changed, const Input& input,
                                       const std::optional<TracePointer>& known, StopToken stop,
                                       const Progress& progress) {
  return guarded([&]() -> Result<Effect> {
    const at::NoGradGuard no_grad;
    RunOptions options = read_options();
    options.scores = false;
    TracePointer unedited = known.value_or(nullptr);
    if (unedited == nullptr) {
      LOCUS_TRY(unedited, model.run(input, options, stop, progress));
    }
    LOCUS_TRY(TracePointer edited, changed.run(input, options, stop, progress));
    return effect_between({model, std::move(unedited)}, {changed, std::move(edited)}, stop);
  });
}

}  // namespace locus::models
