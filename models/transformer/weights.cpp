#include "models/transformer/weights.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <numeric>
#include <set>

namespace locus::transformer {

namespace {

using checkpoint::DType;
using checkpoint::TensorInfo;
using families::Layout;

std::int64_t count_of(const std::vector<std::int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

at::ScalarType scalar_type(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return at::kDouble;
    case DType::kF32:
      return at::kFloat;
    case DType::kF16:
      return at::kHalf;
    case DType::kBF16:
      return at::kBFloat16;
    case DType::kI64:
      return at::kLong;
    case DType::kI32:
      return at::kInt;
    case DType::kI16:
      return at::kShort;
    case DType::kI8:
      return at::kChar;
    case DType::kU8:
      return at::kByte;
    case DType::kBool:
      return at::kBool;
  }
  return at::kFloat;
}

bool is_floating(DType dtype) {
  return dtype == DType::kF64 || dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

struct Found {
  const TensorInfo* tensor = nullptr;
  checkpoint::Source source;
};

Found find(const std::string& name, const families::Plan& plan, const families::Checkpoint& checkpoint) {
  if (const TensorInfo* tensor = checkpoint.find(name); tensor != nullptr) {
    return {tensor, checkpoint.tensors};
  }
  for (const checkpoint::Source& source : plan.further) {
    if (const TensorInfo* tensor = source->find(name); tensor != nullptr) {
      return {tensor, source};
    }
  }
  return {};
}

std::vector<std::int64_t> stored_shape(const Parameter& parameter, Layout layout) {
  std::vector<std::int64_t> shape = parameter.shape;
  if (layout == Layout::kTransposed) {
    std::reverse(shape.begin(), shape.end());
  }
  return shape;
}

Status check_tensor(const TensorInfo& tensor, const Parameter& parameter, Layout layout) {
  const std::string where = tensor.file.string() + ": tensor " + tensor.name;
  const std::vector<std::int64_t> expected = stored_shape(parameter, layout);
  const bool fits =
      layout == Layout::kReshaped ? count_of(tensor.shape) == count_of(expected) : tensor.shape == expected;
  if (!fits) {
    return bad_input("expected shape " + shape_text(expected) + ", found " + shape_text(tensor.shape), where);
  }
  if (!is_floating(tensor.dtype)) {
    return unsupported("expected floating-point weights, found " + std::string(checkpoint::to_text(tensor.dtype)),
                       where);
  }
  return {};
}

bool ends_with_any(const std::string& name, const std::vector<std::string>& endings) {
  return std::any_of(endings.begin(), endings.end(), [&](const std::string& ending) {
    return name.size() >= ending.size() && name.compare(name.size() - ending.size(), ending.size(), ending) == 0;
  });
}

Error missing(const std::vector<std::pair<std::string, const Parameter*>>& absent, const families::Binding* first,
              const families::Checkpoint& checkpoint) {
  const std::vector<std::int64_t> shape =
      stored_shape(*absent.front().second, first == nullptr ? Layout::kAsIs : first->layout);
  const std::string more = absent.size() > 1 ? " (and " + std::to_string(absent.size() - 1) + " more are missing)" : "";
  const auto& files = checkpoint.tensors->files();
  const std::string file = files.size() == 1 ? files.front().string() : checkpoint.path.string();
  return bad_input("expected shape " + shape_text(shape) + ", found none" + more,
                   file + ": tensor " + absent.front().first);
}

}  // namespace

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (std::size_t n = 0; n < shape.size(); ++n) {
    text += (n == 0 ? "" : ", ") + std::to_string(shape[n]);
  }
  return text + "]";
}

Result<Fitting> fit(Transformer& model, const families::Plan& plan, const families::Checkpoint& checkpoint) {
  std::map<std::string, const families::Binding*> bindings;
  for (const families::Binding& binding : plan.bindings) {
    bindings[binding.parameter] = &binding;
  }
  Fitting fitting;
  std::set<const TensorInfo*> used;
  const std::vector<Parameter> parameters = model.parameters();
  std::vector<std::pair<std::string, const Parameter*>> absent;
  const families::Binding* first_absent = nullptr;
  for (const Parameter& parameter : parameters) {
    fitting.parameters += count_of(parameter.shape);
    const auto bound = bindings.find(parameter.name);
    const families::Binding* binding = bound == bindings.end() ? nullptr : bound->second;
    const Found found = binding == nullptr ? Found{} : find(binding->tensor, plan, checkpoint);
    if (found.tensor == nullptr) {
      first_absent = absent.empty() ? binding : first_absent;
      absent.emplace_back(binding == nullptr ? parameter.name : binding->tensor, &parameter);
      continue;
    }
    LOCUS_CHECK(check_tensor(*found.tensor, parameter, binding->layout));
    used.insert(found.tensor);
    fitting.parts.push_back({parameter, found.tensor, found.source, binding->layout});
  }
  if (!absent.empty()) {
    return missing(absent, first_absent, checkpoint);
  }
  std::vector<checkpoint::Source> sources{checkpoint.tensors};
  sources.insert(sources.end(), plan.further.begin(), plan.further.end());
  for (const checkpoint::Source& source : sources) {
    for (const TensorInfo& tensor : source->tensors()) {
      if (used.count(&tensor) == 0 && !ends_with_any(tensor.name, plan.skipped)) {
        fitting.unexpected.push_back(tensor.name);
      }
    }
  }
  return fitting;
}

at::Tensor to_tensor_as_stored(const TensorInfo& info, const checkpoint::Source& source) {
  const auto type = at::TensorOptions(scalar_type(info.dtype));
  const std::size_t size = checkpoint::element_size(info.dtype);
  if (info.elements() == 0) {
    return at::empty(info.shape, type);
  }
  auto* bytes = const_cast<std::byte*>(info.storage.data());  // from_blob takes no const; nothing writes through it
  if (reinterpret_cast<std::uintptr_t>(bytes) % size != 0) {
    at::Tensor copy = at::empty({static_cast<std::int64_t>(info.storage.size() / size)}, type);
    std::memcpy(copy.data_ptr(), bytes, copy.nbytes());
    return copy.as_strided(info.shape, info.strides, info.offset);
  }
  return at::from_blob(
      bytes + static_cast<std::size_t>(info.offset) * size, info.shape, info.strides, [source](void*) {}, type);
}

at::Tensor to_tensor(const TensorInfo& info, const checkpoint::Source& source) {
  return to_tensor_as_stored(info, source).to(at::kFloat);
}

std::vector<std::string> load(const Fitting& fitting) {
  const at::NoGradGuard no_grad;
  std::vector<std::string> warnings;
  for (const Fitting::Part& part : fitting.parts) {
    at::Tensor value = to_tensor(*part.tensor, part.source);
    // A sum may overflow where no value does.
    if (!at::isfinite(value.sum()).item<bool>() && !at::isfinite(value).all().item<bool>()) {
      warnings.push_back(part.tensor->file.string() + ": tensor " + part.tensor->name +
                         ": holds values that are not finite");
    }
    if (part.layout == Layout::kTransposed) {
      value = value.t();
    } else if (part.layout == Layout::kReshaped) {
      value = value.reshape(part.parameter.shape);
    }
    *part.parameter.value = value;
  }
  return warnings;
}

}  // namespace locus::transformer
