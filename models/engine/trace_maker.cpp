#include "models/engine/trace_maker.h"

#include <chrono>
#include <utility>

#include "models/edits/run_edits.h"
#include "models/engine/model_info.h"
#include "models/engine/trace/recorded_trace.h"
#include "models/engine/vision.h"

namespace locus::models {

namespace {

TraceLayer trace_layer(const transformer::LayerRecord& record, std::int64_t index,
                       const transformer::Transformer& model, const transformer::Batch& batch) {
  TraceLayer layer;
  if (model.block(index).spec().attends) {
    const std::shared_ptr<const position::PositionEncoding> encoding = model.encoding_of(batch, index);
    const auto computed = std::make_shared<const attention::ComputedScores>(
        encoding, model.encoding_layer(index), record.prepared, record.log_sum_exp, record.chosen,
        model.soft_cap_of(batch, index));
    layer.encoding = encoding;
    layer.encoding_layer = model.encoding_layer(index);
    layer.computed = computed;
    layer.scores = std::make_shared<const attention::ScoreField>(computed, model.mask(batch, index));
    layer.state = record.state;
    layer.sinks = model.sinks_of(batch, index);
  } else {
    layer.scores = no_scores(model.spec().first().attention.heads, batch.positions.size());
  }
  if (record.hidden.defined()) {
    layer.hidden = record.hidden.select(0, 0);
  }
  layer.value = record.value;
  layer.marks = record.marks;
  layer.map = record.implied;
  layer.chosen = record.chosen;
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

TraceData TraceMaker::trace_data(const transformer::Transformer& model, PreparedInput prepared,
                                 const transformer::Observation& observation, std::int64_t layers, Range kept) const {
  TraceData data;
  data.tokens = std::move(prepared.tokens);
  data.grid = prepared.grid;
  data.picture = std::move(prepared.picture);
  data.text = std::move(prepared.text);
  data.input = std::move(prepared.input);
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
  data.unedited_ids = prepared.unedited.ids;
  if (observation.logits.defined()) {
    (model.spec().head ? data.logits : data.hidden) = observation.logits.select(0, 0);
  }
  if (observation.stream.defined()) {
    data.before_head = observation.stream.select(0, 0);
  }
  for (std::size_t n = 0; n < model.encodings().size(); ++n) {
    const transformer::LayerEncoding& used = model.encodings()[n];
    for (const position::Parameter& parameter : used.encoding->parameters()) {
      data.encoding_parameters.emplace_back(trace_name(parameter.name, n, used.layers), *parameter.value);
    }
  }
  data.rows = observation.rows;
  TraceLayer forgotten;
  forgotten.scores = no_scores(model.spec().first().attention.heads, prepared.batch.positions.size());
  for (std::int64_t n = 0; n < layers; ++n) {
    data.layers.push_back(kept.contains(n)
                              ? trace_layer(observation.layers[static_cast<std::size_t>(n)], n, model, prepared.batch)
                              : forgotten);
  }
  data.label = label_of(parts_.tokenizer_of(model), parts_.labels, parts_.info.image);
  return data;
}

std::shared_ptr<const RecordedTrace> TraceMaker::encoder_trace(PreparedInput prepared,
                                                               const transformer::Observation& observation) const {
  const std::int64_t depth = parts_.encoder->spec().depth();
  TraceData data = trace_data(*parts_.encoder, std::move(prepared), observation, depth, {0, depth});
  data.model = encoder_info(parts_.info, *parts_.encoder);
  return std::make_shared<const RecordedTrace>(std::move(data));
}

std::shared_ptr<const RecordedTrace> TraceMaker::cross_trace(const TraceData& decoder, const PreparedInput& read,
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
    layer.encoding = model.encodings().cross();
    layer.encoding_layer = static_cast<std::int64_t>(n);
    layer.computed = std::make_shared<const attention::ComputedScores>(layer.encoding, layer.encoding_layer,
                                                                       record.prepared, record.log_sum_exp);
    layer.scores = std::make_shared<const attention::ScoreField>(layer.computed, attention::Mask{false});
    data.layers.push_back(std::move(layer));
  }
  return std::make_shared<const RecordedTrace>(std::move(data));
}

std::shared_ptr<const RecordedTrace> TraceMaker::mixer_trace(const TraceData& text,
                                                             const transformer::Observation& observation) const {
  TraceData data;
  data.model = mixer_info(text.model, parts_.transformer->spec());
  data.model.layers = static_cast<std::int64_t>(text.layers.size());
  data.model.layer_info.resize(text.layers.size());
  data.tokens = text.tokens;
  data.text = text.text;
  data.input = text.input;
  data.input_ids = text.input_ids;
  data.position_ids = text.position_ids;
  data.edits = text.edits;
  data.images = text.images;
  const auto length = static_cast<std::int64_t>(text.tokens.size());
  for (std::size_t n = 0; n < text.layers.size(); ++n) {
    TraceLayer layer;
    if (const auto& map = observation.layers[n].implied; map) {
      layer.implied = std::make_shared<const attention::ImpliedScores>(map);
      layer.scores = std::make_shared<const attention::ScoreField>(layer.implied, attention::Mask{true});
    } else {
      layer.scores = no_scores(data.model.heads, length);
    }
    data.layers.push_back(std::move(layer));
  }
  return std::make_shared<const RecordedTrace>(std::move(data));
}

std::shared_ptr<const RecordedTrace> TraceMaker::vision_trace(const TextImages& pictures,
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

std::shared_ptr<const Trace> TraceMaker::trace_of(PreparedInput prepared, const Observed& observed, double time_ms,
                                                  bool scores) const {
  const std::shared_ptr<PreparedInput> read = std::move(prepared.encoder);
  const std::shared_ptr<const TextImages> pictures = std::move(prepared.vision);
  ModelInfo info = parts_.info;
  info.warnings.insert(info.warnings.end(), checkpoint_.value_warnings().begin(), checkpoint_.value_warnings().end());
  info.warnings.insert(info.warnings.end(), prepared.warnings.begin(), prepared.warnings.end());
  add_warnings(edits_, parts_.info, prepared.batch.edits.get(), info.warnings);
  const std::int64_t depth = parts_.transformer->spec().depth();
  TraceData data = trace_data(*parts_.transformer, std::move(prepared), observed.own, depth, {0, scores ? depth : 0});
  data.model = std::move(info);
  data.time_ms = time_ms;
  if (parts_.sentence && data.hidden.defined() &&
      data.hidden.size(0) == static_cast<std::int64_t>(data.tokens.size())) {
    data.sentence = parts_.sentence->vector(data.hidden, data.input_ids);
  }
  if (read) {
    data.cross = cross_trace(data, *read, observed.own);
    data.encoder = encoder_trace(std::move(*read), observed.encoder);
  }
  if (pictures) {
    data.images = pictures->spans;
    data.pictures = pictures->pictures;
    data.pixels = parts_.vision->pixel_values(pictures->images);
    data.image_grids = Vision::grids(pictures->images);
    data.video_pixels = parts_.vision->pixel_values(pictures->images, true);
    data.video_grids = Vision::grids(pictures->images, true);
    data.vision = vision_trace(*pictures, *observed.images);
  }
  if (parts_.transformer->spec().has_mixers()) {
    data.mixer = mixer_trace(data, observed.own);
  }
  return std::make_shared<RecordedTrace>(std::move(data));
}

void TraceMaker::tell_layers(const PreparedInput& prepared, const RunOptions& options,
                             transformer::ObserveOptions& wanted) const {
  using Clock = std::chrono::steady_clock;
  const transformer::Transformer& model = *parts_.transformer;
  if (parts_.encoder) {
    return;
  }
  wanted.keep_layers = options.scores && !options.each_layer;
  if (options.each_layer) {
    wanted.layer_done = [this, &model, &prepared, &options](const transformer::Observation& seen, std::int64_t layer) {
      TraceData data = trace_data(model, prepared, seen, model.spec().depth(), {layer, layer + 1});
      data.model = parts_.info;
      return options.each_layer(RecordedTrace(std::move(data)), layer);
    };
    return;
  }
  if (!options.early) {
    return;
  }
  wanted.layer_done = [this, &model, &prepared, &options, last = Clock::time_point()](
                          const transformer::Observation& seen, std::int64_t layer) mutable {
    const std::chrono::duration<double, std::milli> since = Clock::now() - last;
    if (layer + 1 >= model.spec().depth() || since.count() < options.early_ms) {
      return Status();
    }
    TraceData data = trace_data(model, prepared, seen, layer + 1, {0, layer + 1});
    data.model = first_layers(parts_.info, layer + 1);
    if (model.spec().has_mixers()) {
      data.mixer = mixer_trace(data, seen);
    }
    options.early(std::make_shared<const RecordedTrace>(std::move(data)));
    last = Clock::now();
    return Status();
  };
}

}  // namespace locus::models
