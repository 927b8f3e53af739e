#include "models/loaded_model.h"

#include <chrono>
#include <utility>

#include "models/guard.h"
#include "models/recorded_trace.h"

namespace locus::models {

namespace {

TraceLayer trace_layer(const transformer::LayerRecord& record, std::int64_t index,
                       const transformer::Transformer& model) {
  const auto computed = std::make_shared<const attention::ComputedScores>(
      model.shared_encoding(), index, record.prepared, record.log_sum_exp, record.chosen);
  TraceLayer layer;
  layer.computed = computed;
  layer.scores = std::make_shared<const attention::ScoreField>(computed, model.mask(index));
  layer.state = record.state;
  if (record.hidden.defined()) {
    layer.hidden = record.hidden.select(0, 0);
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

Status LoadedModel::load() {
  LOCUS_TRY(const transformer::Transformer* loaded, ready());
  (void)loaded;
  parts_.info.warnings.insert(parts_.info.warnings.end(), value_warnings_.begin(), value_warnings_.end());
  value_warnings_.clear();
  return {};
}

Result<const transformer::Transformer*> LoadedModel::ready() const {
  const std::lock_guard lock(mutex_);
  if (!loaded_) {
    LOCUS_CHECK(guarded([&]() -> Status {
      value_warnings_ = transformer::load(parts_.fitting);
      parts_.transformer->to(at::Device(parts_.options.device));
      return {};
    }));
    loaded_ = true;
  }
  return static_cast<const transformer::Transformer*>(parts_.transformer.get());
}

double LoadedModel::macs(std::int64_t length) const {
  return transformer::multiply_accumulates(parts_.transformer->spec(), length);
}

Status LoadedModel::check_memory(std::int64_t length, bool all_logits) const {
  const double needed = run_bytes(parts_.transformer->spec(), length, all_logits);
  const auto limit_mb = static_cast<double>(parts_.options.memory_limit_mb);
  const double weights = limit_mb > 0 ? 4.0 * static_cast<double>(parts_.info.parameters) : 0.0;
  const double limit = limit_mb > 0 ? limit_mb * 1e6 : available_bytes();
  if (limit > 0 && needed + weights > limit) {
    return too_large("a run over " + std::to_string(length) + " tokens needs about " +
                     std::to_string(static_cast<std::int64_t>((needed + weights) / 1e6)) + " MB, " +
                     std::to_string(static_cast<std::int64_t>(limit / 1e6)) +
                     " MB are allowed; a shorter input would fit");
  }
  return {};
}

Result<std::shared_ptr<const Trace>> LoadedModel::run(const Input& input, const RunOptions& options, StopToken stop,
                                                      const Progress& progress) const {
  return guarded([&]() -> Result<std::shared_ptr<const Trace>> {
    const at::NoGradGuard no_grad;
    LOCUS_TRY(Prepared prepared, prepare(input));
    const auto length = static_cast<std::int64_t>(prepared.tokens.size());
    LOCUS_CHECK(check_memory(length, options.all_logits));
    LOCUS_TRY(const transformer::Transformer* model, ready());

    transformer::ObserveOptions observe;
    observe.hidden = options.keep.count("hidden") != 0 || options.keep.count("all") != 0;
    observe.all_logits = options.all_logits;
    observe.stop = stop;
    observe.progress = progress;
    const auto begin = std::chrono::steady_clock::now();
    LOCUS_TRY(const transformer::Observation observation, model->observe(prepared.batch, observe));
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - begin;

    TraceData data;
    data.model = parts_.info;
    data.model.warnings.insert(data.model.warnings.end(), value_warnings_.begin(), value_warnings_.end());
    data.tokens = std::move(prepared.tokens);
    data.grid = prepared.grid;
    data.picture = std::move(prepared.picture);
    data.text = std::move(prepared.text);
    data.time_ms = elapsed.count();
    if (prepared.batch.ids.defined()) {
      data.input_ids = prepared.batch.ids.select(0, 0);
    }
    data.position_ids = prepared.batch.positions.ids;
    data.logits = observation.logits.select(0, 0);
    data.mask = model->mask(0);
    data.encoding = model->shared_encoding();
    data.encoding_options = data.encoding->settings();
    for (const transformer::Parameter& parameter : parts_.transformer->parameters()) {
      constexpr std::string_view kPrefix = "position.";
      if (parameter.name.rfind(kPrefix, 0) == 0) {
        data.encoding_parameters.emplace_back(parameter.name.substr(kPrefix.size()), *parameter.value);
      }
    }
    for (std::size_t n = 0; n < observation.layers.size(); ++n) {
      data.layers.push_back(trace_layer(observation.layers[n], static_cast<std::int64_t>(n), *model));
    }
    data.label = label_of(parts_.tokenizer, parts_.labels, parts_.info.image);
    return std::shared_ptr<const Trace>(std::make_shared<RecordedTrace>(std::move(data)));
  });
}

}  // namespace locus::models
