#include "app/workbench/work/checkpoint_runs.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "app/workbench/work/checkpoint_list.h"
#include "core/base/work_time.h"
#include "models/api/run_estimate.h"

namespace locus::workbench {

namespace {

constexpr std::int64_t kPredictions = 8;

// Its slot of the worker.
std::string run_slot(int id) {
  return "run " + std::to_string(id);
}

constexpr double kWorthSayingMs = 2000;  // of a run: shorter ones are over before it is read
constexpr const char* kCancelledMessage =
    "Cancelled: what is shown is of the input before. Press R to run the present one.";

// With each report how long the rest takes: first as it was expected to, then as the parts that are done have.
Progress with_time_left(double expected_ms, double sure, const Progress& progress) {
  return [progress, expected_ms, sure, begun = Worker::Clock::now()](const ProgressReport& news) {
    const std::chrono::duration<double, std::milli> elapsed = Worker::Clock::now() - begun;
    const double left = models::left_ms(expected_ms, news.fraction, elapsed.count(), sure);
    const bool told = news.fraction >= 0 && left > kWorthSayingMs;
    progress({news.fraction, news.what + (told ? " · about " + models::duration_text(left) + " left" : "")});
  };
}

// Tokens at the beginning that the run takes over from an earlier one, as far as tokens tell.
std::int64_t taken_over(const models::Model& model, const models::RunOptions& options,
                        const std::vector<models::TokenInfo>& tokens) {
  if (!options.reuse || !model.info().causal || model.info().image || !model.edits().empty() ||
      !options.reuse->edits().empty() || model.info().encoder_layers > 0) {
    return 0;
  }
  const auto& before = options.reuse->tokens();
  const auto end = std::mismatch(
      tokens.begin(), tokens.end(), before.begin(), before.end(),
      [](const models::TokenInfo& a, const models::TokenInfo& b) { return a.id == b.id && a.position == b.position; });
  return end.first - tokens.begin();
}

}  // namespace

CheckpointRuns::CheckpointRuns(Worker& worker, CheckpointList& list, const LiveInput& input, const RunLimits& limits)
    : worker_(worker), list_(list), input_(input), limits_(limits) {}

void CheckpointRuns::drop(int id) {
  worker_.drop(run_slot(id));
  if (Checkpoint* checkpoint = list_.find(id)) {
    clear(*checkpoint);
    end_round();
  }
}

// It neither runs nor asks to.
void CheckpointRuns::clear(Checkpoint& checkpoint) {
  checkpoint.running = false;
  checkpoint.early.reset();
  checkpoint.question.reset();
}

void CheckpointRuns::run_if_idle(Checkpoint& checkpoint) {
  if (!input_.waiting()) {
    run(checkpoint);
  }
}

void CheckpointRuns::forget_run(Checkpoint& checkpoint) {
  checkpoint.trace.reset();
  checkpoint.last.reset();
  checkpoint.top.clear();
  checkpoint.before.reset();
}

void CheckpointRuns::run_all() {
  stopped_ = false;
  bool forgot_error = false;
  for (Checkpoint& checkpoint : list_.all()) {
    checkpoint.run_ms = 0;
    if (checkpoint.entry.text && checkpoint.trace) {
      continue;  // it reads a text of its own
    }
    if (checkpoint.model && checkpoint.entry.shown) {
      run(checkpoint);
    } else if (checkpoint.model) {
      forget_run(checkpoint);  // of an older input; runs again when shown
      forgot_error = forgot_error || checkpoint.error;
      checkpoint.error.reset();
    }
  }
  if (forgot_error) {
    Q_EMIT changed();
  }
}

void CheckpointRuns::run_cancelled() {
  stopped_ = false;
  for (Checkpoint& checkpoint : list_.all()) {
    if (checkpoint.error && checkpoint.error->code == ErrorCode::kCancelled && !checkpoint.running) {
      run(checkpoint);
    }
  }
}

void CheckpointRuns::keep_run(int id, std::shared_ptr<const models::Trace> trace) {
  if (Checkpoint* checkpoint = list_.find(id); checkpoint != nullptr) {
    checkpoint->last = std::move(trace);
  }
}

void CheckpointRuns::agree() {
  for (Checkpoint& checkpoint : list_.all()) {
    if (checkpoint.question) {
      checkpoint.agreed = checkpoint.question->estimate;
      run(checkpoint);
    }
  }
  Q_EMIT changed();
}

void CheckpointRuns::decline() {
  for (Checkpoint& checkpoint : list_.all()) {
    if (checkpoint.question) {
      clear(checkpoint);
      ran(checkpoint.id, cancelled());
    }
  }
}

void CheckpointRuns::shorten_own_texts() {
  for (Checkpoint& checkpoint : list_.all()) {
    if (checkpoint.question && checkpoint.question->first > 0 && checkpoint.entry.text) {
      checkpoint.entry.text->resize(static_cast<std::size_t>(checkpoint.question->first_bytes));
      run(checkpoint);
    }
  }
}

// Copies of a checkpoint's parts for the worker.
struct CheckpointRuns::Wanted {
  std::shared_ptr<const models::Model> model;
  models::Input input;
  models::RunOptions options;
  models::Estimate agreed;
  RunLimits limits;
};

Result<CheckpointRuns::Run> CheckpointRuns::run_on_worker(const Wanted& wanted, const StopToken& stop,
                                                          const Progress& progress) {
  const models::Model& model = *wanted.model;
  models::RunOptions options = wanted.options;
  WorkTime time;
  options.pause = time.not_counting(wanted.options.pause);
  Progress told = progress;
  report(progress, 0, "reading the text");
  const auto tokens = model.tokenize(wanted.input);
  const auto length = tokens.ok() ? static_cast<std::int64_t>(tokens->size()) : 0;
  // Inputs that cannot run are reported by run() below.
  if (tokens.ok() && model.estimate(length, options).fits) {
    LOCUS_CHECK(model.read_weights(stop, with_time_left(0, 0, progress)));
    const models::Estimate estimate =
        models::with_pictures(models::run_estimate(model, length, options, taken_over(model, options, *tokens)),
                              models::pictures_estimate(model, wanted.input, options));
    if (auto question = question_of(model, wanted.input, *tokens, options, estimate, wanted.agreed, wanted.limits);
        question && !stop.stop_requested()) {
      return Run{nullptr, {}, question};
    }
    told = with_time_left(estimate.time_ms, 1 / static_cast<double>(std::max<std::int64_t>(model.info().layers, 1)),
                          progress);
    if (estimate.time_ms < kWorthSayingMs) {
      options.early = {};
    }
  }
  LOCUS_TRY(auto trace, model.run(wanted.input, options, stop, told));
  auto top = trace->top(kPredictions);
  return Run{std::move(trace), std::move(top), {}, time.ms()};
}

void CheckpointRuns::run(Checkpoint& checkpoint) {
  if (!checkpoint.entry.shown || !checkpoint.model) {
    return;
  }
  if (input_.empty() && !checkpoint.entry.text) {
    worker_.drop(run_slot(checkpoint.id));
    forget_run(checkpoint);
    clear(checkpoint);
    end_round();
    Q_EMIT runs_changed();
    Q_EMIT extent_changed();
    return;
  }
  clear(checkpoint);
  checkpoint.running = true;
  checkpoint.run_ms = 0;
  if (!checkpoint.before) {  // of what is shown: runs that were begun since have shown nothing yet
    checkpoint.before = Checkpoint::Before{checkpoint.trace, checkpoint.top};
  }
  Q_EMIT started();
  const int id = checkpoint.id;
  Wanted wanted{checkpoint.model,
                session::input_of(checkpoint.entry, input_.value(), checkpoint.model->info()),
                {},
                checkpoint.agreed,
                limits_};
  wanted.options.continuable = true;
  wanted.options.reuse = checkpoint.last;
  wanted.options.pause = [&worker = worker_] { worker.rest(); };
  wanted.options.early = [this, id, &worker = worker_](const std::shared_ptr<const models::Trace>& trace) {
    worker.tell([this, id, trace] {
      if (Checkpoint* checkpoint = list_.find(id)) {
        checkpoint->early = trace;
        Q_EMIT early_changed();
      }
    });
  };
  worker_.submit<Run>(
      Priority::kForward, run_slot(id), "Running " + checkpoint.name,
      [wanted = std::move(wanted)](const StopToken& stop, const Progress& progress) {
        return run_on_worker(wanted, stop, progress);
      },
      [this, id](Result<Run> made) { ran(id, std::move(made)); });
}

void CheckpointRuns::ran(int id, Result<Run> made) {
  Checkpoint* done = list_.find(id);
  if (done == nullptr) {
    return;
  }
  clear(*done);
  if (made && made->question) {
    done->question = made->question;
    Q_EMIT changed();
    Q_EMIT extent_changed();
    return;
  }
  if (!made && made.error().code == ErrorCode::kCancelled) {
    stopped_ = true;
    done->agreed = {};  // it is asked for again
  }
  show(*done, std::move(made));
}

void CheckpointRuns::show(Checkpoint& done, Result<Run> made) {
  const std::size_t warned = done.info() == nullptr ? 0 : done.info()->warnings.size();
  const bool told = done.error || !made;  // the list of checkpoints says why
  if (made) {
    done.trace = made->trace;
    done.top = made->top;
  } else if (is_cut_off(done)) {
    restore(done);
  } else {
    done.trace.reset();
    done.top.clear();
  }
  done.last = made ? made->trace : done.last;
  done.run_ms = made ? made->ms : 0;
  done.error = made ? std::nullopt : std::optional(made.error());
  const bool warns = made && done.info()->warnings.size() != warned;
  const std::optional<Error> error = done.error;
  const bool back = stopped_;
  if (back) {
    go_back();
  }
  end_round();
  if (error) {
    Q_EMIT failed(*error);
  }
  if (told || warns || back) {
    Q_EMIT changed();  // the weights of a large checkpoint were read at this run
  }
  if (error && error->code == ErrorCode::kTooLarge) {
    Q_EMIT too_large(*error);
  }
  Q_EMIT runs_changed();
  Q_EMIT extent_changed();
}

// Restores the run from before the present ones. Under other edits or overrides than it has now it would be shown under
// a wrong name.
bool CheckpointRuns::restore(Checkpoint& checkpoint) {
  const auto trace = checkpoint.before ? checkpoint.before->trace : nullptr;
  const bool same = trace && checkpoint.model && trace->edits() == checkpoint.model->edits() &&
                    trace->model().overrides == checkpoint.model->info().overrides;
  checkpoint.trace = same ? trace : nullptr;
  checkpoint.top = same ? checkpoint.before->top : std::vector<models::Prediction>{};
  return same;
}

void CheckpointRuns::go_back() {
  for (Checkpoint& each : list_.all()) {
    if (!each.before || each.pending() || (each.error && each.error->code != ErrorCode::kCancelled)) {
      continue;
    }
    each.error = restore(each) ? Error{ErrorCode::kCancelled, kCancelledMessage, {}} : cancelled();
  }
}

void CheckpointRuns::end_round() {
  const bool going_on =
      std::any_of(list_.all().begin(), list_.all().end(), [](const Checkpoint& each) { return each.pending(); });
  if (!going_on) {
    stopped_ = false;
    for (Checkpoint& each : list_.all()) {
      each.before.reset();
    }
  }
}

}  // namespace locus::workbench
