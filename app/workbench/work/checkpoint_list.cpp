#include "app/workbench/work/checkpoint_list.h"

#include <algorithm>
#include <utility>

#include "app/figures/open_columns.h"
#include "models/api/atlas.h"
#include "models/formats/files_read.h"
#include "models/formats/hub_cache.h"

namespace locus::workbench {

namespace {

// The numbers of what `count` counts, on that side, of the columns without a head of their own; where all have their
// own, of all.
std::vector<std::int64_t> counts_of(const std::vector<const Checkpoint*>& columns, models::Side side,
                                    std::int64_t models::ModelInfo::*count) {
  const bool any_linked = std::ranges::any_of(columns, [](const Checkpoint* column) { return !column->entry.own; });
  std::vector<std::int64_t> counts;
  for (const Checkpoint* column : columns) {
    if (!any_linked || !column->entry.own) {
      const auto other = column->trace->side(side);
      counts.push_back((other ? &other->model() : column->info())->*count);
    }
  }
  return counts.empty() ? std::vector<std::int64_t>{1} : counts;
}

std::optional<views::HeadRef> own_head(const Checkpoint& column, models::Side side) {
  std::optional<views::HeadRef> own = column.entry.own;
  if (own) {
    const auto other = column.trace->side(side);
    const models::ModelInfo& model = other ? other->model() : *column.info();
    own->layer = std::clamp<std::int64_t>(own->layer, 0, model.layers - 1);
    own->head = std::clamp<std::int64_t>(own->head, views::kMean, model.heads - 1);
  }
  return own;
}

}  // namespace

bool are_siblings(const session::CheckpointEntry& a, const session::CheckpointEntry& b) {
  return a.same_model(b) && a.text == b.text;
}

Checkpoint* CheckpointList::find(int id) {
  const auto found = std::find_if(list_.begin(), list_.end(), [&](const Checkpoint& each) { return each.id == id; });
  return found == list_.end() ? nullptr : &*found;
}

const Checkpoint* CheckpointList::find(int id) const {
  return const_cast<CheckpointList*>(this)->find(id);
}

std::string CheckpointList::unique_name(const session::CheckpointEntry& entry, const models::ModelInfo* opened) const {
  const std::filesystem::path& path = entry.path;
  const std::string own = !formats::rank_files(path).empty() ? formats::whole_name(path) + ".safetensors"
                          : models::is_atlas(path)           ? path.stem().string()
                          : path.has_filename()              ? path.filename().string()
                                                             : path.parent_path().filename().string();
  const std::string hub = formats::hub_name(path);  // a snapshot's folder is called as its commit
  return session::unique_name(
      (hub.empty() ? own : hub) + session::label_of(entry, opened), [&](const std::string& name) {
        return std::any_of(list_.begin(), list_.end(), [&](const auto& each) { return each.name == name; });
      });
}

std::shared_ptr<const models::Machine> machine_of(const Checkpoint& checkpoint) {
  return checkpoint.model   ? models::machine_of(*checkpoint.model)
         : checkpoint.trace ? models::machine_of(*checkpoint.trace)
                            : nullptr;
}

bool is_cut_off(const Checkpoint& checkpoint) {
  const auto machine = machine_of(checkpoint);
  return machine && machine->lost();
}

Checkpoint& CheckpointList::add(const session::CheckpointEntry& entry) {
  Checkpoint checkpoint;
  checkpoint.id = next_id_++;
  checkpoint.entry = entry;
  checkpoint.name = unique_name(entry);
  return list_.emplace_back(std::move(checkpoint));
}

void CheckpointList::erase(int id) {
  std::erase_if(list_, [&](const Checkpoint& each) { return each.id == id; });
}

void CheckpointList::rename(Checkpoint& checkpoint, const models::ModelInfo* opened) const {
  checkpoint.name.clear();
  checkpoint.name = unique_name(checkpoint.entry, opened);
}

std::vector<session::CheckpointEntry> CheckpointList::entries() const {
  std::vector<session::CheckpointEntry> entries;
  entries.reserve(list_.size());
  for (const Checkpoint& each : list_) {
    entries.push_back(each.entry);
  }
  return entries;
}

std::vector<session::CheckpointEntry> CheckpointList::shown_entries() const {
  std::vector<session::CheckpointEntry> shown = entries();
  std::erase_if(shown, [](const session::CheckpointEntry& entry) { return !entry.shown; });
  return shown;
}

std::vector<const Checkpoint*> CheckpointList::shown() const {
  std::vector<const Checkpoint*> shown;
  for (const Checkpoint& each : list_) {
    if (each.entry.shown && each.trace) {
      shown.push_back(&each);
    }
  }
  return shown;
}

std::vector<views::Column> CheckpointList::view_columns(models::Side side) const {
  std::vector<views::Column> columns;
  for (const Checkpoint* each : shown()) {
    columns.push_back({each->name, each->model, each->trace, own_head(*each, side)});
  }
  return columns;
}

std::vector<views::Column> CheckpointList::early_columns(models::Side side) const {
  std::vector<views::Column> columns;
  for (const Checkpoint& each : list_) {
    const auto& trace = each.running ? each.early : each.trace;
    if (!each.entry.shown || (each.error && !each.running)) {
      continue;
    }
    if (!trace || each.opening || each.question) {
      return {};
    }
    columns.push_back({each.name, each.model, trace, own_head(each, side)});
  }
  return columns;
}

std::vector<int> CheckpointList::shown_ids() const {
  std::vector<int> ids;
  for (const Checkpoint& each : list_) {
    if (each.entry.shown && (!each.error || each.behind())) {
      ids.push_back(each.id);
    }
  }
  return ids;
}

bool CheckpointList::any_shown(bool (Checkpoint::*is)() const) const {
  return std::ranges::any_of(list_, [&](const Checkpoint& each) { return each.entry.shown && (each.*is)(); });
}

int CheckpointList::largest_layer(models::Side side, bool by_depth) const {
  const std::vector<std::int64_t> counts = counts_of(shown(), side, &models::ModelInfo::layers);
  return static_cast<int>(by_depth ? std::ranges::max(counts) : std::ranges::min(counts)) - 1;
}

int CheckpointList::largest_head(models::Side side) const {
  return static_cast<int>(std::ranges::min(counts_of(shown(), side, &models::ModelInfo::heads))) - 1;
}

std::int64_t CheckpointList::memory_mb() const {
  std::int64_t memory = 0;
  for (const Checkpoint& each : list_) {
    memory += each.trace ? each.trace->memory_mb() : 0;
  }
  return memory;
}

int CheckpointList::edited(int id) const {
  const Checkpoint* of = find(id);
  if (of == nullptr || !of->entry.edits.empty()) {
    return of == nullptr ? 0 : id;
  }
  const auto found = std::find_if(list_.begin(), list_.end(), [&](const Checkpoint& each) {
    return each.entry.shown && !each.entry.edits.empty() && are_siblings(each.entry, of->entry);
  });
  return found == list_.end() ? 0 : found->id;
}

const Checkpoint* CheckpointList::column(std::size_t n) const {
  const auto columns = shown();
  return columns.empty() ? nullptr : columns[std::min(n, columns.size() - 1)];
}

bool CheckpointList::has_side(models::Side side) const {
  return std::ranges::any_of(shown(), [side](const Checkpoint* each) { return each->trace->side(side) != nullptr; });
}

bool CheckpointList::has_sides() const {
  return std::ranges::any_of(models::kSides, [this](models::Side side) { return has_side(side); });
}

bool CheckpointList::has_decoder() const {
  return std::ranges::any_of(
      list_, [](const Checkpoint& each) { return each.model && each.model->info().encoder_layers > 0; });
}

CheckpointList::Reads CheckpointList::reads() const {
  bool ids = false;
  bool picture = false;
  for (const Checkpoint& each : list_) {
    const models::ModelInfo* info = each.entry.shown && each.model ? &each.model->info() : nullptr;
    if (info != nullptr && !info->image && info->tokenizer) {
      return Reads::kText;
    }
    picture = picture || (info != nullptr && info->image);
    ids = ids || (info != nullptr && !info->image);
  }
  return ids ? Reads::kIds : picture ? Reads::kPicture : Reads::kText;
}

bool CheckpointList::takes_pictures() const {
  return std::ranges::any_of(list_,
                             [](const Checkpoint& each) { return each.model && each.model->info().vision_layers > 0; });
}

std::int64_t CheckpointList::placeholder(bool video) const {
  for (const Checkpoint& each : list_) {
    if (each.entry.shown && each.model && each.model->info().vision_layers > 0) {
      const std::int64_t id = video ? each.model->info().video_placeholder : each.model->info().placeholder;
      if (id >= 0) {
        return id;
      }
    }
  }
  return -1;
}

std::optional<Question> CheckpointList::question() const {
  std::optional<Question> all;
  for (const Checkpoint& each : list_) {
    if (!each.entry.shown || !each.question) {
      continue;
    }
    if (!all) {
      all = *each.question;
      continue;
    }
    const Question& other = *each.question;
    all->tokens = std::max(all->tokens, other.tokens);
    all->estimate.time_ms += other.estimate.time_ms;
    all->estimate.memory_mb += other.estimate.memory_mb;
    all->first = std::min(all->first, other.first);
  }
  return all;
}

}  // namespace locus::workbench
