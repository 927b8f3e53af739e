// FieldCache: what recent figures were computed from, so that a change of colours, or going back to a head, computes
// and uploads nothing: the same field comes back as the same pointer, by which the renderer knows its texture.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <type_traits>
#include <typeindex>
#include <utility>
#include <vector>

#include "app/views/shared/measure_key.h"
#include "core/base/field.h"
#include "core/base/result.h"
#include "models/api/model.h"

namespace locus::views {

using Traces = std::vector<std::shared_ptr<const models::Trace>>;
using FieldPointer = std::shared_ptr<const Field>;
using Fields = std::vector<FieldPointer>;

// The size of a result in the cache. A type that owns memory has a function of its own, in its own namespace; without
// one it cannot be kept.
inline std::size_t cached_bytes(const Field& field) {
  return sizeof field + field.values.size() * sizeof(float);
}
inline std::size_t cached_bytes(const std::shared_ptr<const models::Trace>& trace) {
  return static_cast<std::size_t>(trace->memory_mb()) << 20;
}
template <class T>
requires std::is_trivially_copyable_v<T> std::size_t cached_bytes(const T& /*result*/) {
  return sizeof(T);
}
template <class T>
std::size_t cached_bytes(const std::vector<T>& list) {
  std::size_t bytes = sizeof list;
  for (const T& each : list) {
    bytes += cached_bytes(each);
  }
  return bytes;
}

// Safe from several threads.
class FieldCache {
 public:
  explicit FieldCache(std::size_t limit_bytes) : limit_bytes_(limit_bytes) {}

  // The result made from `traces` under `key`; made by `make` when it is not there.
  // Errors are not kept.
  template <class T>
  Result<std::shared_ptr<const T>> get(const Traces& traces, const MeasureKey& key,
                                       const std::function<Result<T>()>& make);
  // The same, or null when it is not there: for threads that must not compute.
  template <class T>
  std::shared_ptr<const T> peek(const Traces& traces, const MeasureKey& key);
  // Keeps a result, in place of the one that was there.
  template <class T>
  std::shared_ptr<const T> put(const Traces& traces, const MeasureKey& key, T made);
  std::size_t size_bytes() const;

 private:
  struct Entry {
    std::vector<std::weak_ptr<const models::Trace>> traces;  // do not keep a run alive; an expired one never matches
    MeasureKey key;
    std::type_index type;
    std::shared_ptr<const void> result;
    std::size_t bytes = 0;
  };
  std::list<Entry>::iterator entry_of(const Traces& traces, const MeasureKey& key, std::type_index type);
  std::shared_ptr<const void> find(const Traces& traces, const MeasureKey& key, std::type_index type);
  void keep(const Traces& traces, const MeasureKey& key, std::type_index type, std::shared_ptr<const void> result,
            std::size_t bytes);
  void trim();  // this and entry_of() with mutex_ held

  const std::size_t limit_bytes_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  // newest first
  std::size_t bytes_ = 0;
};

template <class T>
std::shared_ptr<const T> FieldCache::peek(const Traces& traces, const MeasureKey& key) {
  return std::static_pointer_cast<const T>(find(traces, key, typeid(T)));
}

template <class T>
Result<std::shared_ptr<const T>> FieldCache::get(const Traces& traces, const MeasureKey& key,
                                                 const std::function<Result<T>()>& make) {
  if (auto found = peek<T>(traces, key)) {
    return found;
  }
  LOCUS_TRY(T made, make());
  return put(traces, key, std::move(made));
}

template <class T>
std::shared_ptr<const T> FieldCache::put(const Traces& traces, const MeasureKey& key, T made) {
  auto result = std::make_shared<const T>(std::move(made));
  keep(traces, key, typeid(T), result, cached_bytes(*result));
  return result;
}

}  // namespace locus::views
