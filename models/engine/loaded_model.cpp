#include "models/engine/loaded_model.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/base/guarded.h"
#include "models/edits/run_edits.h"
#include "models/engine/model_info.h"
#include "models/engine/threads.h"
#include "models/engine/trace/recorded_trace.h"
#include "models/engine/vision.h"
#include "models/transformer/check_numbers.h"

namespace locus::models {

const LoadedModel* loaded_model_of(const Model& model) {
  return dynamic_cast<const LoadedModel*>(&model);
}

transformer::ObserveOptions observe_options(const RunOptions& options, StopToken stop, const Progress& progress) {
  transformer::ObserveOptions observe;
  observe.hidden = options.keep.count("hidden") != 0 || options.keep.count("all") != 0;
  observe.values = options.continuable || options.reuse != nullptr;
  observe.routing = options.keep.count("experts") != 0 || options.keep.count("all") != 0;
  observe.all_logits = options.all_logits;
  observe.stop = std::move(stop);
  observe.progress = progress;
  observe.pause = options.pause;
  return observe;
}

Result<transformer::Observation> LoadedModel::observe(const transformer::Transformer& model,
                                                      const transformer::Batch& batch,
                                                      const transformer::ObserveOptions& options,
                                                      double& time_ms) const {
  const auto length = static_cast<double>(batch.positions.size());
  const double part =
      options.reused_tokens == nullptr ? 1 : 1 - static_cast<double>(options.reused_tokens->tokens) / length;
  const ThreadsFor threads(part * transformer::run_macs(model.spec(), batch.positions.size(), options.all_logits));
  const auto begin = std::chrono::steady_clock::now();
  LOCUS_TRY(transformer::Observation observation,
            transformer::with_cause(model.observe(batch, options), value_warnings_));
  time_ms += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  return observation;
}

Status LoadedModel::observe_encoder(Prepared& prepared, const transformer::ObserveOptions& options, Observed& observed,
                                    double& time_ms) const {
  if (!parts_.encoder) {
    return {};
  }
  transformer::ObserveOptions wanted = options;
  wanted.reused_tokens = nullptr;
  LOCUS_TRY(observed.encoder, observe(*parts_.encoder, prepared.encoder->batch, wanted, time_ms));
  prepared.batch.memory = observed.encoder.logits;
  return {};
}

Status LoadedModel::observe_images(Prepared& prepared, const transformer::ObserveOptions& options, Observed& observed,
                                   double& time_ms) const {
  if (!prepared.vision) {
    return {};
  }
  const auto begin = std::chrono::steady_clock::now();
  LOCUS_TRY(SeenImages seen,
            transformer::with_cause(parts_.vision->observe(prepared.vision->images, options), value_warnings_));
  seen.rows.tokens = prepared.vision->tokens.to(seen.rows.vectors.device());
  prepared.batch.images = std::make_shared<const transformer::ImageRows>(seen.rows);
  observed.images = std::make_shared<const SeenImages>(std::move(seen));
  time_ms += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  return {};
}

Result<std::shared_ptr<const Trace>> LoadedModel::run(const Input& input, const RunOptions& options, StopToken stop,
                                                      const Progress& progress) const {
  return guarded([&]() -> Result<std::shared_ptr<const Trace>> {
    const at::NoGradGuard no_grad;
    LOCUS_TRY(Prepared prepared, prepare(input));
    LOCUS_CHECK(check_memory(prepared.longest(), options, prepared.vision.get()));
    LOCUS_TRY(const transformer::Transformer* model, ready(stop, progress));
    // Both sides of an encoder–decoder take as long as they have layers.
    const auto part = [&progress](double from, double to) -> Progress {
      if (!progress) {
        return {};
      }
      return [&progress, from, to](const ProgressReport& news) {
        report(progress, from + (to - from) * news.fraction, news.what);
      };
    };
    const auto read = static_cast<double>(parts_.encoder ? parts_.encoder->spec().depth() : 0);
    const double encoded = read / (read + static_cast<double>(model->spec().depth()));
    transformer::ObserveOptions wanted = observe_options(options, std::move(stop), part(0, encoded));
    Observed observed;
    double time_ms = 0;
    LOCUS_CHECK(observe_encoder(prepared, wanted, observed, time_ms));
    LOCUS_CHECK(observe_images(prepared, wanted, observed, time_ms));
    wanted.progress = part(encoded, 1);
    tell_early(prepared, options, wanted);
    const std::optional<transformer::ReusedTokens> tokens = reused_tokens_of(options.reuse, *model, prepared.batch);
    wanted.reused_tokens = tokens ? &*tokens : nullptr;
    const std::optional<transformer::ReusedLayers> layers =
        reused_layers_of(options.reuse, *model, prepared.batch, edits_, options);
    wanted.reused_layers = layers ? &*layers : nullptr;
    LOCUS_TRY(observed.own, observe(*model, prepared.batch, wanted, time_ms));
    return trace_of(std::move(prepared), observed, time_ms);
  });
}

Result<std::shared_ptr<const Model>> LoadedModel::edited(Edits edits) const {
  if (!edits.empty() && parts_.encoder) {
    return unsupported("edits: expected a model of one side, found an encoder–decoder", parts_.info.name);
  }
  const Status fits = check_edits(edits, parts_.info);
  if (!fits.ok()) {
    return fits.error();
  }
  return std::shared_ptr<const Model>(new LoadedModel(shared_, std::move(edits)));
}

Status LoadedModel::edit(transformer::Batch& batch, const Layout& layout) const {
  if (edits_.empty()) {
    return {};
  }
  LOCUS_CHECK(check_edits(edits_, parts_.info, batch.positions.size()));
  LOCUS_TRY(batch.positions, edited_positions(edits_, batch.positions, layout, *parts_.transformer));
  return edit_layers(batch, layout);
}

Status LoadedModel::edit_layers(transformer::Batch& batch, const Layout& layout) const {
  batch.edits = nullptr;
  if (!edits_.empty()) {
    LOCUS_TRY(const transformer::Transformer* model, ready());
    LOCUS_TRY(batch.edits, edited_layers(edits_, parts_.info, *model, batch, layout));
  }
  return {};
}

}  // namespace locus::models
