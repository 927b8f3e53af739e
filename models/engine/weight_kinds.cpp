#include "models/api/weight_kinds.h"

#include <algorithm>
#include <set>

#include "models/api/local.h"
#include "models/engine/loaded_model.h"

namespace locus::models {

namespace {

// "blk.3.attn_q.weight" -> "attn_q", "model.layers.3.mlp.experts.7.up_proj.weight" -> "mlp.experts.up_proj".
std::string kind_of(const std::string& tensor) {
  std::string name = transformer::named_by_pattern(tensor);
  for (const std::string_view layers : {"blk.N.", "layers.N.", "h.N."}) {
    const std::size_t at = name.find(layers);
    if (at == 0 || (at != std::string::npos && name[at - 1] == '.')) {
      name.erase(0, at + layers.size());
    }
  }
  for (std::size_t at = name.find(".J."); at != std::string::npos; at = name.find(".J.")) {
    name.erase(at, 2);
  }
  constexpr std::string_view kEnding = ".weight";
  return name.substr(0, name.size() - (name.ends_with(kEnding) ? kEnding.size() : 0));
}

}  // namespace

std::vector<WeightKind> local::weight_kinds(const Model& model) {
  std::vector<WeightKind> kinds;
  std::set<const formats::TensorInfo*> counted;
  const LoadedModel* const loaded = loaded_model_of(model);
  if (loaded == nullptr) {
    return kinds;
  }
  const auto& parts = loaded->checkpoint().parts().binding.parts;
  const bool quantised = std::any_of(parts.begin(), parts.end(), [](const transformer::WeightBinding::Part& part) {
    return part.tensor->dtype == formats::DType::kBlocks;
  });
  for (const transformer::WeightBinding::Part& part : parts) {
    if ((part.source->gguf() == nullptr && !quantised) || part.tensor->name.ends_with(".bias") ||
        !counted.insert(part.tensor).second) {
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
    const formats::TensorInfo& tensor = *part.tensor;
    known->bytes += tensor.assembled == nullptr
                        ? static_cast<double>(tensor.storage.size())
                        : static_cast<double>(tensor.elements() / tensor.blocks->elements * tensor.blocks->bytes);
    known->numbers += static_cast<double>(part.tensor->elements());
  }
  return kinds;
}

}  // namespace locus::models
