#include "models/families/engine/head.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "core/base/shown.h"
#include "models/families/engine/family.h"

namespace locus::families {

namespace {

const formats::TensorInfo* tensor_of(const CheckpointFiles& checkpoint, const Plan& plan,
                                     const std::string& parameter) {
  for (const Binding& binding : plan.bindings(parameter)) {
    if (const formats::TensorInfo* tensor = checkpoint.find(binding.tensor); tensor != nullptr) {
      return tensor;
    }
  }
  return nullptr;
}

// The bytes of a tensor whose elements lie one after another.
std::span<const std::byte> bytes_of(const formats::TensorInfo& tensor) {
  const std::size_t size = formats::element_size(tensor.dtype);
  return tensor.blocks != nullptr ? tensor.storage
                                  : tensor.storage.subspan(static_cast<std::size_t>(tensor.offset) * size,
                                                           static_cast<std::size_t>(tensor.elements()) * size);
}

bool same_numbers(const formats::TensorInfo& left, const formats::TensorInfo& right) {
  if (left.dtype != right.dtype || left.blocks != right.blocks || left.shape != right.shape || !left.contiguous() ||
      !right.contiguous()) {
    return false;
  }
  const std::span<const std::byte> ours = bytes_of(left);
  const std::span<const std::byte> theirs = bytes_of(right);
  return ours.size() == theirs.size() && std::memcmp(ours.data(), theirs.data(), ours.size()) == 0;
}

bool names_class_with_head(const Config& config, bool image) {
  const Result<std::vector<std::string>> classes = config.texts("architectures");
  constexpr std::array<std::string_view, 5> kText{"ForCausalLM", "ForMaskedLM", "LMHeadModel", "ForPreTraining",
                                                  "ForConditionalGeneration"};
  return classes.ok() && std::any_of(classes->begin(), classes->end(), [&](const std::string& name) {
           return image ? name.ends_with("ForImageClassification")
                        : std::any_of(kText.begin(), kText.end(),
                                      [&](std::string_view ending) { return name.ends_with(ending); });
         });
}

}  // namespace

void untie_stored_head(const CheckpointFiles& checkpoint, Plan& plan) {
  if (!plan.spec.tied_head || !plan.spec.head) {
    return;
  }
  const formats::TensorInfo* const head = tensor_of(checkpoint, plan, "head.weight");
  const formats::TensorInfo* const embedding = tensor_of(checkpoint, plan, "embedding.weight");
  if (head == nullptr || embedding == nullptr || head == embedding || same_numbers(*head, *embedding)) {
    return;
  }
  plan.spec.tied_head = false;
  plan.warnings.push_back(head->file.string() + ": tensor " + head->name + " is used as the head: it differs from " +
                          embedding->name + ", though the configuration ties them");
}

void leave_out_absent_head(const CheckpointFiles& checkpoint, Plan& plan) {
  const transformer::Spec& spec = plan.spec;
  const bool own = !spec.tied_head || spec.head_transform || spec.head_bias;
  if (!spec.head || !own || names_class_with_head(checkpoint.config, spec.is_image())) {
    return;
  }
  constexpr std::array<const char*, 5> kParts{"head.weight", "head.bias", "head_transform.weight", "head_norm.weight",
                                              "distillation_head.weight"};
  plan.spec.head = std::any_of(kParts.begin(), kParts.end(),
                               [&](const char* part) { return tensor_of(checkpoint, plan, part) != nullptr; });
}

}  // namespace locus::families
