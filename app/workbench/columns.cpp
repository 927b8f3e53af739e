#include "app/workbench/columns.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "models/checkpoint/hub_cache.h"
#include "models/timed_estimate.h"

namespace locus::workbench {

namespace {

constexpr std::int64_t kPredictions = 8;
constexpr std::int64_t kMost = std::numeric_limits<int>::max();
constexpr const char* kLook = "look";  // its slot of the worker

std::string slot_of(const char* what, int id) {
  return std::string(what) + " " + std::to_string(id);
}

// Alike but for their edits.
bool are_siblings(const session::CheckpointEntry& a, const session::CheckpointEntry& b) {
  return a.path == b.path && a.overrides == b.overrides && a.text == b.text;
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

Columns::Columns(Worker& worker, const LiveInput& input, std::string device, session::Opener opener)
    : worker_(worker), input_(input), device_(std::move(device)), opener_(std::move(opener)) {}

// ---- which there are

Checkpoint* Columns::find_mutable(int id) {
  const auto found = std::find_if(list_.begin(), list_.end(), [&](const Checkpoint& each) { return each.id == id; });
  return found == list_.end() ? nullptr : &*found;
}

const Checkpoint* Columns::find(int id) const {
  return const_cast<Columns*>(this)->find_mutable(id);
}

std::string Columns::unique_name(const session::CheckpointEntry& entry) const {
  const std::filesystem::path& path = entry.path;
  const std::string own = path.has_filename() ? path.filename().string() : path.parent_path().filename().string();
  const std::string hub = checkpoint::hub_name(path);  // a snapshot's folder is called as its commit
  return session::unique_name((hub.empty() ? own : hub) + session::label_of(entry), [&](const std::string& name) {
    return std::any_of(list_.begin(), list_.end(), [&](const auto& each) { return each.name == name; });
  });
}

int Columns::open(const session::CheckpointEntry& entry) {
  std::error_code code;
  session::CheckpointEntry wanted = entry;
  if (const auto canonical = std::filesystem::weakly_canonical(entry.path, code); !code) {
    wanted.path = canonical;
  }
  const auto known = std::find_if(list_.begin(), list_.end(), [&](const Checkpoint& open) {
    return are_siblings(open.entry, wanted) && open.entry.edits == wanted.edits;
  });
  if (known != list_.end() && (!known->error || known->model)) {
    const int id = known->id;
    known->of_figure = false;
    set_shown(id, true);
    return id;
  }
  if (known != list_.end()) {
    list_.erase(known);  // it did not open: perhaps it does now
  }
  Checkpoint checkpoint;
  checkpoint.id = next_id_++;
  checkpoint.entry = wanted;
  checkpoint.name = unique_name(wanted);
  const int id = checkpoint.id;
  list_.push_back(checkpoint);
  if (wanted.shown) {
    load(list_.back());
  }
  Q_EMIT changed();
  return id;
}

void Columns::remove(int id) {
  worker_.drop(slot_of("open", id));
  worker_.drop(slot_of("run", id));
  std::erase_if(list_, [&](const Checkpoint& each) { return each.id == id; });
  lend(id);
  Q_EMIT changed();
  Q_EMIT runs_changed();
  Q_EMIT updated();
}

void Columns::clear() {
  while (!list_.empty()) {
    remove(list_.back().id);
  }
}

void Columns::set_shown(int id, bool shown) {
  Checkpoint* checkpoint = find_mutable(id);
  if (checkpoint == nullptr || checkpoint->entry.shown == shown) {
    return;
  }
  checkpoint->entry.shown = shown;
  checkpoint->of_figure = false;  // somebody cares for it
  if (shown && checkpoint->model && !checkpoint->trace && !checkpoint->running) {
    if (!input_.waiting()) {
      run(*checkpoint);
    }
  } else if (shown && !checkpoint->model && !checkpoint->trace && !checkpoint->opening) {
    load(*checkpoint);
  }
  Q_EMIT changed();
  Q_EMIT runs_changed();
  Q_EMIT updated();
}

void Columns::hide_all() {
  for (Checkpoint& each : list_) {
    if (each.entry.shown) {
      hidden_.push_back(each.id);
    }
    each.entry.shown = false;
  }
}

int Columns::edited(int id) const {
  const Checkpoint* of = find(id);
  if (of == nullptr || !of->entry.edits.empty()) {
    return of == nullptr ? 0 : id;
  }
  const auto found = std::find_if(list_.begin(), list_.end(), [&](const Checkpoint& each) {
    return each.entry.shown && !each.entry.edits.empty() && are_siblings(each.entry, of->entry);
  });
  return found == list_.end() ? 0 : found->id;
}

void Columns::become(const session::CheckpointEntry& entry, const std::vector<session::CheckpointEntry>& wanted) {
  const auto is = [](const session::CheckpointEntry& a) {
    return [&a](const session::CheckpointEntry& b) { return are_siblings(a, b) && a.edits == b.edits; };
  };
  if (entry.edits.empty() ||
      std::any_of(list_.begin(), list_.end(), [&](const Checkpoint& each) { return is(entry)(each.entry); })) {
    return;
  }
  for (const int id : hidden_) {
    const Checkpoint* each = find(id);
    if (each != nullptr && !each->entry.edits.empty() && are_siblings(each->entry, entry) &&
        std::none_of(wanted.begin(), wanted.end(), is(each->entry))) {
      Checkpoint& now = *find_mutable(id);
      now.entry.shown = true;
      now.entry.edits = entry.edits;
      load_again(now);
      return;
    }
  }
}

void Columns::arrange(const std::vector<session::CheckpointEntry>& entries) {
  std::set<int> own;  // the user's
  for (const Checkpoint& each : list_) {
    if (!each.of_figure) {
      own.insert(each.id);
    }
  }
  hide_all();
  std::vector<int> order;
  for (session::CheckpointEntry entry : entries) {
    entry.shown = true;
    become(entry, entries);
    order.push_back(open(entry));
  }
  for (Checkpoint& each : list_) {
    each.of_figure = !own.contains(each.id);
  }
  for (const int id : std::exchange(hidden_, {})) {
    const Checkpoint* each = find(id);
    if (each != nullptr && !each->entry.shown && (!each->entry.edits.empty() || each->of_figure)) {
      remove(id);
    }
  }
  const auto place = [&](const Checkpoint& each) { return std::find(order.begin(), order.end(), each.id); };
  std::stable_sort(list_.begin(), list_.end(),
                   [&](const Checkpoint& a, const Checkpoint& b) { return place(a) < place(b); });
  Q_EMIT changed();
  Q_EMIT runs_changed();
}

std::vector<session::CheckpointEntry> Columns::entries() const {
  std::vector<session::CheckpointEntry> entries;
  for (const Checkpoint& each : list_) {
    entries.push_back(each.entry);
  }
  return entries;
}

std::vector<session::CheckpointEntry> Columns::shown_entries() const {
  std::vector<session::CheckpointEntry> shown = entries();
  std::erase_if(shown, [](const session::CheckpointEntry& entry) { return !entry.shown; });
  return shown;
}

std::vector<const Checkpoint*> Columns::shown() const {
  std::vector<const Checkpoint*> shown;
  for (const Checkpoint& each : list_) {
    if (each.entry.shown && each.trace) {
      shown.push_back(&each);
    }
  }
  return shown;
}

std::vector<views::Column> Columns::view_columns() const {
  std::vector<views::Column> columns;
  for (const Checkpoint* each : shown()) {
    columns.push_back({each->name, each->model, each->trace});
  }
  return columns;
}

std::vector<int> Columns::shown_ids() const {
  std::vector<int> ids;
  for (const Checkpoint& each : list_) {
    if (each.entry.shown && !each.error) {
      ids.push_back(each.id);
    }
  }
  return ids;
}

bool Columns::running() const {
  return std::any_of(list_.begin(), list_.end(),
                     [](const Checkpoint& each) { return each.entry.shown && each.running; });
}

bool Columns::waiting() const {
  return std::any_of(list_.begin(), list_.end(),
                     [](const Checkpoint& each) { return each.entry.shown && (each.opening || each.running); });
}

namespace {

// The last index that all columns have, on that side, of what `count` counts.
int last_of(const std::vector<const Checkpoint*>& columns, models::Side side, std::int64_t models::ModelInfo::*count) {
  std::int64_t least = columns.empty() ? 1 : kMost;
  for (const Checkpoint* column : columns) {
    const auto other = column->trace->side(side);
    least = std::min(least, (other ? &other->model() : column->info())->*count);
  }
  return static_cast<int>(least) - 1;
}

}  // namespace

int Columns::largest_layer(models::Side side) const {
  return last_of(shown(), side, &models::ModelInfo::layers);
}

int Columns::largest_head(models::Side side) const {
  return last_of(shown(), side, &models::ModelInfo::heads);
}

std::int64_t Columns::memory_mb() const {
  std::int64_t memory = 0;
  for (const Checkpoint& each : list_) {
    memory += each.trace ? each.trace->memory_mb() : 0;
  }
  return memory;
}

// ---- opening

bool Columns::share(Checkpoint& checkpoint) {
  const auto find_sibling = [&](auto is_ready) {
    return std::find_if(list_.begin(), list_.end(), [&](const Checkpoint& each) {
      return each.entry.path == checkpoint.entry.path && each.entry.overrides == checkpoint.entry.overrides &&
             is_ready(each);
    });
  };
  const auto open = find_sibling([](const Checkpoint& each) { return each.model && !each.opening; });
  if (open != list_.end()) {
    worker_.drop(slot_of("open", checkpoint.id));
    if (!checkpoint.last) {
      checkpoint.last = open->last;  // below the lowest layer that is edited it is the same run
    }
    opened(checkpoint.id, open->model->edits() == checkpoint.entry.edits ? Result(open->model)
                                                                         : open->model->edited(checkpoint.entry.edits));
    return true;
  }
  const auto opening =
      find_sibling([&](const Checkpoint& each) { return each.opening && each.lender == 0 && &each != &checkpoint; });
  checkpoint.lender = opening == list_.end() ? 0 : opening->id;
  checkpoint.opening = checkpoint.lender != 0;
  return checkpoint.opening;
}

void Columns::lend(int id) {
  for (Checkpoint& each : list_) {
    if (each.lender == id) {
      each.lender = 0;
      each.opening = false;
      load(each);
    }
  }
}

void Columns::load(Checkpoint& checkpoint) {
  checkpoint.error.reset();
  if (share(checkpoint)) {
    return;
  }
  checkpoint.opening = true;
  const int id = checkpoint.id;
  models::OpenOptions options;
  options.device = device_;
  options.memory_limit_mb = memory_limit_mb_;
  worker_.submit<session::Opened>(
      Priority::kForward, slot_of("open", id), "Opening " + checkpoint.name,
      // A file may be a checkpoint or a trace: it is looked at on the worker.
      [entry = checkpoint.entry, options, opener = opener_](StopToken stop, const Progress& progress) {
        return open_entry(entry, options, opener, std::move(stop), progress);
      },
      [this, id](Result<session::Opened> found) {
        if (Checkpoint* checkpoint = find_mutable(id)) {
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

void Columns::change_overrides(int id, const models::Overrides& overrides) {
  Checkpoint* checkpoint = find_mutable(id);
  if (checkpoint != nullptr && !(checkpoint->entry.overrides == overrides)) {
    checkpoint->entry.overrides = overrides;
    checkpoint->opening = true;  // its present model has other overrides: nobody shares it
    load_again(*checkpoint);
  }
}

void Columns::change_edits(int id, const models::Edits& edits) {
  Checkpoint* checkpoint = find_mutable(id);
  if (checkpoint != nullptr && !(checkpoint->entry.edits == edits)) {
    checkpoint->entry.edits = edits;
    load_again(*checkpoint);
  }
}

// Under what its entry says now; what ran before is of no use.
void Columns::load_again(Checkpoint& checkpoint) {
  worker_.drop(slot_of("run", checkpoint.id));
  checkpoint.running = false;
  checkpoint.name.clear();
  checkpoint.name = unique_name(checkpoint.entry);
  load(checkpoint);
  Q_EMIT changed();
}

void Columns::look_at(const std::filesystem::path& path, std::function<void(Result<models::ModelInfo>)> done) {
  models::OpenOptions options;
  options.device = device_;
  options.memory_limit_mb = memory_limit_mb_;
  worker_.submit<models::ModelInfo>(
      Priority::kExact, kLook, "",
      [path, options, opener = opener_](StopToken stop, const Progress& progress) -> Result<models::ModelInfo> {
        LOCUS_TRY(const auto model, opener(path, options, std::move(stop), progress));
        return model->info();
      },
      std::move(done));
}

void Columns::drop_look() {
  worker_.drop(kLook);
}

void Columns::opened(int id, Result<std::shared_ptr<const models::Model>> model) {
  Checkpoint* checkpoint = find_mutable(id);
  if (checkpoint == nullptr) {
    return;
  }
  checkpoint->opening = false;
  if (!model) {
    checkpoint->error = model.error();
    Q_EMIT failed(model.error());
  } else {
    checkpoint->model = *std::move(model);
    if (!input_.waiting()) {  // else it runs with the text that is being typed
      run(*checkpoint);
    }
  }
  lend(id);
  Q_EMIT changed();
  Q_EMIT updated();
}

void Columns::opened_trace(int id, std::shared_ptr<const models::Trace> trace) {
  Checkpoint* checkpoint = find_mutable(id);
  if (checkpoint == nullptr) {
    return;
  }
  checkpoint->opening = false;
  checkpoint->trace = std::move(trace);
  lend(id);
  Q_EMIT changed();
  Q_EMIT runs_changed();
  Q_EMIT updated();
}

// ---- running

void Columns::forget_run(Checkpoint& checkpoint) {
  checkpoint.trace.reset();
  checkpoint.last.reset();
  checkpoint.top.clear();
}

void Columns::run_all() {
  for (Checkpoint& checkpoint : list_) {
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

void Columns::run_cancelled() {
  for (Checkpoint& checkpoint : list_) {
    if (checkpoint.error && checkpoint.error->code == ErrorCode::kCancelled && !checkpoint.running) {
      run(checkpoint);
    }
  }
}

void Columns::keep_run(int id, std::shared_ptr<const models::Trace> trace) {
  if (Checkpoint* checkpoint = find_mutable(id); checkpoint != nullptr) {
    checkpoint->last = std::move(trace);
  }
}

void Columns::run(Checkpoint& checkpoint) {
  if (!checkpoint.entry.shown || !checkpoint.model) {
    return;
  }
  if (input_.empty() && !checkpoint.entry.text) {
    worker_.drop(slot_of("run", checkpoint.id));
    forget_run(checkpoint);
    checkpoint.running = false;
    Q_EMIT runs_changed();
    Q_EMIT updated();
    return;
  }
  checkpoint.running = true;
  Q_EMIT started();
  worker_.submit<Run>(
      Priority::kForward, slot_of("run", checkpoint.id), "Running " + checkpoint.name,
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

void Columns::ran(int id, Result<Run> made) {
  Checkpoint* done = find_mutable(id);
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
