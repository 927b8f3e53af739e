#include "models/formats/renamed.h"

#include <utility>

#include "models/formats/tensor_table.h"

namespace locus::formats {

Result<Source> renamed(const Source& source, const std::function<std::string(const std::string&)>& name,
                       const std::string& warning) {
  TensorTable table;
  for (const TensorInfo& tensor : source->tensors()) {
    if (std::string own = name(tensor.name); !own.empty()) {
      table.tensors.push_back(tensor);
      table.tensors.back().name = std::move(own);
    }
  }
  table.metadata = source->metadata();
  table.files = source->files();
  table.warnings = source->warnings();
  if (!warning.empty()) {
    table.warnings.push_back(warning);
  }
  table.extra_json = source->extra_json();
  table.gguf = source->gguf();
  table.owners.push_back(source);
  return make_source(std::move(table));
}

}  // namespace locus::formats
