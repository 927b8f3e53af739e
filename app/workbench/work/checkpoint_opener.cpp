#include "app/workbench/work/checkpoint_opener.h"

#include <algorithm>
#include <utility>

#include "app/workbench/widgets/qt_text.h"
#include "app/workbench/work/checkpoint_list.h"

namespace locus::workbench {

namespace {

constexpr const char* kLook = "look";  // the slot of look_at()

// Its slot of the worker.
std::string open_slot(int id) {
  return "open " + std::to_string(id);
}

}  // namespace

CheckpointOpener::CheckpointOpener(Worker& worker, CheckpointList& list, std::string device, session::Opener opener)
    : worker_(worker), list_(list), device_(std::move(device)), opener_(std::move(opener)) {}

models::OpenOptions CheckpointOpener::options() const {
  models::OpenOptions options;
  options.device = device_;
  options.memory_limit_mb = memory_limit_mb_;
  return options;
}

void CheckpointOpener::forget(int id) {
  worker_.drop(open_slot(id));
  lend(id);
}

bool CheckpointOpener::share(Checkpoint& checkpoint) {
  const auto find_sibling = [&](auto is_ready) {
    return std::find_if(list_.all().begin(), list_.all().end(), [&](const Checkpoint& each) {
      return each.entry.same_model(checkpoint.entry) && is_ready(each);
    });
  };
  const auto open =
      find_sibling([](const Checkpoint& each) { return each.model && !each.opening && !is_cut_off(each); });
  if (open != list_.all().end()) {
    worker_.drop(open_slot(checkpoint.id));
    if (!checkpoint.last) {
      checkpoint.last = open->last;  // below the lowest layer that is edited it is the same run
    }
    if (open->model->edits() == checkpoint.entry.edits) {
      opened(checkpoint.id, Result(open->model));
    } else if (machine_of(*open)) {
      edit_there(checkpoint, open->model);
    } else {
      opened(checkpoint.id, open->model->edited(checkpoint.entry.edits));
    }
    return true;
  }
  const auto opening = find_sibling(
      [&](const Checkpoint& each) { return each.opening && each.waits_for_id == 0 && &each != &checkpoint; });
  checkpoint.waits_for_id = opening == list_.all().end() ? 0 : opening->id;
  checkpoint.opening = checkpoint.waits_for_id != 0;
  return checkpoint.opening;
}

// On another machine: the worker waits for the answer.
void CheckpointOpener::edit_there(Checkpoint& checkpoint, const std::shared_ptr<const models::Model>& model) {
  checkpoint.opening = true;
  worker_.submit<std::shared_ptr<const models::Model>>(
      Priority::kForward, open_slot(checkpoint.id), "Opening " + checkpoint.name,
      [model, edits = checkpoint.entry.edits](const StopToken&, const Progress&) { return model->edited(edits); },
      [this, id = checkpoint.id](Result<std::shared_ptr<const models::Model>> edited) {
        opened(id, std::move(edited));
      });
}

void CheckpointOpener::lend(int id) {
  for (Checkpoint& each : list_.all()) {
    if (each.waits_for_id == id) {
      each.waits_for_id = 0;
      each.opening = false;
      load(each);
    }
  }
}

void CheckpointOpener::load(Checkpoint& checkpoint) {
  checkpoint.error.reset();
  if (share(checkpoint)) {
    return;
  }
  if (const std::string machine = models::unallowed_machine_of(checkpoint.entry.path); !machine.empty()) {
    opened(checkpoint.id, bad_input("not connected: a file names this machine, which you have not agreed to", machine));
    Q_EMIT machine_wanted(qt(machine));
    return;
  }
  submit(checkpoint, false);
}

void CheckpointOpener::follow(Checkpoint& checkpoint) {
  submit(checkpoint, true);
}

void CheckpointOpener::submit(Checkpoint& checkpoint, bool follows) {
  checkpoint.opening = true;
  const int id = checkpoint.id;
  worker_.submit<session::Opened>(
      Priority::kForward, open_slot(id), "Opening " + checkpoint.name,
      // A file may be a checkpoint or a trace: it is looked at on the worker.
      [entry = checkpoint.entry, options = options(), opener = opener_](StopToken stop, const Progress& progress) {
        return open_entry(entry, options, opener, std::move(stop), progress);
      },
      [this, id, follows](Result<session::Opened> found) {
        Checkpoint* const checkpoint = list_.find(id);
        if (checkpoint != nullptr && follows && (!found || !found->trace)) {
          checkpoint->opening = false;
          checkpoint->error = found ? bad_input("expected a trace, as it was, found a checkpoint") : found.error();
          Q_EMIT changed();
          return;
        }
        if (checkpoint != nullptr) {
          checkpoint->error.reset();
          checkpoint->model.reset();
          checkpoint->last.reset();  // another model's run is not continued
        }
        if (!found) {
          opened(id, found.error());
        } else if (found->trace) {
          opened_trace(id, std::move(found->trace));
        } else {
          opened(id, std::move(found->model));
        }
      });
}

void CheckpointOpener::look_at(const std::filesystem::path& path, std::function<void(Result<models::ModelInfo>)> done) {
  worker_.submit<models::ModelInfo>(
      Priority::kExact, kLook, "",
      [path, options = options(), opener = opener_](StopToken stop,
                                                    const Progress& progress) -> Result<models::ModelInfo> {
        LOCUS_TRY(const auto model, opener(path, options, std::move(stop), progress));
        return model->info();
      },
      std::move(done));
}

void CheckpointOpener::drop_look() {
  worker_.drop(kLook);
}

void CheckpointOpener::opened(int id, Result<std::shared_ptr<const models::Model>> model) {
  Checkpoint* checkpoint = list_.find(id);
  if (checkpoint == nullptr) {
    return;
  }
  checkpoint->opening = false;
  if (!model) {
    checkpoint->error = model.error();
    Q_EMIT failed(model.error());
  } else {
    checkpoint->model = *std::move(model);
    const models::ModelInfo& info = checkpoint->model->info();
    if (session::label_of(checkpoint->entry, &info) != session::label_of(checkpoint->entry)) {
      list_.rename(*checkpoint, &info);
    }
    Q_EMIT ready(id);
  }
  lend(id);
  Q_EMIT changed();
  Q_EMIT extent_changed();
}

void CheckpointOpener::opened_trace(int id, std::shared_ptr<const models::Trace> trace) {
  Checkpoint* checkpoint = list_.find(id);
  if (checkpoint == nullptr) {
    return;
  }
  checkpoint->opening = false;
  checkpoint->trace = std::move(trace);
  lend(id);
  Q_EMIT changed();
  Q_EMIT runs_changed();
  Q_EMIT extent_changed();
}

}  // namespace locus::workbench
