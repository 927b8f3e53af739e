#include "models/families/engine/wrappers.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "core/base/listed.h"
#include "core/base/lists.h"
#include "core/base/shown.h"
#include "models/families/engine/heads.h"
#include "models/formats/renamed.h"

namespace locus::families {

namespace {

constexpr std::array<std::string_view, 5> kWrappers{"_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module",
                                                    "_forward_module", "_fpw_module"};
constexpr int kMaxPrefixes = 3;

std::string without_components(const std::string& name, std::set<std::string_view>& found) {
  std::string kept;
  for (const std::string_view word : split(name, ".")) {
    const auto* const wrapper = std::find(kWrappers.begin(), kWrappers.end(), word);
    if (wrapper != kWrappers.end()) {
      found.insert(*wrapper);
    } else {
      kept += (kept.empty() ? "" : ".") + std::string(word);
    }
  }
  return kept;
}

// "model." where all tensors but those of task heads begin so; else "".
std::string shared_prefix(const formats::TensorSource& source) {
  std::string prefix;
  for (const formats::TensorInfo& tensor : source.tensors()) {
    const std::string first = tensor.name.substr(0, tensor.name.find('.') + 1);  // "" without a dot
    if (is_task_head(first.substr(0, first.empty() ? 0 : first.size() - 1))) {
      continue;
    }
    if (first.empty() || (!prefix.empty() && first != prefix)) {
      return "";
    }
    prefix = first;
  }
  return prefix;
}

// Whether a table finds the first tensor of its model in the file.
bool fits(const CheckpointFiles& checkpoint) {
  const Result<const Family*> family = family_of(checkpoint);
  if (!family.ok()) {
    return false;
  }
  const Result<Plan> plan =
      (*family)->read != nullptr ? (*family)->read(checkpoint) : read_table(**family, checkpoint, checkpoint.config);
  const auto finds = [&](const char* parameter) {
    const std::vector<Binding> rows = plan->bindings(parameter);
    return std::any_of(rows.begin(), rows.end(),
                       [&](const Binding& row) { return checkpoint.find(row.tensor) != nullptr; });
  };
  return plan.ok() && (finds("embedding.weight") || finds("patch.weight"));
}

std::string warning_of(const CheckpointFiles& checkpoint, const std::string& what) {
  return checkpoint.path.string() + ": left out of the names of tensors: " + what;
}

}  // namespace

Result<CheckpointFiles> without_wrappers(CheckpointFiles checkpoint) {
  if (checkpoint.tensors == nullptr || checkpoint.tensors->gguf() != nullptr) {
    return checkpoint;
  }
  std::set<std::string_view> found;
  for (const formats::TensorInfo& tensor : checkpoint.tensors->tensors()) {
    without_components(tensor.name, found);
  }
  if (!found.empty()) {
    const std::string warning = warning_of(checkpoint, listed(found));
    LOCUS_TRY(
        checkpoint.tensors,
        formats::renamed(
            checkpoint.tensors, [&](const std::string& name) { return without_components(name, found); }, warning));
  }
  CheckpointFiles inner = checkpoint;
  std::string prefixes;
  for (int n = 0; n < kMaxPrefixes && !fits(inner); ++n) {
    const std::string prefix = shared_prefix(*inner.tensors);
    if (prefix.empty()) {
      return checkpoint;
    }
    prefixes += prefix;
    LOCUS_TRY(inner.tensors, formats::renamed(
                                 checkpoint.tensors,
                                 [&](const std::string& name) {
                                   return name.starts_with(prefixes) ? name.substr(prefixes.size()) : name;
                                 },
                                 warning_of(checkpoint, shown(prefixes))));
  }
  return prefixes.empty() || fits(inner) ? inner : checkpoint;
}

}  // namespace locus::families
