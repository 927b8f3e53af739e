// FieldCache: the fields of recent figures, so that a change of colours, or going back to a head, computes and uploads
// nothing: the same field comes back as the same pointer, by which the renderer knows its texture.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "core/base/field.h"
#include "core/base/result.h"
#include "models/model.h"

namespace locus::views {

// Safe from several threads.
class FieldCache {
 public:
  explicit FieldCache(std::size_t limit_bytes) : limit_bytes_(limit_bytes) {}

  // The field made from `trace` under `key`, which names every other input; made by `make` when it is not there.
  // Errors are not kept.
  Result<std::shared_ptr<const Field>> get(const std::shared_ptr<const models::Trace>& trace, const std::string& key,
                                           const std::function<Result<Field>()>& make);
  // The field if it is there; null otherwise.
  std::shared_ptr<const Field> find(const std::shared_ptr<const models::Trace>& trace, const std::string& key);
  std::size_t size_bytes() const;

 private:
  struct Entry {
    std::weak_ptr<const models::Trace> trace;  // does not keep a run alive; an expired one never matches
    std::string key;
    std::shared_ptr<const Field> field;
  };
  void trim();  // with mutex_ held

  const std::size_t limit_bytes_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  // newest first
  std::size_t bytes_ = 0;
};

}  // namespace locus::views
