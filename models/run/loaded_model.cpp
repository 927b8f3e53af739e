#include "models/run/loaded_model.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/base/guarded.h"
#include "models/api/threads.h"
#include "models/edits/run_edits.h"
#include "models/run/model_info.h"
#include "models/run/vision.h"
#include "models/trace/recorded_trace.h"
#include "models/transformer/check_numbers.h"

namespace locus::models {

namespace {

TraceLayer trace_layer(const transformer::LayerRecord& record, std::int64_t index,
                       const transformer::Transformer& model, const transformer::Batch& batch) {
  const std::shared_ptr<const position::PositionEncoding> encoding = model.encoding_of(batch, index);
  const auto computed = std::make_shared<const attention::ComputedScores>(
      encoding, model.encoding_layer(index), record.prepared, record.log_sum_exp, record.chosen,
      model.soft_cap_of(batch, index));
  TraceLayer layer;
  layer.encoding = encoding;
  layer.encoding_layer = model.encoding_layer(index);
  layer.computed = computed;
  layer.scores = std::make_shared<const attention::ScoreField>(computed, model.mask(batch, index));
  layer.state = record.state;
  if (record.hidden.defined()) {
    layer.hidden = record.hidden.select(0, 0);
  }
  layer.value = record.value;
  layer.chosen = record.chosen;
  layer.sinks = model.sinks_of(batch, index);
  if (record.routing.experts.defined()) {
    layer.experts = record.routing.experts.select(0, 0);
    layer.expert_weights = record.routing.weights.select(0, 0);
  }
  return layer;
}

// How outputs are shown; holds copies, since a trace may outlive its model.
std::function<std::string(std::int64_t)> label_of(std::shared_ptr<const text::Tokenizer> tokenizer,
                                                  std::map<std::int64_t, std::string> labels, bool image) {
  return [tokenizer = std::move(tokenizer), labels = std::move(labels), image](std::int64_t id) {
    if (image) {
      const auto label = labels.find(id);
      return label == labels.end() ? "class " + std::to_string(id) : label->second;
    }
    return tokenizer ? tokenizer->label(id) : std::to_string(id);
  };
}

}  // namespace

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

namespace {

// How many tokens from the first on have the same pictures in both, and see the same tokens beside them.
std::int64_t same_pictures(const TraceData& data, const transformer::Batch& batch) {
  const std::int64_t length = std::min(data.input_ids.size(0), batch.ids.size(1));
  std::int64_t same = length;
  const transformer::ImageRows none{at::empty({0}, at::kLong), {}, {}};
  const transformer::ImageRows& before = data.image_rows ? *data.image_rows : none;
  const transformer::ImageRows& now = batch.images ? *batch.images : none;
  const std::int64_t shorter = std::min(before.tokens.size(0), now.tokens.size(0));
  for (std::int64_t n = 0; n < shorter; ++n) {
    bool equal = at::equal(before.tokens[n], now.tokens[n]) && at::equal(before.vectors[n], now.vectors[n]);
    for (std::size_t k = 0; equal && k < before.added.size(); ++k) {
      equal = at::equal(before.added[k][n], now.added[k][n]);
    }
    if (!equal) {
      same = std::min({same, before.tokens[n].item<std::int64_t>(), now.tokens[n].item<std::int64_t>()});
      break;
    }
  }
  for (const transformer::ImageRows* const rows : {&before, &now}) {
    if (rows->tokens.size(0) > shorter) {
      same = std::min(same, rows->tokens[shorter].item<std::int64_t>());
    }
  }
  // A token may see later ones of its block: those must be the same too.
  for (const attention::Blocks* const blocks : {data.blocks.get(), batch.blocks.get()}) {
    for (std::int64_t n = 0; blocks != nullptr && n < same; ++n) {
      if (const Range& span = blocks->span[static_cast<std::size_t>(n)]; span.end > same) {
        same = std::min(same, span.begin);
      }
    }
  }
  for (std::int64_t n = 0; data.blocks && batch.blocks && n < same; ++n) {
    const auto at = static_cast<std::size_t>(n);
    same = data.blocks->span[at] == batch.blocks->span[at] ? same : std::min(same, n);
  }
  return (data.blocks == nullptr) == (batch.blocks == nullptr) ? same : 0;
}

// Whether the trace is of the same input, at the same positions.
bool same_input(const TraceData& data, const transformer::Batch& batch) {
  if (data.image_rows && batch.images &&
      (!at::equal(data.image_rows->tokens, batch.images->tokens) ||
       !at::equal(data.image_rows->vectors, batch.images->vectors))) {
    return false;
  }
  const bool text = (data.image_rows == nullptr) == (batch.images == nullptr) && batch.ids.defined() &&
                    data.input_ids.defined() && at::equal(batch.ids[0], data.input_ids);
  const bool image = batch.pixels.defined() && data.pixels.defined() && at::equal(batch.pixels, data.pixels);
  return (text || image) && at::equal(batch.positions.ids, data.position_ids);
}

transformer::LayerRecord record_of(const TraceLayer& layer) {
  transformer::LayerRecord record;
  record.prepared = layer.computed->prepared();
  record.state = *layer.state;
  record.log_sum_exp = layer.computed->log_sum_exp();
  record.chosen = layer.chosen;
  record.hidden = layer.hidden.defined() ? layer.hidden.unsqueeze(0) : at::Tensor();
  record.value = layer.value;
  if (layer.experts.defined()) {
    record.routing = {layer.experts.unsqueeze(0), layer.expert_weights.unsqueeze(0)};
  }
  return record;
}

}  // namespace

std::optional<transformer::ReusedTokens> reused_tokens_of(const std::shared_ptr<const Trace>& trace,
                                                          const transformer::Transformer& model,
                                                          const transformer::Batch& batch) {
  const auto* recorded = trace != nullptr ? recorded_of(*trace) : nullptr;
  // An encoding belongs to one model, so it tells whose trace this is.
  if (recorded == nullptr || recorded->data().layers.empty() || recorded->data().of_model != model.layer_encoding(0) ||
      !batch.ids.defined() || !recorded->data().input_ids.defined() || !recorded->data().edits.empty()) {
    return std::nullopt;
  }
  const TraceData& data = recorded->data();
  const std::int64_t shorter = std::min(data.input_ids.size(0), batch.ids.size(1));
  if (batch.positions.ids.dim() != data.position_ids.dim()) {
    return std::nullopt;
  }
  const at::Tensor places = batch.positions.ids.narrow(0, 0, shorter).eq(data.position_ids.narrow(0, 0, shorter)).cpu();
  const at::Tensor same = batch.ids[0].narrow(0, 0, shorter).eq(data.input_ids.narrow(0, 0, shorter)).cpu() &
                          (places.dim() == 2 ? places.all(1) : places);
  transformer::ReusedTokens reused;
  reused.rows = data.rows;
  // The last row is always computed: its logits are not kept with the layers.
  reused.tokens = std::min(
      {same.to(at::kLong).cumprod(0).sum().item<std::int64_t>(), batch.ids.size(1) - 1, same_pictures(data, batch)});
  for (const TraceLayer& layer : data.layers) {
    if (reused.tokens < 1 || !layer.computed || !layer.state || !layer.value.defined()) {
      return std::nullopt;
    }
    reused.layers.push_back(record_of(layer));
  }
  return reused;
}

std::optional<transformer::ReusedLayers> reused_layers_of(const std::shared_ptr<const Trace>& trace,
                                                          const transformer::Transformer& model,
                                                          const transformer::Batch& batch, const Edits& edits,
                                                          const RunOptions& options) {
  const auto* recorded = trace != nullptr ? recorded_of(*trace) : nullptr;
  if (recorded == nullptr || recorded->data().of_model != model.layer_encoding(0) || batch.memory.defined()) {
    return std::nullopt;
  }
  const TraceData& data = recorded->data();
  // The last layer may have been run for one row alone, so it is always run.
  const auto depth = static_cast<std::int64_t>(data.layers.size());
  const std::int64_t first = std::min(first_difference(data.edits, edits, depth), depth - 1);
  if (first < 1 || (data.edits.empty() && edits.empty()) || !same_input(data, batch) ||
      !data.layers[static_cast<std::size_t>(first)].hidden.defined()) {
    return std::nullopt;
  }
  const bool routing = options.keep.count("experts") != 0 || options.keep.count("all") != 0;
  transformer::ReusedLayers reused;
  for (std::int64_t n = 0; n < depth; ++n) {
    const TraceLayer& layer = data.layers[static_cast<std::size_t>(n)];
    const bool routed = model.block(n).spec().feed_forward.experts.count > 0;
    if (!layer.computed || !layer.state || !layer.value.defined() ||
        (n < first && routing && routed && !layer.experts.defined())) {
      return std::nullopt;
    }
    if (n < first) {
      reused.layers.push_back(record_of(layer));
    } else {
      reused.after.push_back(*layer.state);
    }
  }
  reused.hidden = data.layers[static_cast<std::size_t>(first)].hidden.unsqueeze(0);
  return reused;
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
    LOCUS_CHECK(check_memory(prepared.longest(), options));
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

TraceData LoadedModel::trace_data(const transformer::Transformer& model, Prepared prepared,
                                  const transformer::Observation& observation, std::int64_t layers) const {
  TraceData data;
  data.tokens = std::move(prepared.tokens);
  data.grid = prepared.grid;
  data.picture = std::move(prepared.picture);
  data.text = std::move(prepared.text);
  data.reused = observation.reused;
  data.kept_layers = observation.kept_layers;
  data.edits = edits_;
  data.of_model = model.layer_encoding(0);
  data.pixels = prepared.batch.pixels;
  if (prepared.batch.ids.defined()) {
    data.input_ids = prepared.batch.ids.select(0, 0);
  }
  data.image_rows = prepared.batch.images;
  data.blocks = prepared.batch.blocks;
  data.position_ids = prepared.batch.positions.ids;
  data.untouched_ids = prepared.untouched.ids;
  if (observation.logits.defined()) {
    (model.spec().head ? data.logits : data.hidden) = observation.logits.select(0, 0);
  }
  for (std::size_t n = 0; n < model.encodings().size(); ++n) {
    const transformer::LayerEncoding& used = model.encodings()[n];
    for (const position::Parameter& parameter : used.encoding->parameters()) {
      data.encoding_parameters.emplace_back(trace_name(parameter.name, n, used.layers), *parameter.value);
    }
  }
  data.rows = observation.rows;
  for (std::int64_t n = 0; n < layers; ++n) {
    data.layers.push_back(trace_layer(observation.layers[static_cast<std::size_t>(n)], n, model, prepared.batch));
  }
  data.label = label_of(parts_.tokenizer, parts_.labels, parts_.info.image);
  return data;
}

std::shared_ptr<const RecordedTrace> LoadedModel::encoder_trace(Prepared prepared,
                                                                const transformer::Observation& observation) const {
  TraceData data = trace_data(*parts_.encoder, std::move(prepared), observation, parts_.encoder->spec().depth());
  data.model = encoder_info(parts_.info, *parts_.encoder);
  return std::make_shared<const RecordedTrace>(std::move(data));
}

std::shared_ptr<const RecordedTrace> LoadedModel::cross_trace(const TraceData& decoder, const Prepared& read,
                                                              const transformer::Observation& observation) const {
  const transformer::Transformer& model = *parts_.transformer;
  TraceData data;
  data.model = cross_info(decoder.model, *model.spec().first().cross);
  data.tokens = decoder.tokens;
  data.key_tokens = read.tokens;
  data.key_text = read.text;
  data.text = decoder.text;
  data.input_ids = decoder.input_ids;
  data.position_ids = decoder.position_ids;
  for (std::size_t n = 0; n < observation.cross.size(); ++n) {
    const transformer::LayerRecord& record = observation.cross[n];
    TraceLayer layer;
    layer.encoding = model.cross_encoding();
    layer.encoding_layer = static_cast<std::int64_t>(n);
    layer.computed = std::make_shared<const attention::ComputedScores>(layer.encoding, layer.encoding_layer,
                                                                       record.prepared, record.log_sum_exp);
    layer.scores = std::make_shared<const attention::ScoreField>(layer.computed, attention::Mask{false});
    data.layers.push_back(std::move(layer));
  }
  return std::make_shared<const RecordedTrace>(std::move(data));
}

std::shared_ptr<const RecordedTrace> LoadedModel::vision_trace(const TextImages& pictures,
                                                               const SeenImages& seen) const {
  KeptPictures& kept = parts_.vision->kept();
  std::shared_ptr<const RecordedTrace> trace = kept.find_trace(seen.pictures);
  if (trace == nullptr) {
    TraceData data = parts_.vision->trace(pictures.images, seen);
    data.model = encoder_info(parts_.info, parts_.vision->tower());
    data.model.image = data.grid.rows > 0;
    trace = std::make_shared<const RecordedTrace>(std::move(data));
    kept.keep_trace(seen.pictures, trace);
  }
  return trace;
}

std::shared_ptr<const Trace> LoadedModel::trace_of(Prepared prepared, const Observed& observed, double time_ms) const {
  const std::shared_ptr<Prepared> read = std::move(prepared.encoder);
  const std::shared_ptr<const TextImages> pictures = std::move(prepared.vision);
  ModelInfo info = parts_.info;
  info.warnings.insert(info.warnings.end(), value_warnings_.begin(), value_warnings_.end());
  info.warnings.insert(info.warnings.end(), prepared.warnings.begin(), prepared.warnings.end());
  add_warnings(edits_, parts_.info, prepared.batch.edits.get(), info.warnings);
  TraceData data =
      trace_data(*parts_.transformer, std::move(prepared), observed.own, parts_.transformer->spec().depth());
  data.model = std::move(info);
  data.time_ms = time_ms;
  if (read) {
    data.cross = cross_trace(data, *read, observed.own);
    data.encoder = encoder_trace(std::move(*read), observed.encoder);
  }
  if (pictures) {
    data.images = pictures->spans;
    for (const TowerImage& image : pictures->images) {
      data.pictures.push_back(image.picture);
    }
    data.pixels = parts_.vision->pixel_values(pictures->images);
    data.image_grids = Vision::grids(pictures->images);
    data.vision = vision_trace(*pictures, *observed.images);
  }
  return std::make_shared<RecordedTrace>(std::move(data));
}

}  // namespace locus::models
