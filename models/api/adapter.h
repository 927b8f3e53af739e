// Adapters: folders with changes to a base model, which adapter_config.json names.
#pragma once

#include "core/base/result.h"

namespace locus::models {

inline constexpr const char* kAdapterConfig = "adapter_config.json";
// The field that names the base.
inline constexpr const char* kAdapterBase = "base_model_name_or_path";

// Whether an adapter did not open because its base was not found.
inline bool lacks_base(const Error& error) {
  return error.context.ends_with(kAdapterBase);
}

}  // namespace locus::models
