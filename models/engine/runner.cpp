#include "models/engine/runner.h"

#include <algorithm>
#include <utility>

#include "core/base/guarded.h"
#include "core/base/work_time.h"
#include "models/edits/edited_encoding.h"
#include "models/edits/run_edits.h"
#include "models/engine/estimator.h"
#include "models/engine/input_reader.h"
#include "models/engine/model_info.h"
#include "models/engine/threads.h"
#include "models/engine/trace/recorded_trace.h"
#include "models/engine/vision.h"
#include "models/transformer/check_numbers.h"

namespace locus::models {

transformer::ObserveOptions observe_options(const RunOptions& options, StopToken stop, const Progress& progress) {
  transformer::ObserveOptions observe;
  observe.hidden = options.keep.count("hidden") != 0 || options.keep.count("all") != 0;
  observe.values = options.continuable || options.reuse != nullptr;
  observe.routing = options.keep.count("experts") != 0 || options.keep.count("all") != 0;
  observe.all_logits = options.all_logits || options.before_head;
  observe.stop = std::move(stop);
  observe.progress = progress;
  observe.pause = options.pause;
  return observe;
}

Result<transformer::Observation> Runner::observe(const transformer::Transformer& model, const transformer::Batch& batch,
                                                 const transformer::ObserveOptions& options, double& time_ms) const {
  const auto length = static_cast<double>(batch.positions.size());
  const double part =
      options.reused_tokens == nullptr ? 1 : 1 - static_cast<double>(options.reused_tokens->tokens) / length;
  const ThreadsFor threads(part * transformer::run_macs(model.spec(), batch.positions.size(), options.all_logits));
  WorkTime time;
  transformer::ObserveOptions timed = options;
  timed.pause = time.not_counting(options.pause);
  LOCUS_TRY(transformer::Observation observation,
            transformer::with_cause(model.observe(batch, timed), checkpoint_.value_warnings()));
  if (!parts_.device.is_cpu()) {
    const at::Tensor& last = observation.logits.defined() ? observation.logits : observation.stream;
    last.flatten().narrow(0, 0, 1).to(at::kCPU);  // waits until the device has computed it
  }
  time_ms += time.ms();
  return observation;
}

Status Runner::observe_encoder(PreparedInput& prepared, const transformer::ObserveOptions& options, Observed& observed,
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

Status Runner::observe_images(PreparedInput& prepared, const transformer::ObserveOptions& options, Observed& observed,
                              double& time_ms) const {
  if (!prepared.vision) {
    return {};
  }
  WorkTime time;
  transformer::ObserveOptions timed = options;
  timed.pause = time.not_counting(options.pause);
  LOCUS_TRY(SeenImages seen, transformer::with_cause(parts_.vision->observe(prepared.vision->images, timed),
                                                     checkpoint_.value_warnings()));
  seen.rows.vectors = parts_.vision->arranged(seen.rows.vectors, prepared.vision->order);
  seen.rows.tokens = prepared.vision->tokens.to(seen.rows.vectors.device());
  prepared.batch.images = std::make_shared<const transformer::ImageRows>(seen.rows);
  observed.images = std::make_shared<const SeenImages>(std::move(seen));
  time_ms += time.ms();
  return {};
}

Result<std::shared_ptr<const Trace>> Runner::run(const Input& input, const RunOptions& asked, StopToken stop,
                                                 const Progress& progress) const {
  return guarded([&]() -> Result<std::shared_ptr<const Trace>> {
    RunOptions options = asked;
    options.all_logits = asked.all_logits || parts_.sentence;  // the vector is made of the states of all tokens
    const at::NoGradGuard no_grad;
    if (options.each_layer && parts_.encoder) {
      return unsupported("layers one at a time: not of an encoder-decoder", parts_.info.name);
    }
    LOCUS_TRY(PreparedInput prepared, prepare(input));
    const Estimator estimator(checkpoint_);
    LOCUS_CHECK(estimator.check_memory(prepared.longest(), options, prepared.vision.get()));
    LOCUS_TRY(const transformer::Transformer* model, checkpoint_.ready(stop, progress));
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
    const TraceMaker traces(checkpoint_, edits_);
    traces.tell_layers(prepared, options, wanted);
    const std::optional<transformer::ReusedTokens> tokens = reused_tokens_of(options.reuse, *model, prepared.batch);
    wanted.reused_tokens = tokens ? &*tokens : nullptr;
    const std::optional<transformer::ReusedLayers> layers =
        reused_layers_of(options.reuse, *model, prepared.batch, edits_, options);
    wanted.reused_layers = layers ? &*layers : nullptr;
    wanted.before_head = options.before_head && model->spec().head && !model->spec().is_image();
    LOCUS_TRY(observed.own, observe(*model, prepared.batch, wanted, time_ms));
    if (wanted.before_head && options.keep.count("logits") != 0) {
      observed.own.logits = model->head()(observed.own.stream.slice(1, -1));
      LOCUS_CHECK(transformer::check_logits(observed.own.logits));
    }
    return traces.trace_of(std::move(prepared), observed, time_ms, wanted.keep_layers);
  });
}

Status Runner::edit(transformer::Batch& batch, const Layout& layout) const {
  if (edits_.empty()) {
    return {};
  }
  LOCUS_CHECK(check_edits(edits_, parts_.info, batch.positions.size()));
  LOCUS_TRY(batch.positions, edited_positions(edits_, batch.positions, layout, *parts_.transformer));
  return edit_layers(batch, layout);
}

Status Runner::edit_layers(transformer::Batch& batch, const Layout& layout) const {
  batch.edits = nullptr;
  if (!edits_.empty()) {
    LOCUS_TRY(const transformer::Transformer* model, checkpoint_.ready());
    LOCUS_TRY(batch.edits, edited_layers(edits_, parts_.info, *model, batch, layout));
  }
  return {};
}

Layout Runner::layout_of(const PreparedInput& prepared) {
  return {prepared.grid.columns, prepared.vision ? prepared.vision->spans : std::vector<ImageSpan>()};
}

Result<PreparedInput> Runner::prepare(const Input& input) const {
  LOCUS_TRY(PreparedInput prepared, InputReader(checkpoint_).read(input));
  prepared.input = input;
  LOCUS_CHECK(parts_.transformer->accepts(prepared.batch.positions));
  const at::Device device = parts_.device;
  if (prepared.encoder) {
    LOCUS_CHECK(parts_.encoder->accepts(prepared.encoder->batch.positions));
    prepared.encoder->batch.ids = prepared.encoder->batch.ids.to(device);
  }
  if (prepared.batch.ids.defined()) {
    prepared.batch.ids = prepared.batch.ids.to(device);
  } else {
    prepared.batch.pixels = prepared.batch.pixels.to(device);
  }
  prepared.unedited = prepared.batch.positions;
  if (!edits_.empty()) {
    LOCUS_CHECK(edit(prepared.batch, layout_of(prepared)));
    const at::Tensor places = places_of(prepared.batch.positions, prepared.grid.columns).contiguous();
    for (std::size_t n = 0; n < prepared.tokens.size(); ++n) {
      prepared.tokens[n].position = places.data_ptr<double>()[n];
    }
  }
  return prepared;
}

}  // namespace locus::models
