#include "app/workbench/checkpoint_runs.h"

#include <utility>

#include "models/timed_estimate.h"

namespace locus::workbench {

namespace {

constexpr std::int64_t kPredictions = 8;

// Its slot of the worker.
std::string run_slot(int id) {
  return "run " + std::to_string(id);
}

// Says with each report of a long run what it was expected to need.
Progress announced(const models::Model& model, const models::Input& input, const models::RunOptions& options,
                   const StopToken& stop, const Progress& progress) {
  constexpr double kLongMs = 10'000;
  const auto tokens = model.tokenize(input);
  if (!tokens.ok()) {
    return progress;  // the run says why
  }
  const models::Estimate estimate =
      models::timed_estimate(model, static_cast<std::int64_t>(tokens->size()), options, stop);
  if (estimate.time_ms < kLongMs) {
    return progress;
  }
  return [progress, expected = " · " + models::to_text(estimate)](const ProgressReport& news) {
    progress({news.fraction, news.what + expected});
  };
}

}  // namespace

CheckpointRuns::CheckpointRuns(Worker& worker, CheckpointList& list, const LiveInput& input)
    : worker_(worker), list_(list), input_(input) {}

void CheckpointRuns::drop(int id) {
  worker_.drop(run_slot(id));
  if (Checkpoint* checkpoint = list_.find(id)) {
    checkpoint->running = false;
  }
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
}

void CheckpointRuns::run_all() {
  for (Checkpoint& checkpoint : list_.all()) {
    if (checkpoint.entry.text && checkpoint.trace) {
      continue;  // it reads a text of its own
    }
    if (checkpoint.model && checkpoint.entry.shown) {
      run(checkpoint);
    } else if (checkpoint.model) {
      forget_run(checkpoint);  // of an older input; runs again when shown
    }
  }
}

void CheckpointRuns::run_cancelled() {
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

void CheckpointRuns::run(Checkpoint& checkpoint) {
  if (!checkpoint.entry.shown || !checkpoint.model) {
    return;
  }
  if (input_.empty() && !checkpoint.entry.text) {
    worker_.drop(run_slot(checkpoint.id));
    forget_run(checkpoint);
    checkpoint.running = false;
    Q_EMIT runs_changed();
    Q_EMIT updated();
    return;
  }
  checkpoint.running = true;
  Q_EMIT started();
  worker_.submit<Run>(
      Priority::kForward, run_slot(checkpoint.id), "Running " + checkpoint.name,
      [model = checkpoint.model, input = session::input_of(checkpoint.entry, input_.value(), checkpoint.model->info()),
       last = checkpoint.last](StopToken stop, const Progress& progress) -> Result<Run> {
        models::RunOptions options;
        options.continuable = true;
        options.reuse = last;
        const Progress told = announced(*model, input, options, stop, progress);
        LOCUS_TRY(auto trace, model->run(input, options, std::move(stop), told));
        auto top = trace->top(kPredictions);
        return Run{std::move(trace), std::move(top)};
      },
      [this, id = checkpoint.id](Result<Run> made) { ran(id, std::move(made)); });
}

void CheckpointRuns::ran(int id, Result<Run> made) {
  Checkpoint* done = list_.find(id);
  if (done == nullptr) {
    return;
  }
  done->running = false;
  const std::size_t warned = done->info() == nullptr ? 0 : done->info()->warnings.size();
  const bool told = done->error || !made;  // the list of checkpoints says why
  done->trace = made ? made->trace : nullptr;
  done->top = made ? made->top : std::vector<models::Prediction>{};
  done->last = made ? made->trace : done->last;
  done->error = made ? std::nullopt : std::optional(made.error());
  if (!made) {
    Q_EMIT failed(made.error());
  }
  if (told || done->info()->warnings.size() != warned) {
    Q_EMIT changed();  // the weights of a large checkpoint were read at this run
  }
  if (!made && made.error().code == ErrorCode::kTooLarge) {
    Q_EMIT too_large(made.error());
  }
  Q_EMIT runs_changed();
  Q_EMIT updated();
}

}  // namespace locus::workbench
