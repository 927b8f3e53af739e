#include "models/api/weight_kinds.h"

#include <algorithm>
#include <set>

#include "models/api/local.h"
#include "models/engine/loaded_model.h"

namespace locus::models {

namespace {

// "blk.3.attn_q.weight" -> "attn_q".
std::string kind_of(std::string name) {
  constexpr std::string_view kBlocks = "blk.";
  if (name.starts_with(kBlocks)) {
    name.erase(0, name.find('.', kBlocks.size()) + 1);
  }
  const std::size_t ending = name.rfind('.');
  return name.substr(0, ending);
}

}  // namespace

std::vector<WeightKind> local::weight_kinds(const Model& model) {
  std::vector<WeightKind> kinds;
  std::set<const formats::TensorInfo*> counted;
  const LoadedModel* const loaded = loaded_model_of(model);
  if (loaded == nullptr) {
    return kinds;
  }
  for (const transformer::WeightBinding::Part& part : loaded->checkpoint().parts().binding.parts) {
    if (part.source->gguf() == nullptr || part.tensor->name.ends_with(".bias") || !counted.insert(part.tensor).second) {
      continue;
    }
    const std::string kind = kind_of(part.tensor->name);
    auto known = std::find_if(kinds.begin(), kinds.end(), [&](const WeightKind& each) {
      return each.kind == kind && each.format == part.tensor->type_name();
    });
    if (known == kinds.end()) {
      known = kinds.insert(kinds.end(), {kind, std::string(part.tensor->type_name())});
    }
    ++known->tensors;
    known->bytes += static_cast<double>(part.tensor->storage.size());
    known->numbers += static_cast<double>(part.tensor->elements());
  }
  return kinds;
}

}  // namespace locus::models
