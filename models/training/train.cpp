// The trainer: models/api/train.h.
#include "models/api/train.h"
#include "models/api/local.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "core/base/guarded.h"
#include "core/base/listed.h"
#include "core/base/shown.h"
#include "core/products/linear.h"
#include "models/engine/device.h"
#include "models/engine/threads.h"
#include "models/training/adamw.h"
#include "models/training/claim.h"
#include "models/training/draw.h"
#include "models/training/folder.h"
#include "models/training/measure.h"
#include "models/training/replicas.h"
#include "models/training/setup.h"
#include "models/training/shares.h"
#include "models/training/task.h"
#include "models/transformer/transformer.h"

namespace locus::training {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kPositionStream = 2;
constexpr std::int64_t kQuickValidation = 64;  // sequences measured while training
constexpr std::int64_t kSplitSequences = 256;  // of each of TrainOptions::splits

bool decays(const transformer::Parameter& parameter) {
  return parameter.shape.size() >= 2 && parameter.name != "embedding.weight" &&
         parameter.name.rfind("position.", 0) != 0;
}

class Trainer {
 public:
  Trainer(const TrainOptions& options, const Task& task, const OwnNetwork& network, Replicas& replicas)
      : options_(options),
        task_(task),
        network_(network),
        model_(*network.model),
        replicas_(replicas),
        shares_(options.group.get()),
        draw_(task, options) {
    for (const transformer::Parameter& parameter : network.parameters()) {
      optimiser_.add(*parameter.value, decays(parameter) ? options.weight_decay : 0);
      parameters_ += parameter.value->numel();
    }
  }

  Result<TrainSummary> run(const OnProgress& on_progress, const StopToken& stop) {
    LOCUS_CHECK(start());
    const std::int64_t first = record_.step;
    bool stops = false;
    started_ = Clock::now();
    bool saved = record_.step > 0;
    while (record_.step < options_.steps && !(shares_.alone() ? stop.stop_requested() : stops)) {
      stops = stop.stop_requested();
      LOCUS_TRY(TrainProgress progress, step(first, stops));
      saved = record_.step % options_.save_every == 0;
      if (saved && record_.step < options_.steps && shares_.leads()) {
        LOCUS_TRY(progress.validation, validate());
        LOCUS_CHECK(measure_splits());
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
    if (options_.resume && shares_.leads()) {
      LOCUS_TRY(const bool resumed, read_state(options_.out, network_, optimiser_, options_, record_));
      saved_ = resumed ? record_.step : 0;
    }
    LOCUS_CHECK(shares_.spread(network_, optimiser_, record_.step));
    merge();
    return record_.step == 0 && shares_.leads() ? keep() : Status();
  }

  // One update of the parameters. `stops` is set where any process has a stop request: all of them stop after this
  // step.
  Result<TrainProgress> step(std::int64_t first, bool& stops) {
    const double rate = learning_rate_at(record_.step, options_);
    LOCUS_TRY(double loss, backward());
    LOCUS_CHECK(shares_.add_up(network_, loss, stops));
    if (!std::isfinite(loss)) {
      return diverged("the loss");
    }
    if (!std::isfinite(optimiser_.step(rate, options_.clip))) {
      return diverged("the gradient");
    }
    merge();
    ++record_.step;
    record_.curve.push_back({record_.step, loss, rate, std::numeric_limits<double>::quiet_NaN()});
    TrainProgress progress{.step = record_.step, .steps = options_.steps, .loss = loss, .learning_rate = rate};
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
      parts.push_back(draw_.part(record_.step, part));
      counted += (parts.back().targets != kIgnored).sum().item<std::int64_t>();
    }
    double loss = 0;
    Random random{options_.seed, kPositionStream, static_cast<std::uint64_t>(record_.step)};
    const std::uint64_t seed = random.next();
    const double scale = 1.0 / static_cast<double>(std::max<std::int64_t>(counted, 1));
    std::int64_t first = 0;  // sequence of the part in the batch
    for (const Examples& examples : parts) {
      const Range sequences{first, first + examples.size()};
      first = sequences.end;
      LOCUS_TRY(const auto groups,
                model_.encoding().training_positions(network_.view().natural_positions(examples), sequences, seed));
      std::int64_t begin = 0;
      for (const position::TrainingPositions& group : groups) {
        if (const Examples own = shares_.of(examples, begin, group.sequences); own.size() > 0) {
          loss += replicas_.backward(own, group.positions, scale);
        }
        begin += group.sequences;
      }
    }
    for (const transformer::LayerEncoding& used : model_.encodings()) {
      const at::Tensor own = used.encoding->training_loss(seed);
      if (own.defined() && own.requires_grad() && shares_.leads()) {
        own.backward();  // needs no sequences: counted once
      }
    }
    return loss;
  }

  // Updates the weights that are measured and written, without a gradient.
  void merge() const {
    const at::NoGradGuard no_grad;
    network_.merge();
  }

  at::Device device() const { return network_.parameters().front().value->device(); }
  double tokens_a_step() const { return static_cast<double>(options_.batch * task_.length()); }

  // Measures the metric on the first sequences of the first split.
  Result<std::optional<double>> validate() {
    if (task_.splits().empty()) {
      return std::optional<double>();
    }
    const std::int64_t samples = std::min(kQuickValidation, task_.evaluation_count(0));
    LOCUS_TRY(const Measurement measured,
              measure(network_.view(), task_, 0, {.seed = options_.seed, .samples = samples, .device = device()}));
    record_.curve.back().validation = measured.value;
    return std::optional<double>(measured.value);
  }

  // Measures the splits that are asked for, as this step's cells of loss.csv.
  Status measure_splits() {
    if (options_.splits.empty() || record_.curve.empty()) {
      return {};
    }
    const std::vector<std::string> all = task_.splits();
    std::vector<double> values;
    for (const std::string& name : options_.splits) {
      const auto n = static_cast<std::size_t>(std::find(all.begin(), all.end(), name) - all.begin());
      const std::int64_t samples = std::min(kSplitSequences, task_.evaluation_count(n));
      LOCUS_TRY(
          const Measurement measured,
          measure_if_fits(network_.view(), task_, n, {.seed = options_.seed, .samples = samples, .device = device()}));
      values.push_back(measured.value);
    }
    record_.curve.back().splits = std::move(values);
    return {};
  }

  // Parameters that are NaN or infinite stay so: nothing is written.
  Error diverged(const std::string& what) const {
    return bad_input(
        "training diverged: " + what + " after step " + std::to_string(record_.step) + " is NaN or infinite; " +
            (saved_ > 0 ? "the state of step " + std::to_string(saved_) + " is kept" : "nothing was saved") +
            "; start again with a smaller --lr",
        options_.out.string());
  }

  // The state is written last: an interrupted save leaves the previous one to resume from.
  Status save() {
    for (const transformer::Parameter& parameter : network_.parameters()) {
      if (!products::all_finite(parameter.value->detach())) {
        return diverged(parameter.name);
      }
    }
    saved_ = record_.step;
    LOCUS_CHECK(write_model(options_.out, network_, task_, options_.half));
    LOCUS_CHECK(write_record(options_.out, options_, task_, record_));
    LOCUS_CHECK(keep());
    return write_state(options_.out, network_, optimiser_, options_, record_);
  }

  // Writes the checkpoint of this step, with the numbers so far.
  Status keep() const {
    if (!options_.keep) {
      return {};
    }
    const std::filesystem::path folder = kept_folder(options_.out, record_.step);
    std::error_code failure;
    std::filesystem::create_directories(folder, failure);
    if (failure) {
      return bad_input("cannot be made: " + failure.message(), folder.string());
    }
    LOCUS_CHECK(write_model(folder, network_, task_, options_.half));
    return write_record(folder, options_, task_, record_);
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
    summary.curve = record_.curve;
    if (!shares_.leads()) {
      return summary;
    }
    if (summary.stopped) {
      if (!saved) {
        LOCUS_CHECK(save());
      }
      return summary;
    }
    model_.encodings().drop_unseen(network_.view().natural_positions(draw_.part(0, 0)));
    LOCUS_CHECK(measure_splits());
    summary.curve = record_.curve;
    LOCUS_CHECK(save());
    const std::vector<std::string> splits = task_.splits();
    for (std::size_t n = 0; n < splits.size(); ++n) {
      const auto measured =
          measure_if_fits(network_.view(), task_, n, {.seed = options_.seed, .device = device(), .stop = stop});
      if (!measured.ok() && measured.error().code == ErrorCode::kCancelled) {
        summary.stopped = true;  // a resumed run measures again
        return summary;
      }
      if (!measured.ok()) {
        return measured.error();
      }
      record_.splits[splits[n]] = measured->value;
    }
    summary.splits = record_.splits;
    LOCUS_CHECK(write_record(options_.out, options_, task_, record_));
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
  const OwnNetwork& network_;
  transformer::Transformer& model_;
  Replicas& replicas_;
  Shares shares_;
  Draw draw_;
  AdamW optimiser_;
  RunRecord record_;
  std::int64_t parameters_ = 0;
  std::int64_t saved_ = 0;  // the step of the last save
  Clock::time_point started_;
};

// kUsage for a split that the task has not, and for one that is named twice.
Status check_splits(const Task& task, const std::vector<std::string>& asked) {
  const std::vector<std::string> all = task.splits();
  for (std::size_t n = 0; n < asked.size(); ++n) {
    if (std::find(all.begin(), all.end(), asked[n]) == all.end()) {
      return usage("splits: unknown split " + shown(asked[n]) + "; known: " + listed_known(all, "training"));
    }
    if (std::count(asked.begin(), asked.end(), asked[n]) > 1) {
      return usage("splits: expected each split once, found " + shown(asked[n]) + " twice");
    }
  }
  return {};
}

// Measures the written folder on a few sequences, opened in the usual way; generated tasks need no other data.
Status record_reference(const TrainOptions& options, const StopToken& stop) {
  EvaluateOptions reference;
  reference.task = options.task;
  reference.seed = options.seed;
  reference.samples = kQuickValidation;
  reference.splits = {"in"};
  reference.record = true;
  LOCUS_TRY(const Evaluation row, local::evaluate(options.out, reference, {}, stop));
  static_cast<void>(row);
  return {};
}

Result<TrainSummary> train_checked(TrainOptions given, const OnProgress& on_progress, const StopToken& stop) {
  LOCUS_CHECK(check(given));
  given.batch *= given.group == nullptr ? 1 : given.group->size();
  LOCUS_TRY(const std::unique_ptr<Task> task,
            typed_task(given.task, {given.task_options, given.length, given.corpus, given.validate, given.from, true},
                       given.task_options));
  if (given.length > 0 && given.length != task->length()) {
    return usage("length: task " + given.task + " has its own, " + std::to_string(task->length()));
  }
  LOCUS_CHECK(check_splits(*task, given.splits));
  LOCUS_TRY(const Setup setup, set_up(given, *task));
  const TrainOptions& options = setup.options;
  const transformer::Transformer* const model = setup.network.model.get();
  const position::Positions natural = model->spec().is_image()
                                          ? model->grid_positions(task->image().rows, task->image().columns)
                                          : model->positions(options.length);
  LOCUS_CHECK(model->accepts(natural));
  LOCUS_TRY(const auto groups, model->encoding().training_positions(natural, {0, 1}, options.seed));
  LOCUS_CHECK(model->accepts(groups.front().positions));
  const Shares shares(options.group.get());
  std::optional<Claim> claimed;
  double finished = 0;
  if (shares.leads()) {
    LOCUS_TRY(Claim own, claim(options, *task));
    claimed.emplace(std::move(own));
    finished = claimed->finished ? 1 : 0;
  }
  LOCUS_CHECK(shares.spread(finished));
  if (finished > 0) {
    TrainSummary summary;
    summary.steps = options.steps;
    summary.was_finished = true;
    return summary;
  }
  if (claimed && !claimed->note.empty() && on_progress) {
    TrainProgress said;
    said.steps = options.steps;
    said.note = claimed->note;
    on_progress(said);
  }
  LOCUS_TRY(const at::Device device, models::device_of(options.device));
  const std::int64_t threads = models::bounded_threads(options.threads);
  LOCUS_TRY(const std::unique_ptr<Replicas> replicas,
            Replicas::create(setup.network, device.is_cpu() ? std::clamp<std::int64_t>(threads, 1, options.batch) : 1));
  LOCUS_TRY(TrainSummary summary, Trainer(options, *task, setup.network, *replicas).run(on_progress, stop));
  if (!shares.leads()) {
    return summary;
  }
  if (!summary.stopped && given.corpus.empty()) {
    const Status recorded = record_reference(options, stop);
    summary.stopped = !recorded.ok() && recorded.error().code == ErrorCode::kCancelled;
    LOCUS_CHECK(summary.stopped ? Status() : recorded);
  }
  // The state is removed last: a run killed before that is resumed and finishes the rest.
  LOCUS_CHECK(summary.stopped ? Status() : remove_state(options.out));
  return summary;
}

}  // namespace

Result<Decay> local::parse_decay(const std::string& name) {
  const std::optional<Decay> decay = find_word(kDecays, name);
  return decay ? Result<Decay>(*decay) : usage("decay: expected cosine, linear or constant, found " + shown(name));
}

Result<TrainSummary> local::train(const TrainOptions& options, const OnProgress& on_progress, StopToken stop) {
  try {
    Result<TrainSummary> trained = train_checked(options, on_progress, stop);
    if (!trained.ok() && options.group != nullptr) {
      options.group->fail(trained.error().describe());
    }
    return trained;
  } catch (const std::exception& exception) {
    Error error = error_of(exception);
    if (error.code == ErrorCode::kTooLarge) {
      error.message += " for a batch of " + std::to_string(options.batch) + " sequences";
    }
    return error;
  }
}

}  // namespace locus::training
