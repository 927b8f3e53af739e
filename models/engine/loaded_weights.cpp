// The weights of a loaded model: when they are read, and whether they are there.
#include "core/base/guarded.h"
#include "models/engine/loaded_model.h"
#include "models/engine/vision.h"

namespace locus::models {

Status LoadedModel::load() {
  const std::lock_guard lock(mutex_);
  LOCUS_CHECK(load_once({}, {}));
  parts_.info.warnings.insert(parts_.info.warnings.end(), value_warnings_.begin(), value_warnings_.end());
  value_warnings_.clear();
  return {};
}

Status LoadedModel::read_weights(const StopToken& stop, const Progress& progress) const {
  LOCUS_TRY(const transformer::Transformer* model, ready(stop, progress));
  (void)model;
  return {};
}

Status LoadedModel::load_once(const StopToken& stop, const Progress& progress) const {
  if (loaded_) {
    return {};
  }
  LOCUS_CHECK(check_weights());
  LOCUS_CHECK(guarded([&]() -> Status {
    value_warnings_ = transformer::load(parts_.binding, transformer::Storage::kBySize, stop, progress);
    if (stop.stop_requested()) {
      return cancelled();
    }
    parts_.transformer->to(at::Device(parts_.options.device));
    if (parts_.encoder) {
      parts_.encoder->to(at::Device(parts_.options.device));
    }
    if (parts_.vision) {
      parts_.vision->to(at::Device(parts_.options.device));
    }
    return {};
  }));
  loaded_ = true;
  return {};
}

Result<const transformer::Transformer*> LoadedModel::ready(const StopToken& stop, const Progress& progress) const {
  if (parts_.unexpected_tensors) {
    return *parts_.unexpected_tensors;
  }
  const std::lock_guard lock(mutex_);
  LOCUS_CHECK(load_once(stop, progress));
  return static_cast<const transformer::Transformer*>(parts_.transformer.get());
}

bool LoadedModel::has_weights() const {
  const std::lock_guard lock(mutex_);
  return loaded_;
}

}  // namespace locus::models
