#include "app/workbench/work/columns.h"

#include <algorithm>
#include <set>
#include <utility>

#include "models/formats/files_read.h"
#include "models/remote/address.h"

namespace locus::workbench {

Columns::Columns(Worker& worker, const LiveInput& input, std::string device, session::Opener opener,
                 const RunLimits& limits)
    : opener_(worker, list_, std::move(device), std::move(opener)), runs_(worker, list_, input, limits) {
  connect(&opener_, &CheckpointOpener::ready, this, [this](int id) { runs_.run_if_idle(*list_.find(id)); });
  connect(&opener_, &CheckpointOpener::changed, this, &Columns::changed);
  connect(&opener_, &CheckpointOpener::runs_changed, this, &Columns::runs_changed);
  connect(&opener_, &CheckpointOpener::extent_changed, this, &Columns::extent_changed);
  connect(&follower_, &TraceFollower::written, this, [this](int id) {
    if (Checkpoint* checkpoint = list_.find(id); checkpoint != nullptr && checkpoint->trace) {
      opener_.follow(*checkpoint);
    } else if (checkpoint != nullptr) {
      opener_.load(*checkpoint);  // it has not opened before: tries again
    }
  });
  connect(this, &Columns::changed, this, [this] { follower_.watch(list_); });
  connect(&runs_, &CheckpointRuns::changed, this, &Columns::changed);
  connect(&runs_, &CheckpointRuns::runs_changed, this, &Columns::runs_changed);
  connect(&runs_, &CheckpointRuns::extent_changed, this, &Columns::extent_changed);
}

int Columns::open(const session::CheckpointEntry& entry) {
  std::error_code code;
  session::CheckpointEntry wanted = entry;
  if (const auto canonical = std::filesystem::weakly_canonical(entry.path, code);
      !code && !remote::is_remote(entry.path.native())) {
    wanted.path = canonical;
  }
  if (const auto ranks = formats::rank_files(wanted.path); !ranks.empty()) {
    wanted.path = ranks.front();  // any file of a sharded trace stands for all
  }
  auto& all = list_.all();
  const auto known = std::find_if(all.begin(), all.end(), [&](const Checkpoint& open) {
    return are_siblings(open.entry, wanted) && open.entry.edits == wanted.edits;
  });
  if (known != all.end() && (!known->error || known->model)) {
    const int id = known->id;
    known->opened_by_figure = false;
    set_shown(id, true);
    return id;
  }
  if (known != all.end()) {
    list_.erase(known->id);  // it did not open: tries again
  }
  Checkpoint& checkpoint = list_.add(wanted);
  const int id = checkpoint.id;
  if (wanted.shown) {
    opener_.load(checkpoint);
  }
  Q_EMIT changed();
  return id;
}

void Columns::remove(int id) {
  runs_.drop(id);
  list_.erase(id);
  opener_.forget(id);
  Q_EMIT changed();
  Q_EMIT runs_changed();
  Q_EMIT extent_changed();
}

void Columns::clear() {
  while (!list_.all().empty()) {
    remove(list_.all().back().id);
  }
}

void Columns::set_shown(int id, bool shown) {
  Checkpoint* checkpoint = list_.find(id);
  if (checkpoint == nullptr || checkpoint->entry.shown == shown) {
    return;
  }
  checkpoint->entry.shown = shown;
  checkpoint->opened_by_figure = false;  // stays open from now on
  if (!shown && checkpoint->question) {
    runs_.drop(id);
  }
  if (shown && checkpoint->model && !checkpoint->trace && !checkpoint->running) {
    runs_.run_if_idle(*checkpoint);
  } else if (shown && !checkpoint->model && !checkpoint->trace && !checkpoint->opening) {
    opener_.load(*checkpoint);
  }
  Q_EMIT changed();
  Q_EMIT runs_changed();
  Q_EMIT extent_changed();
}

void Columns::hide_all() {
  for (Checkpoint& each : list_.all()) {
    if (each.entry.shown) {
      hidden_.push_back(each.id);
    }
    each.entry.shown = false;
  }
}

void Columns::become(const session::CheckpointEntry& entry, const std::vector<session::CheckpointEntry>& wanted) {
  const auto is = [](const session::CheckpointEntry& a) {
    return [&a](const session::CheckpointEntry& b) { return are_siblings(a, b) && a.edits == b.edits; };
  };
  if (entry.edits.empty() || std::any_of(list_.all().begin(), list_.all().end(),
                                         [&](const Checkpoint& each) { return is(entry)(each.entry); })) {
    return;
  }
  for (const int id : hidden_) {
    Checkpoint* each = list_.find(id);
    if (each != nullptr && !each->entry.edits.empty() && are_siblings(each->entry, entry) &&
        std::none_of(wanted.begin(), wanted.end(), is(each->entry))) {
      each->entry.shown = true;
      each->entry.edits = entry.edits;
      load_again(*each);
      return;
    }
  }
}

void Columns::arrange(const std::vector<session::CheckpointEntry>& entries) {
  std::set<int> own;  // ids opened by the user
  for (const Checkpoint& each : list_.all()) {
    if (!each.opened_by_figure) {
      own.insert(each.id);
    }
  }
  hide_all();
  std::vector<int> order;
  for (session::CheckpointEntry entry : entries) {
    entry.shown = true;
    become(entry, entries);
    order.push_back(open(entry));
    set_own_head(order.back(), entry.own);
  }
  for (Checkpoint& each : list_.all()) {
    each.opened_by_figure = !own.contains(each.id);
  }
  for (const int id : std::exchange(hidden_, {})) {
    const Checkpoint* each = list_.find(id);
    if (each != nullptr && !each->entry.shown && (!each->entry.edits.empty() || each->opened_by_figure)) {
      remove(id);
    }
  }
  put_in_order(order, own);
  Q_EMIT changed();
  Q_EMIT runs_changed();
}

// Columns of checkpoints that were open exchange places among themselves; those of others come first.
void Columns::put_in_order(const std::vector<int>& order, const std::set<int>& known) {
  std::vector<Checkpoint>& all = list_.all();
  const auto place = [&](const Checkpoint& each) { return std::find(order.begin(), order.end(), each.id); };
  const auto before = [&](const Checkpoint& a, const Checkpoint& b) { return place(a) < place(b); };
  const bool foreign = std::any_of(all.begin(), all.end(), [&](const Checkpoint& each) {
    return place(each) != order.end() && !known.contains(each.id) &&
           std::none_of(all.begin(), all.end(), [&](const Checkpoint& other) {
             return known.contains(other.id) && are_siblings(other.entry, each.entry);
           });
  });
  if (foreign) {
    std::stable_sort(all.begin(), all.end(), before);
    return;
  }
  std::vector<Checkpoint> wanted;
  for (Checkpoint& each : all) {
    if (place(each) != order.end()) {
      wanted.push_back(each);
    }
  }
  std::stable_sort(wanted.begin(), wanted.end(), before);
  auto next = wanted.begin();
  for (Checkpoint& each : all) {
    if (place(each) != order.end()) {
      each = *next++;
    }
  }
}

void Columns::change_overrides(int id, const models::Overrides& overrides) {
  Checkpoint* checkpoint = list_.find(id);
  if (checkpoint != nullptr && !(checkpoint->entry.overrides == overrides)) {
    checkpoint->entry.overrides = overrides;
    checkpoint->opening = true;  // so that no other column shares its present model, which has other overrides
    load_again(*checkpoint);
  }
}

void Columns::change_base(int id, const std::filesystem::path& base) {
  Checkpoint* checkpoint = list_.find(id);
  if (checkpoint != nullptr && checkpoint->entry.base != base) {
    checkpoint->entry.base = base;
    checkpoint->opening = true;  // so that no other column shares its present model, which has another base
    load_again(*checkpoint);
  }
}

void Columns::set_own_head(int id, const std::optional<views::HeadRef>& head) {
  if (Checkpoint* checkpoint = list_.find(id); checkpoint != nullptr && checkpoint->entry.own != head) {
    checkpoint->entry.own = head;
    Q_EMIT changed();
  }
}

void Columns::change_edits(int id, const models::Edits& edits) {
  Checkpoint* checkpoint = list_.find(id);
  if (checkpoint != nullptr && !(checkpoint->entry.edits == edits)) {
    checkpoint->entry.edits = edits;
    load_again(*checkpoint);
  }
}

void Columns::reconnect() {
  for (Checkpoint& each : list_.all()) {
    if (is_cut_off(each)) {
      load_again(each);
    }
  }
}

void Columns::open_allowed() {
  for (Checkpoint& each : list_.all()) {
    const bool closed = each.entry.shown && each.error && !each.model && !each.trace && !each.waiting();
    if (closed && remote::is_remote(each.entry.path.native()) &&
        models::unallowed_machine_of(each.entry.path).empty()) {
      load_again(each);
    }
  }
}

// Opens the checkpoint as its entry is now, and drops its run.
void Columns::load_again(Checkpoint& checkpoint) {
  runs_.drop(checkpoint.id);
  list_.rename(checkpoint);
  opener_.load(checkpoint);
  Q_EMIT changed();
}

}  // namespace locus::workbench
