#include "models/engine/checkpoint.h"
#include "core/base/guarded.h"
#include "core/base/system_files.h"
#include "models/engine/device.h"
#include "models/engine/vision.h"

namespace locus::models {

Status Checkpoint::load() {
  const std::lock_guard lock(mutex_);
  LOCUS_CHECK(load_once({}, {}));
  parts_.info.warnings.insert(parts_.info.warnings.end(), value_warnings_.begin(), value_warnings_.end());
  value_warnings_.clear();
  return {};
}

Status Checkpoint::load_once(const StopToken& stop, const Progress& progress) const {
  if (loaded_) {
    return {};
  }
  LOCUS_CHECK(check_weights());
  LOCUS_CHECK(guarded([&]() -> Status {
    value_warnings_ = transformer::load(parts_.binding, transformer::Storage::kBySize, stop, progress);
    if (stop.stop_requested()) {
      return cancelled();
    }
    parts_.transformer->to(parts_.device);
    if (parts_.encoder) {
      parts_.encoder->to(parts_.device);
    }
    if (parts_.vision) {
      parts_.vision->to(parts_.device);
    }
    if (parts_.options.overrides.fast) {
      parts_.transformer->use_fast_products();
    }
    return {};
  }));
  loaded_ = true;
  return {};
}

Result<const transformer::Transformer*> Checkpoint::ready(const StopToken& stop, const Progress& progress) const {
  if (parts_.unexpected_tensors) {
    return *parts_.unexpected_tensors;
  }
  const std::lock_guard lock(mutex_);
  LOCUS_CHECK(load_once(stop, progress));
  return static_cast<const transformer::Transformer*>(parts_.transformer.get());
}

double Checkpoint::weight_bytes_there() const {
  return parts_.device.is_cpu() ? transformer::weight_bytes(parts_.binding).all()
                                : transformer::expanded_bytes(parts_.binding);
}

bool Checkpoint::has_weights() const {
  const std::lock_guard lock(mutex_);
  return loaded_;
}

Status Checkpoint::check_weights() const {
  const auto check = [this](double needed, double available, const std::string& where) -> Status {
    if (available <= 0 || needed <= available) {
      return {};
    }
    return too_large(
        "the weights need " + memory_text(needed / 1e6) + where + ", " + memory_text(available / 1e6) + " are there",
        parts_.info.files.empty() ? parts_.info.name : parts_.info.files.front());
  };
  LOCUS_CHECK(check(transformer::weight_bytes(parts_.binding).converted, available_bytes(), " in memory"));
  return parts_.device.is_cpu() ? Status()
                                : check(weight_bytes_there(), free_bytes(parts_.device), " on " + parts_.device.str());
}

}  // namespace locus::models
