// evaluate(): a checkpoint's metric on a task.
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/atomic_file.h"
#include "models/guard.h"
#include "models/loaded_model.h"
#include "models/settings_json.h"
#include "models/text/json.h"
#include "models/train.h"
#include "models/training/measure.h"
#include "models/training/task.h"

namespace locus::training {

namespace {

constexpr std::size_t kLongestRecord = std::size_t{16} << 20;

// The task options a checkpoint was trained with, so that what is measured is what was recorded; none without
// training.json, or when it was trained on another task.
Result<Settings> recorded_options(const std::filesystem::path& checkpoint, const std::string& task) {
  const std::filesystem::path file = checkpoint / "training.json";
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) {
    return Settings();
  }
  LOCUS_TRY(const std::string text, read_file(file, kLongestRecord));
  LOCUS_TRY(const nlohmann::json record, parse_json(text, file.string()));
  if (!record.is_object() || record.value("task", nlohmann::json()) != task) {
    return Settings();
  }
  return models::settings_from_json(record.value("task_options", nlohmann::json::object()), file.string());
}

Result<Evaluation> evaluate_opened(const models::LoadedModel& model, const std::filesystem::path& checkpoint,
                                   const EvaluateOptions& options, const Progress& progress, const StopToken& stop) {
  const models::ModelInfo& info = model.info();
  TaskRequest request;
  request.training = false;
  request.validate = options.validate;
  LOCUS_TRY(request.options, recorded_options(checkpoint, options.task));
  for (const auto& [name, value] : options.task_options.values()) {
    request.options.set(name, value);
  }
  request.length = options.task == "text" ? info.trained_length : 0;
  LOCUS_TRY(const std::unique_ptr<Task> task, make_task(options.task, request));
  if (info.image || !info.causal || info.vocabulary != task->vocabulary()) {
    return bad_input("expected a causal text model of " + std::to_string(task->vocabulary()) + " tokens for task " +
                         options.task + ", found " + std::to_string(info.vocabulary) + " tokens" +
                         (info.causal ? "" : ", not causal"),
                     checkpoint.string());
  }
  LOCUS_TRY(const transformer::Transformer* transformer, model.ready());
  Evaluation evaluation;
  evaluation.checkpoint = info.name;
  evaluation.encoding = info.encoding;
  evaluation.metric = std::string(metric_name(task->metric()));
  const std::vector<std::string> splits = task->splits();
  for (std::size_t n = 0; n < splits.size(); ++n) {
    MeasureOptions measuring;
    measuring.seed = options.seed;
    measuring.samples = options.samples;
    measuring.stop = stop;
    measuring.progress = progress;
    auto measured = measure(*transformer, *task, n, measuring);
    if (!measured.ok() && measured.error().code != ErrorCode::kBadInput) {
      return measured.error();
    }
    // A split longer than the encoding can take has no value, which is a result too.
    const double none = std::numeric_limits<double>::quiet_NaN();
    evaluation.splits.emplace_back(splits[n], measured.ok() ? measured->value : none);
    evaluation.intervals.emplace_back(measured.ok() ? measured->low : none, measured.ok() ? measured->high : none);
  }
  return evaluation;
}

}  // namespace

Result<Evaluation> evaluate(const std::filesystem::path& checkpoint, const EvaluateOptions& options,
                            const Progress& progress, StopToken stop) {
  LOCUS_TRY(const std::shared_ptr<const models::Model> model, models::open(checkpoint));
  const auto* const loaded = dynamic_cast<const models::LoadedModel*>(model.get());
  if (loaded == nullptr) {
    return internal("open() gave a model that is not a LoadedModel");
  }
  return models::guarded([&] { return evaluate_opened(*loaded, checkpoint, options, progress, stop); });
}

}  // namespace locus::training
