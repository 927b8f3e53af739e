// evaluate(): a checkpoint's metric on a task.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/atomic_file.h"
#include "core/base/guarded.h"
#include "core/base/listed.h"
#include "core/base/shown.h"
#include "models/api/local.h"
#include "models/api/train.h"
#include "models/engine/loaded_model.h"
#include "models/engine/vision.h"
#include "models/formats/json/json.h"
#include "models/formats/json/settings_json.h"
#include "models/training/measure.h"
#include "models/training/network.h"
#include "models/training/record.h"
#include "models/training/task.h"

namespace locus::training {

namespace {

// True for tasks that any text model can be measured on: the symbols of other tasks have a meaning only after their
// training.
bool reads_text(const std::string& task) {
  return task == "text" || task == "passkey";
}

// training.json; an empty object where there is none.
Result<nlohmann::json> read_record(const std::filesystem::path& checkpoint) {
  const std::filesystem::path file = checkpoint / "training.json";
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) {
    return nlohmann::json::object();
  }
  LOCUS_TRY(const std::string text, read_file(file, kLongestRecord));
  LOCUS_TRY(nlohmann::json record, parse_json(text, file.string()));
  return record.is_object() ? std::move(record) : nlohmann::json::object();
}

Budget budget_of(const nlohmann::json& record) {
  const auto number = [&](const char* name) {
    const nlohmann::json value = record.value(name, nlohmann::json());
    return value.is_number_integer() ? value.get<std::int64_t>() : 0;
  };
  const nlohmann::json seeds = record.value("seeds", nlohmann::json());
  return {number("steps_done"), number("tokens"), number("seed"),
          seeds.is_array() ? static_cast<std::int64_t>(seeds.size()) : 0};
}

// The task options with which a checkpoint was trained, so that the measurement matches the record; empty without
// training.json. Errors: kBadInput for symbols of another task than it was trained on.
Result<Settings> recorded_options(const nlohmann::json& record, const std::filesystem::path& checkpoint,
                                  const std::string& task) {
  const nlohmann::json trained = record.value("task", nlohmann::json());
  if (trained != task) {
    if (trained.is_string() && !reads_text(task)) {
      return bad_input("expected a checkpoint that was trained on " + task + ", found one of " +
                           trained.get<std::string>() + " (training.json)",
                       checkpoint.string());
    }
    return Settings();
  }
  return models::settings_from_json(record.value("task_options", nlohmann::json::object()),
                                    (checkpoint / "training.json").string());
}

// The indices of the selected splits.
Result<std::vector<std::size_t>> chosen_splits(const Task& task, const std::vector<std::string>& asked) {
  const std::vector<std::string> all = task.splits();
  std::vector<std::size_t> chosen;
  for (std::size_t n = 0; asked.empty() && n < all.size(); ++n) {
    chosen.push_back(n);
  }
  for (const std::string& name : asked) {
    const auto found = std::find(all.begin(), all.end(), name);
    if (found == all.end()) {
      return usage("unknown split " + shown(name) + "; known: " + listed_known(all, "training"));
    }
    chosen.push_back(static_cast<std::size_t>(found - all.begin()));
  }
  return chosen;
}

// The model with its vision part for the task's pictures. Errors: kBadInput for another vision part.
Result<Network> network_of(const models::LoadedModel& model, const transformer::Transformer& transformer,
                           const Task& task, const std::filesystem::path& checkpoint) {
  const std::optional<Sight> sight = task.sight(transformer.spec().width);
  if (!sight) {
    return Network(transformer);
  }
  const models::Vision* const vision = model.checkpoint().parts().vision.get();
  const auto cell_of = [](const transformer::Spec& tower, const transformer::ConnectorSpec& connector) {
    return tower.image.patch * connector.cell();
  };
  if (vision == nullptr || vision->placeholders().id != sight->placeholder || vision->tower().spec().image.frames > 0 ||
      cell_of(vision->tower().spec(), vision->connector().spec()) != cell_of(sight->tower, sight->connector)) {
    return bad_input("expected a model of texts with pictures in cells of " +
                         std::to_string(cell_of(sight->tower, sight->connector)) + " pixels with the placeholder " +
                         std::to_string(sight->placeholder) + ", found " +
                         (vision == nullptr ? "a model without pictures" : "another"),
                     checkpoint.string());
  }
  return Network(transformer, vision->tower(), vision->connector(), sight->placeholder);
}

Result<Evaluation> evaluate_opened(const models::LoadedModel& model, const std::filesystem::path& checkpoint,
                                   const EvaluateOptions& options, const Progress& progress, const StopToken& stop) {
  const models::ModelInfo& info = model.info();
  TaskRequest request;
  request.training = false;
  request.validate = options.validate;
  LOCUS_TRY(const nlohmann::json record, read_record(checkpoint));
  LOCUS_TRY(request.options, recorded_options(record, checkpoint, options.task));
  for (const auto& [name, value] : options.task_options.values()) {
    request.options.set(name, value);
  }
  request.tokenizer_folder = std::filesystem::is_directory(checkpoint) ? checkpoint : checkpoint.parent_path();
  request.length = options.task == "text" ? info.trained_length : 0;
  LOCUS_TRY(const std::unique_ptr<Task> task, typed_task(options.task, request, options.task_options));
  if (options.map_samples > 0 && task->map().rows.empty()) {
    return usage("--map: expected a task with a map (addition), found " + options.task);
  }
  LOCUS_TRY(const transformer::Transformer* transformer, model.checkpoint().ready());
  const bool images = task->image().patch > 0;
  // A text model may have entries that its tokenizer never produces.
  const bool fits =
      options.task == "text" ? info.vocabulary >= task->vocabulary() : info.vocabulary == task->vocabulary();
  if (info.image != images || info.causal == images || !fits) {
    const std::string kind = images ? "an image model of " : "a causal text model of ";
    const char* const unit = images ? " classes" : " tokens";
    return bad_input("expected " + kind + std::to_string(task->vocabulary()) + unit + " for task " + options.task +
                         ", found " +
                         (info.image    ? "an image model of "
                          : info.causal ? "a causal text model of "
                                        : "a text model that is not causal, of ") +
                         std::to_string(info.vocabulary),
                     checkpoint.string());
  }
  if (images && transformer->spec().image.patch != task->image().patch) {
    return bad_input("expected patches of " + std::to_string(task->image().patch) + " pixels, found " +
                         std::to_string(transformer->spec().image.patch),
                     checkpoint.string());
  }
  LOCUS_TRY(const Network network, network_of(model, *transformer, *task, checkpoint));
  const at::Device device = model.checkpoint().parts().device;
  std::optional<Error> unfit;  // an edit that is invalid at every length, which is no result
  const auto edit = [&](transformer::Batch& batch, std::vector<models::ImageSpan> pictures) -> Status {
    models::Layout layout;
    layout.grid_columns = images ? batch.positions.ids.select(1, 1).max().item<std::int64_t>() + 1 : 0;
    layout.pictures = std::move(pictures);
    const Status edited = model.runner().edit(batch, layout);
    if (!edited.ok() && !unfit) {
      unfit = edited.error();
    }
    return edited;
  };
  Evaluation evaluation;
  evaluation.checkpoint = info.name;
  evaluation.encoding = info.first_encoding().name;
  evaluation.metric = std::string(metric_name(task->metric()));
  evaluation.budget = budget_of(record);
  const std::vector<std::string> splits = task->splits();
  LOCUS_TRY(const std::vector<std::size_t> chosen, chosen_splits(*task, options.splits));
  MeasureOptions measuring{.seed = options.seed,
                           .samples = options.samples,
                           .device = device,
                           .edit = edit,
                           .stop = stop,
                           .progress = progress};
  for (const std::size_t n : chosen) {
    const Result<Measurement> measured = measure_if_fits(network, *task, n, measuring);
    if (unfit) {
      return *unfit;
    }
    if (!measured.ok()) {
      return measured.error();
    }
    evaluation.splits.emplace_back(splits[n], measured->value);
    evaluation.intervals.emplace_back(measured->low, measured->high);
    if (task->metric() == Metric::kBitsPerByte) {
      evaluation.perplexities.push_back(measured->perplexity);
    }
  }
  if (options.map_samples > 0 && !task->map().rows.empty()) {
    measuring.samples = options.map_samples;
    LOCUS_TRY(evaluation.map, measure_map(network, *task, measuring));
  }
  if (options.record) {
    LOCUS_CHECK(record_evaluation(checkpoint, *task, options, info.overrides, evaluation));
  }
  return evaluation;
}

}  // namespace

Result<Evaluation> local::evaluate(const std::filesystem::path& checkpoint, const EvaluateOptions& options,
                                   const Progress& progress, StopToken stop) {
  if (options.record && !options.edits.empty()) {
    return usage("--record: expected the checkpoint without edits, found" + models::label_of(options.edits));
  }
  LOCUS_TRY(std::shared_ptr<const models::Model> model,
            models::local::open(checkpoint, {options.overrides, options.device, 0}, {}, {}));
  if (!options.edits.empty()) {
    LOCUS_TRY(model, model->edited(options.edits));
  }
  const auto* const loaded = models::loaded_model_of(*model);
  if (loaded == nullptr) {
    return internal("open() gave a model that is not a LoadedModel");
  }
  return guarded([&] { return evaluate_opened(*loaded, checkpoint, options, progress, stop); });
}

}  // namespace locus::training
