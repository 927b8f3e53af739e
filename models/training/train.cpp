// The trainer behind models/train.h.
#include "models/train.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <thread>
#include <utility>

#include "models/training/adamw.h"
#include "models/training/folder.h"
#include "models/training/measure.h"
#include "models/training/replicas.h"
#include "models/training/task.h"
#include "models/transformer/transformer.h"

namespace locus::training {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kTrainingStream = 1;
constexpr std::uint64_t kPositionStream = 2;
constexpr std::int64_t kQuickValidation = 64;  // sequences measured while training

Status check(const TrainOptions& options) {
  const auto positive = [](const char* name, std::int64_t value) -> Status {
    if (value < 1 || value > (std::int64_t{1} << 32)) {
      return usage(std::string(name) + ": expected a positive number, found " + std::to_string(value));
    }
    return {};
  };
  LOCUS_CHECK(positive("layers", options.layers));
  LOCUS_CHECK(positive("heads", options.heads));
  LOCUS_CHECK(positive("width", options.width));
  LOCUS_CHECK(positive("inner", options.inner));
  LOCUS_CHECK(positive("batch", options.batch));
  LOCUS_CHECK(positive("gradient parts", options.gradient_parts));
  LOCUS_CHECK(positive("steps", options.steps));
  LOCUS_CHECK(positive("save interval", options.save_every));
  if (options.width % options.heads != 0) {
    return usage("width: expected a multiple of heads " + std::to_string(options.heads) + ", found " +
                 std::to_string(options.width));
  }
  if (options.batch % options.gradient_parts != 0) {
    return usage("batch: expected a multiple of gradient parts " + std::to_string(options.gradient_parts) + ", found " +
                 std::to_string(options.batch));
  }
  if (options.warmup < 0 || options.length < 0 || !(options.learning_rate > 0) || !(options.clip >= 0) ||
      !(options.weight_decay >= 0)) {
    return usage(
        "expected a positive learning rate, and a warm-up, length, clip and weight decay that are not negative");
  }
  if (options.device != "cpu" && options.device != "cuda") {
    return usage("device: expected cpu or cuda, found " + options.device);
  }
  if (options.device == "cuda" && !at::hasCUDA()) {
    return unsupported("this LibTorch has no CUDA device to train on");
  }
  if (options.out.empty()) {
    return usage("expected a folder to write to");
  }
  return {};
}

// `options` with every default that depends on others filled in, so that what is recorded says everything.
TrainOptions completed(TrainOptions options) {
  if (options.kv_heads == 0) {
    options.kv_heads = options.heads;
  }
  if (options.inner == 0) {
    options.inner = (options.width * 8 / 3 + 7) / 8 * 8;
  }
  return options;
}

transformer::Spec spec_of(const TrainOptions& options, const Task& task) {
  transformer::Spec spec;
  spec.vocabulary = task.vocabulary();
  spec.width = options.width;
  spec.layers = options.layers;
  spec.heads = options.heads;
  spec.kv_heads = options.kv_heads;
  spec.head_width = options.width / options.heads;
  spec.inner = options.inner;
  spec.encoding = options.encoding;
  spec.encoding_options = options.encoding_options;
  spec.trained_length = task.length();
  return spec;
}

bool decays(const transformer::Parameter& parameter) {
  return parameter.shape.size() >= 2 && parameter.name != "embedding.weight" &&
         parameter.name.rfind("position.", 0) != 0;
}

class Trainer {
 public:
  Trainer(const TrainOptions& options, const Task& task, transformer::Transformer& model, Replicas& replicas)
      : options_(options), task_(task), model_(model), replicas_(replicas) {
    for (const transformer::Parameter& parameter : model.parameters()) {
      optimiser_.add(*parameter.value, decays(parameter) ? options.weight_decay : 0);
      parameters_ += parameter.value->numel();
    }
  }

  Result<TrainSummary> run(const OnProgress& on_progress, const StopToken& stop) {
    LOCUS_CHECK(start());
    const std::int64_t first = record_.step;
    started_ = Clock::now();
    bool saved = record_.step > 0;
    while (record_.step < options_.steps && !stop.stop_requested()) {
      LOCUS_TRY(TrainProgress progress, step(first));
      saved = record_.step % options_.save_every == 0;
      if (saved && record_.step < options_.steps) {
        LOCUS_TRY(progress.validation, validate(stop));
        LOCUS_CHECK(save());
      }
      if (on_progress) {
        on_progress(progress);
      }
    }
    return finish(first, saved, stop);
  }

 private:
  Status start() {
    if (options_.resume) {
      LOCUS_TRY(const bool resumed, read_state(options_.out, model_, optimiser_, options_, record_));
      static_cast<void>(resumed);
    }
    return {};
  }

  // One update of the parameters.
  Result<TrainProgress> step(std::int64_t first) {
    const double rate = learning_rate_at(record_.step, options_);
    LOCUS_TRY(const double loss, backward());
    optimiser_.step(rate, options_.clip);
    ++record_.step;
    record_.curve.push_back({record_.step, loss, rate, std::numeric_limits<double>::quiet_NaN()});
    TrainProgress progress;
    progress.step = record_.step;
    progress.steps = options_.steps;
    progress.loss = loss;
    progress.learning_rate = rate;
    const double elapsed = std::chrono::duration<double>(Clock::now() - started_).count();
    const auto done = static_cast<double>(record_.step - first);
    progress.tokens_per_second = done * tokens_a_step() / std::max(elapsed, 1e-9);
    progress.seconds_left = elapsed / done * static_cast<double>(options_.steps - record_.step);
    return progress;
  }

  // The gradient of the mean over all counted targets of the step's batch, at the positions that the encoding trains
  // this step on; returns that mean.
  Result<double> backward() {
    std::vector<Examples> parts;
    std::int64_t counted = 0;
    for (std::int64_t part = 0; part < options_.gradient_parts; ++part) {
      Random random{options_.seed, kTrainingStream, static_cast<std::uint64_t>(record_.step),
                    static_cast<std::uint64_t>(part)};
      parts.push_back(task_.training_examples(random, options_.batch / options_.gradient_parts));
      counted += (parts.back().targets != kIgnored).sum().item<std::int64_t>();
    }
    double loss = 0;
    Random random{options_.seed, kPositionStream, static_cast<std::uint64_t>(record_.step)};
    const std::uint64_t seed = random.next();
    for (const Examples& examples : parts) {
      LOCUS_TRY(const position::Positions positions, model_.encoding().training_positions(examples.ids.size(1), seed));
      loss += replicas_.backward(examples, positions, 1.0 / static_cast<double>(std::max<std::int64_t>(counted, 1)));
    }
    return loss;
  }

  at::Device device() const { return at::Device(options_.device == "cuda" ? at::kCUDA : at::kCPU); }
  double tokens_a_step() const { return static_cast<double>(options_.batch * task_.length()); }

  // The metric on the first sequences of the first split.
  Result<std::optional<double>> validate(const StopToken& stop) {
    if (task_.splits().empty()) {
      return std::optional<double>();
    }
    MeasureOptions quick;
    quick.seed = options_.seed;
    quick.device = device();
    quick.samples = std::min(kQuickValidation, task_.evaluation_count(0));
    auto measured = measure(model_, task_, 0, quick);
    if (!measured.ok()) {
      return measured.error();
    }
    static_cast<void>(stop);
    record_.curve.back().validation = measured->value;
    return std::optional<double>(measured->value);
  }

  // The state goes last: a save that is cut off leaves the one before to resume from.
  Status save() {
    LOCUS_CHECK(write_model(options_.out, model_, task_, options_.half));
    LOCUS_CHECK(write_record(options_.out, options_, task_, record_));
    return write_state(options_.out, model_, optimiser_, options_, record_);
  }

  Result<TrainSummary> finish(std::int64_t first, bool saved, const StopToken& stop) {
    TrainSummary summary;
    summary.steps = record_.step;
    summary.parameters = parameters_;
    summary.metric = std::string(metric_name(task_.metric()));
    summary.stopped = record_.step < options_.steps;
    const double elapsed = std::chrono::duration<double>(Clock::now() - started_).count();
    summary.tokens_per_second = static_cast<double>(record_.step - first) * tokens_a_step() / std::max(elapsed, 1e-9);
    summary.loss = recent_loss();
    if (summary.stopped) {
      if (!saved) {
        LOCUS_CHECK(save());
      }
      return summary;
    }
    LOCUS_CHECK(save());
    const std::vector<std::string> splits = task_.splits();
    for (std::size_t n = 0; n < splits.size(); ++n) {
      MeasureOptions whole;
      whole.seed = options_.seed;
      whole.device = device();
      whole.stop = stop;
      auto measured = measure(model_, task_, n, whole);
      if (!measured.ok() && measured.error().code != ErrorCode::kBadInput) {
        return measured.error();
      }
      // A split longer than the encoding can take (a learned table) has no value, which is a result too.
      record_.splits[splits[n]] = measured.ok() ? measured->value : std::numeric_limits<double>::quiet_NaN();
    }
    summary.splits = record_.splits;
    LOCUS_CHECK(write_record(options_.out, options_, task_, record_));
    LOCUS_CHECK(remove_state(options_.out));
    return summary;
  }

  double recent_loss() const {
    const std::size_t count = std::min<std::size_t>(record_.curve.size(), 50);
    double sum = 0;
    for (std::size_t n = record_.curve.size() - count; n < record_.curve.size(); ++n) {
      sum += record_.curve[n].loss;
    }
    return count > 0 ? sum / static_cast<double>(count) : 0;
  }

  const TrainOptions& options_;
  const Task& task_;
  transformer::Transformer& model_;
  Replicas& replicas_;
  AdamW optimiser_;
  RunRecord record_;
  std::int64_t parameters_ = 0;
  Clock::time_point started_;
};

Result<TrainSummary> train_checked(const TrainOptions& given, const OnProgress& on_progress, const StopToken& stop) {
  TrainOptions options = completed(given);
  LOCUS_CHECK(check(options));
  LOCUS_TRY(const std::unique_ptr<Task> task,
            make_task(options.task, {options.task_options, options.length, options.corpus, options.validate, true}));
  if (options.length > 0 && options.length != task->length()) {
    return usage("length: task " + options.task + " has its own, " + std::to_string(task->length()));
  }
  options.length = task->length();
  const transformer::Spec spec = spec_of(options, *task);
  LOCUS_TRY(const std::unique_ptr<transformer::Transformer> model,
            transformer::Transformer::create(spec, true, options.seed));
  LOCUS_CHECK(model->encoding().accepts(model->positions(options.length)));
  LOCUS_TRY(const position::Positions positions, model->encoding().training_positions(options.length, options.seed));
  LOCUS_CHECK(model->encoding().accepts(positions));
  std::error_code error;
  std::filesystem::create_directories(options.out, error);
  if (error) {
    return bad_input("cannot be made: " + error.message(), options.out.string());
  }
  const at::Device device(options.device == "cuda" ? at::kCUDA : at::kCPU);
  model->to(device);
  const std::int64_t threads = options.threads > 0 ? options.threads : std::thread::hardware_concurrency();
  LOCUS_TRY(const std::unique_ptr<Replicas> replicas,
            Replicas::create(*model, device.is_cpu() ? std::clamp<std::int64_t>(threads, 1, options.batch) : 1));
  return Trainer(options, *task, *model, *replicas).run(on_progress, stop);
}

}  // namespace

Result<Decay> parse_decay(const std::string& name) {
  if (name == "cosine") {
    return Decay::kCosine;
  }
  if (name == "linear") {
    return Decay::kLinear;
  }
  if (name == "constant") {
    return Decay::kConstant;
  }
  return usage("decay: expected cosine, linear or constant, found " + name);
}

Result<TrainSummary> train(const TrainOptions& options, const OnProgress& on_progress, StopToken stop) {
  try {
    return train_checked(options, on_progress, stop);
  } catch (const std::bad_alloc&) {
    return too_large("not enough memory for a batch of " + std::to_string(options.batch));
  } catch (const c10::Error& error) {
    return internal(error.what_without_backtrace());
  }
}

}  // namespace locus::training
