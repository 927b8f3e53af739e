#include "app/views/shared/field_cache.h"

#include <algorithm>

namespace locus::views {

namespace {

constexpr std::size_t kMaxEntries = 1024;  // small results weigh little, but there may be many

}  // namespace

std::list<FieldCache::Entry>::iterator FieldCache::entry_of(const Traces& traces, const MeasureKey& key,
                                                            std::type_index type) {
  return std::ranges::find_if(entries_, [&](const Entry& entry) {
    return entry.type == type && entry.key == key &&
           std::ranges::equal(entry.traces, traces,
                              [](const auto& kept, const auto& wanted) { return kept.lock() == wanted; });
  });
}

std::shared_ptr<const void> FieldCache::find(const Traces& traces, const MeasureKey& key, std::type_index type) {
  const std::lock_guard lock(mutex_);
  const auto entry = entry_of(traces, key, type);
  if (entry == entries_.end()) {
    return nullptr;
  }
  entries_.splice(entries_.begin(), entries_, entry);
  return entries_.front().result;
}

void FieldCache::keep(const Traces& traces, const MeasureKey& key, std::type_index type,
                      std::shared_ptr<const void> result, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (const auto before = entry_of(traces, key, type); before != entries_.end()) {
    bytes_ -= before->bytes;
    entries_.erase(before);
  }
  entries_.push_front({{traces.begin(), traces.end()}, key, type, std::move(result), bytes});
  bytes_ += bytes;
  trim();
}

void FieldCache::trim() {
  for (auto entry = std::next(entries_.begin()); entry != entries_.end();) {
    const bool expired = std::ranges::any_of(entry->traces, [](const auto& trace) { return trace.expired(); });
    if (expired) {
      bytes_ -= entry->bytes;
      entry = entries_.erase(entry);
    } else {
      ++entry;
    }
  }
  while ((bytes_ > limit_bytes_ || entries_.size() > kMaxEntries) && entries_.size() > 1) {
    bytes_ -= entries_.back().bytes;
    entries_.pop_back();
  }
}

std::size_t FieldCache::size_bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace locus::views
