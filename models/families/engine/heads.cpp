#include "models/families/engine/heads.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "core/base/lists.h"
#include "core/base/shown.h"

namespace locus::families {

namespace {

// Components of tensor names that belong to the heads of other tasks, behind at most two components that name the
// model: "classifier.weight", "bert.pooler.dense.bias", "cls.seq_relationship.weight".
constexpr std::array<std::string_view, 16> kTaskHeads{
    "pooler",      "classifier",       "qa_outputs",           "pre_classifier",
    "score",       "v_head",           "value_head",           "summary",
    "reward_head", "sequence_summary", "multiple_choice_head", "seq_relationship",
    "regression",  "mlp_score",        "answer_head",          "classification_head"};
// Those that stand beside an output head as often as in its place.
constexpr std::array<std::string_view, 4> kBesideHead{"pooler", "v_head", "value_head", "seq_relationship"};

constexpr std::array<std::string_view, 8> kLanguageClasses{
    "ForCausalLM",      "ForMaskedLM", "LMHeadModel", "ForPreTraining", "ForConditionalGeneration",
    "DoubleHeadsModel", "WithLMHead",  "MTModel"};
constexpr std::array<std::string_view, 5> kTaskClasses{"ForSequenceClassification", "ForTokenClassification",
                                                       "ForQuestionAnswering", "ForMultipleChoice",
                                                       "ForNextSentencePrediction"};

const formats::TensorInfo* tensor_of(const CheckpointFiles& checkpoint, const Plan& plan,
                                     const std::string& parameter) {
  for (const Binding& binding : plan.bindings(parameter)) {
    if (const formats::TensorInfo* tensor = checkpoint.find(binding.tensor); tensor != nullptr) {
      return tensor;
    }
  }
  return nullptr;
}

// The bytes of a contiguous tensor.
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

std::vector<std::string> classes_of(const Config& config) {
  const Result<std::vector<std::string>> classes = config.texts("architectures");
  return classes.ok() ? *classes : std::vector<std::string>();
}

bool contains_any(const std::string& name, const auto& words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return name.find(word) != std::string::npos; });
}

bool is_class_with_head(const std::string& name, bool image) {
  return image ? name.ends_with("ForImageClassification") : contains_any(name, kLanguageClasses);
}

bool names_class_with_head(const Config& config, bool image) {
  const std::vector<std::string> classes = classes_of(config);
  return std::any_of(classes.begin(), classes.end(),
                     [image](const std::string& name) { return is_class_with_head(name, image); });
}

// Whether `architectures` names classes, and all of them without an output head.
bool names_no_class_with_head(const Config& config) {
  const std::vector<std::string> classes = classes_of(config);
  return !classes.empty() && std::all_of(classes.begin(), classes.end(), [](const std::string& name) {
    return !is_class_with_head(name, false) && (name.ends_with("Model") || contains_any(name, kTaskClasses));
  });
}

// Unties a head whose stored tensor differs from the embedding, whatever tie_word_embeddings is, as transformers 5
// does; a warning names it.
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

bool is_number(std::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789") == word.npos;
}

// The head of another task that a tensor belongs to; empty: none.
std::string_view task_head_of(std::string_view tensor) {
  constexpr std::size_t kBefore = 2;  // components in front
  const std::vector<std::string_view> words = split(tensor, ".");
  for (std::size_t n = 0; n + 1 < words.size() && n <= kBefore && !is_number(words[n]); ++n) {
    if (is_task_head(words[n])) {
      return words[n];
    }
  }
  return {};
}

void list_task_head(std::string_view head, const std::string& tensor, Plan& plan) {
  plan.skipped.push_back(tensor + "*");
  if (std::find(plan.task_heads.begin(), plan.task_heads.end(), head) == plan.task_heads.end()) {
    plan.task_heads.emplace_back(head);
  }
}

void list_task_heads(const CheckpointFiles& checkpoint, Plan& plan) {
  for (const formats::TensorInfo& tensor : checkpoint.tensors->tensors()) {
    if (const std::string_view head = task_head_of(tensor.name); !head.empty()) {
      list_task_head(head, tensor.name, plan);
    }
  }
}

// Parameters of a head that are not the embedding.
std::vector<const char*> parts_of_head(const transformer::Spec& spec) {
  std::vector<const char*> parts;
  const auto add = [&parts](bool has, const char* part) {
    if (has) {
      parts.push_back(part);
    }
  };
  add(spec.head_transform, "head_transform.weight");
  add(spec.head_transform && spec.head_transform_norm, "head_norm.weight");
  add(spec.is_image() || !spec.tied_head, "head.weight");
  add(spec.head_bias, "head.bias");
  add(spec.pool == transformer::Pool::kTwoHeads, "distillation_head.weight");
  return parts;
}

// Whether the file is that of another task, whose embedding was not trained as an output head.
bool is_of_other_task(const CheckpointFiles& checkpoint, const Plan& plan) {
  return names_no_class_with_head(checkpoint.config) ||
         std::any_of(plan.task_heads.begin(), plan.task_heads.end(), [](const std::string& head) {
           return std::find(kBesideHead.begin(), kBesideHead.end(), head) == kBesideHead.end();
         });
}

// Removes an output head that the file does not have.
void leave_out_absent_head(const CheckpointFiles& checkpoint, Plan& plan) {
  const bool image = plan.spec.is_image();
  if (!plan.spec.head || names_class_with_head(checkpoint.config, image)) {
    return;
  }
  const std::vector<const char*> parts = parts_of_head(plan.spec);
  const auto stored = [&](const char* part) { return tensor_of(checkpoint, plan, part) != nullptr; };
  const bool other = !image && is_of_other_task(checkpoint, plan);
  if (parts.empty()) {
    if (other && (plan.encoder.empty() || !plan.task_heads.empty())) {
      plan.spec.head = false;
      const std::string why = classes_of(checkpoint.config).empty()
                                  ? "tensors of the head " + shown(plan.task_heads.front()) + " are stored"
                                  : "field architectures: " + shown(classes_of(checkpoint.config).front());
      plan.warnings.push_back(checkpoint.config.file() + ": " + why +
                              ": no output head; the outcome is the state of every token, and no token is predicted");
    }
    return;
  }
  if (std::none_of(parts.begin(), parts.end(), stored)) {
    plan.spec.head = false;
  } else if (other && !std::all_of(parts.begin(), parts.end(), stored)) {
    // A classifier that shares the first matrices of the output head (ModernBERT).
    leave_out_head(checkpoint, plan);
  }
}

}  // namespace

bool is_task_head(std::string_view component) {
  return std::find(kTaskHeads.begin(), kTaskHeads.end(), component) != kTaskHeads.end();
}

void leave_out_head(const CheckpointFiles& checkpoint, Plan& plan) {
  const formats::TensorInfo* const embedding = tensor_of(checkpoint, plan, "embedding.weight");
  plan.spec.head = false;
  for (const char* const part : {"head_transform.weight", "head_transform.bias", "head_norm.weight", "head_norm.bias",
                                 "head.weight", "head.bias"}) {
    const formats::TensorInfo* const tensor = tensor_of(checkpoint, plan, part);
    if (tensor != nullptr && tensor != embedding) {
      list_task_head(std::string_view(tensor->name).substr(0, tensor->name.find('.')), tensor->name, plan);
    }
  }
}

void leave_out_parts(const CheckpointFiles& checkpoint, const std::vector<std::string_view>& parts, Plan& plan) {
  if (checkpoint.tensors == nullptr) {
    return;
  }
  for (const formats::TensorInfo& tensor : checkpoint.tensors->tensors()) {
    const std::vector<std::string_view> words = split(tensor.name, ".");
    const std::size_t first = words.size() > 2 && words.front() == "module" ? 1 : 0;
    if (first + 1 < words.size() && std::find(parts.begin(), parts.end(), words[first]) != parts.end()) {
      list_task_head(words[first], tensor.name, plan);
    }
  }
}

void settle_head(const CheckpointFiles& checkpoint, Plan& plan) {
  if (!plan.spec.is_image()) {
    list_task_heads(checkpoint, plan);
  }
  untie_stored_head(checkpoint, plan);
  leave_out_absent_head(checkpoint, plan);
}

}  // namespace locus::families
