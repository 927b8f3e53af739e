#include "app/views/field_cache.h"

namespace locus::views {

namespace {

std::size_t bytes_of(const Field& field) {
  return field.values.size() * sizeof(float);
}

}  // namespace

std::shared_ptr<const Field> FieldCache::find(const std::shared_ptr<const models::Trace>& trace,
                                              const std::string& key) {
  const std::lock_guard lock(mutex_);
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (entry->key == key && entry->trace.lock() == trace) {
      entries_.splice(entries_.begin(), entries_, entry);
      return entries_.front().field;
    }
  }
  return nullptr;
}

Result<std::shared_ptr<const Field>> FieldCache::get(const std::shared_ptr<const models::Trace>& trace,
                                                     const std::string& key,
                                                     const std::function<Result<Field>()>& make) {
  if (auto found = find(trace, key)) {
    return found;
  }
  LOCUS_TRY(Field made, make());
  auto field = std::make_shared<const Field>(std::move(made));
  const std::lock_guard lock(mutex_);
  entries_.push_front({trace, key, field});
  bytes_ += bytes_of(*field);
  trim();
  return field;
}

void FieldCache::trim() {
  for (auto entry = std::next(entries_.begin()); entry != entries_.end();) {
    if (entry->trace.expired()) {
      bytes_ -= bytes_of(*entry->field);
      entry = entries_.erase(entry);
    } else {
      ++entry;
    }
  }
  while (bytes_ > limit_bytes_ && entries_.size() > 1) {
    bytes_ -= bytes_of(*entries_.back().field);
    entries_.pop_back();
  }
}

std::size_t FieldCache::size_bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace locus::views
