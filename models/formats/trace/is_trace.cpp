#include "models/api/local.h"

#include "models/api/local.h"
#include "models/formats/tensor_source.h"

namespace locus::models {

bool local::is_trace(const std::filesystem::path& path) {
  std::error_code ignored;
  if (path.extension() != ".safetensors" || !std::filesystem::is_regular_file(path, ignored)) {
    return false;
  }
  const auto source = formats::open_tensors(path);
  if (!source.ok()) {
    return false;  // opening it as a checkpoint reports the header's error
  }
  const auto format = (*source)->metadata().find("locus.format");
  return format != (*source)->metadata().end() && format->second.starts_with("trace/");
}

}  // namespace locus::models
