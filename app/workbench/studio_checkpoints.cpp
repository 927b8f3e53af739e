// The Studio's checkpoints, its input and their runs.
#include <algorithm>
#include <utility>

#include "app/workbench/studio.h"
#include "models/timed_estimate.h"
#include "models/trace_file.h"

namespace locus::workbench {

namespace {

constexpr std::int64_t kPredictions = 8;

std::string slot_of(const char* what, int id) {
  return std::string(what) + " " + std::to_string(id);
}

// Says with each report of a long run what it was expected to need.
Progress announced(const models::Model& model, const models::Input& input, const models::RunOptions& options,
                   const StopToken& stop, const Progress& progress) {
  constexpr double kLongMs = 3000;
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

struct Run {
  std::shared_ptr<const models::Trace> trace;
  std::vector<models::Prediction> top;
};

}  // namespace

Checkpoint* Studio::find_mutable(int id) {
  const auto found =
      std::find_if(checkpoints_.begin(), checkpoints_.end(), [&](const Checkpoint& each) { return each.id == id; });
  return found == checkpoints_.end() ? nullptr : &*found;
}

const Checkpoint* Studio::find(int id) const {
  return const_cast<Studio*>(this)->find_mutable(id);
}

std::string Studio::unique_name(const CheckpointEntry& entry, const std::string& base) const {
  const std::string wanted = base + label_of(entry.overrides);
  std::string name = wanted;
  for (int n = 2; std::any_of(checkpoints_.begin(), checkpoints_.end(), [&](const auto& c) { return c.name == name; });
       ++n) {
    name = wanted + " (" + std::to_string(n) + ")";
  }
  return name;
}

int Studio::open(const CheckpointEntry& entry) {
  std::error_code code;
  CheckpointEntry wanted = entry;
  if (const auto canonical = std::filesystem::weakly_canonical(entry.path, code); !code) {
    wanted.path = canonical;
  }
  const auto known = std::find_if(checkpoints_.begin(), checkpoints_.end(), [&](const Checkpoint& open) {
    return open.entry.path == wanted.path && open.entry.overrides == wanted.overrides;
  });
  if (known != checkpoints_.end() && (!known->error || known->model)) {
    const int id = known->id;
    set_shown(id, true);
    return id;
  }
  if (known != checkpoints_.end()) {
    checkpoints_.erase(known);  // it did not open: perhaps it does now
  }
  Checkpoint checkpoint;
  checkpoint.id = next_id_++;
  checkpoint.entry = wanted;
  const std::string base =
      wanted.path.has_filename() ? wanted.path.filename().string() : wanted.path.parent_path().filename().string();
  checkpoint.name = unique_name(wanted, base);
  const int id = checkpoint.id;
  checkpoints_.push_back(checkpoint);
  if (wanted.shown) {
    load(checkpoints_.back());
  }
  Q_EMIT checkpoints_changed();
  return id;
}

void Studio::load(Checkpoint& checkpoint) {
  checkpoint.opening = true;
  checkpoint.error.reset();
  const int id = checkpoint.id;
  const CheckpointEntry& wanted = checkpoint.entry;
  // A file may be a checkpoint or a trace: it is looked at on the worker.
  struct Opened {
    std::shared_ptr<const models::Model> model;
    std::shared_ptr<const models::Trace> trace;
  };
  models::OpenOptions options;
  options.overrides = wanted.overrides;
  options.device = options_.device;
  options.memory_limit_mb = options_.memory_limit_mb;
  worker_.submit<Opened>(
      Priority::kForward, slot_of("open", id), "Opening " + checkpoint.name,
      [path = wanted.path, options, opener = options_.opener](StopToken stop,
                                                              const Progress& progress) -> Result<Opened> {
        if (models::is_trace(path)) {
          LOCUS_TRY(auto trace, models::open_trace(path));
          return Opened{nullptr, std::move(trace)};
        }
        LOCUS_TRY(auto model, opener(path, options, std::move(stop), progress));
        return Opened{std::move(model), nullptr};
      },
      [this, id](Result<Opened> opened_result) {
        if (!opened_result) {
          opened(id, opened_result.error());
        } else if (opened_result->trace) {
          opened_trace(id, std::move(opened_result->trace));
        } else {
          opened(id, std::move(opened_result->model));
        }
      });
}

void Studio::opened(int id, Result<std::shared_ptr<const models::Model>> model) {
  Checkpoint* checkpoint = find_mutable(id);
  if (checkpoint == nullptr) {
    return;
  }
  checkpoint->opening = false;
  if (!model) {
    checkpoint->error = model.error();
    report(model.error());
  } else {
    checkpoint->model = *std::move(model);
    if (!debounce_.isActive()) {  // else it runs with the text that is being typed
      run(*checkpoint);
    }
  }
  Q_EMIT checkpoints_changed();
  change(state_, false);  // layer and head may have gone out of range
}

void Studio::opened_trace(int id, Result<std::shared_ptr<const models::Trace>> trace) {
  Checkpoint* checkpoint = find_mutable(id);
  if (checkpoint == nullptr) {
    return;
  }
  checkpoint->opening = false;
  checkpoint->trace = *std::move(trace);
  Q_EMIT checkpoints_changed();
  Q_EMIT runs_changed();
  change(state_, false);
}

void Studio::remove(int id) {
  worker_.drop(slot_of("open", id));
  worker_.drop(slot_of("run", id));
  worker_.drop(kGenerate);
  std::erase_if(checkpoints_, [&](const Checkpoint& each) { return each.id == id; });
  Q_EMIT checkpoints_changed();
  Q_EMIT runs_changed();
  change(state_, false);
}

void Studio::set_shown(int id, bool shown) {
  Checkpoint* checkpoint = find_mutable(id);
  if (checkpoint == nullptr || checkpoint->entry.shown == shown) {
    return;
  }
  checkpoint->entry.shown = shown;
  if (shown && checkpoint->model && !checkpoint->trace && !checkpoint->running) {
    if (!debounce_.isActive()) {
      run(*checkpoint);
    }
  } else if (shown && !checkpoint->model && !checkpoint->trace && !checkpoint->opening) {
    load(*checkpoint);
  }
  Q_EMIT checkpoints_changed();
  Q_EMIT runs_changed();
  change(state_, false);
}

std::vector<const Checkpoint*> Studio::columns() const {
  std::vector<const Checkpoint*> shown;
  for (const Checkpoint& each : checkpoints_) {
    if (each.entry.shown && each.trace) {
      shown.push_back(&each);
    }
  }
  return shown;
}

// ---- input

void Studio::set_text(const std::string& text) {
  if (input_.text == text) {
    return;
  }
  models::Input input;
  input.text = text;
  input.position_start = input_.position_start;
  input_ = std::move(input);
  worker_.drop(kGenerate);  // of the text before
  since_input_.start();
  measuring_ = true;
  debounce_.start();
  Q_EMIT input_changed();
}

void Studio::set_input(const models::Input& input) {
  worker_.drop(kGenerate);
  input_ = input;
  since_input_.start();
  measuring_ = true;
  Q_EMIT input_changed();
  run_all();
}

void Studio::generate(std::int64_t count, double temperature) {
  const auto shown = columns();
  if (shown.empty() || !shown.front()->model || !input_.text) {
    report(unsupported("Generation continues a text: type one, and open a checkpoint that reads text"));
    return;
  }
  models::RunOptions options;
  options.reuse = shown.front()->last;
  worker_.submit<models::Generation>(
      Priority::kForward, kGenerate, "Continuing with " + shown.front()->name,
      [model = shown.front()->model, input = input_, options,
       wanted = models::GenerateOptions{count, temperature, ++draws_}](StopToken stop, const Progress& progress) {
        return model->generate(input, wanted, options, std::move(stop), progress);
      },
      [this, id = shown.front()->id](Result<models::Generation> made) {
        if (!made) {
          report(made.error());
          return;
        }
        if (Checkpoint* checkpoint = find_mutable(id); checkpoint != nullptr) {
          checkpoint->last = made->trace;  // so that showing it computes next to nothing
        }
        models::Input input = input_;
        input.text = input.text.value_or("") + made->text;
        set_input(input);
      });
}

void Studio::run_all() {
  debounce_.stop();
  for (Checkpoint& checkpoint : checkpoints_) {
    if (checkpoint.model && checkpoint.entry.shown) {
      run(checkpoint);
    } else if (checkpoint.model) {
      checkpoint.trace.reset();  // of an older input; runs again when shown
      checkpoint.last.reset();
      checkpoint.top.clear();
    }
  }
}

void Studio::run_cancelled() {
  for (Checkpoint& checkpoint : checkpoints_) {
    if (checkpoint.error && checkpoint.error->code == ErrorCode::kCancelled && !checkpoint.running) {
      run(checkpoint);
    }
  }
}

void Studio::run(Checkpoint& checkpoint) {
  const bool empty = !input_.ids && !input_.image && !input_.pixels && (!input_.text || input_.text->empty());
  if (!checkpoint.entry.shown || !checkpoint.model) {
    return;
  }
  if (empty) {
    worker_.drop(slot_of("run", checkpoint.id));
    checkpoint.trace.reset();
    checkpoint.last.reset();
    checkpoint.top.clear();
    checkpoint.running = false;
    Q_EMIT runs_changed();
    request_figure();
    return;
  }
  checkpoint.running = true;
  // The figure that is being made is of an older input, and a long analysis would keep the run waiting.
  worker_.drop("figure");
  figure_pending_ = false;
  const int id = checkpoint.id;
  worker_.submit<Run>(
      Priority::kForward, slot_of("run", id), "Running " + checkpoint.name,
      [model = checkpoint.model, input = input_, last = checkpoint.last](StopToken stop,
                                                                         const Progress& progress) -> Result<Run> {
        models::RunOptions options;
        options.continuable = true;
        options.reuse = last;
        const Progress told = announced(*model, input, options, stop, progress);
        LOCUS_TRY(auto trace, model->run(input, options, std::move(stop), told));
        auto top = trace->top(kPredictions);
        return Run{std::move(trace), std::move(top)};
      },
      [this, id](Result<Run> run_result) {
        Checkpoint* done = find_mutable(id);
        if (done == nullptr) {
          return;
        }
        done->running = false;
        const std::size_t warned = done->info() == nullptr ? 0 : done->info()->warnings.size();
        const bool told = done->error || !run_result;  // the list of checkpoints says why
        done->trace = run_result ? run_result->trace : nullptr;
        done->top = run_result ? run_result->top : std::vector<models::Prediction>{};
        done->last = run_result ? run_result->trace : done->last;
        done->error = run_result ? std::nullopt : std::optional(run_result.error());
        if (!run_result) {
          report(run_result.error());
        }
        if (told || done->info()->warnings.size() != warned) {
          Q_EMIT checkpoints_changed();  // the weights of a large checkpoint were read at this run
        }
        if (!run_result && run_result.error().code == ErrorCode::kTooLarge) {
          Q_EMIT too_large(QString::fromStdString(run_result.error().describe()));
        }
        Q_EMIT runs_changed();
        change(state_, false);
      });
}

}  // namespace locus::workbench
