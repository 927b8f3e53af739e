#include "models/engine/trace/contents.h"

#include <algorithm>

#include "models/transformer/weights.h"

namespace locus::models::trace {

std::string TraceContents::text(const std::string& key) const {
  const auto found = source_->metadata().find(names_.metadata(key));
  return found == source_->metadata().end() ? std::string() : found->second;
}

Result<nlohmann::json> TraceContents::value(const std::string& key) const {
  const std::string value = text(key);
  return value.empty() ? Result<nlohmann::json>(nlohmann::json()) : parse_json(value, metadata(key));
}

Result<at::Tensor> TraceContents::tensor(const std::string& name, const std::vector<std::int64_t>& shape) const {
  const TensorInfo* info = find(name);
  if (info == nullptr) {
    return at::Tensor();
  }
  const bool fits = info->shape.size() == shape.size() &&
                    std::equal(shape.begin(), shape.end(), info->shape.begin(), [](auto expected, auto found) {
                      return expected == -1 ? found > 0 : expected == found;
                    });
  if (!fits) {
    return bad_input(
        "expected shape " + transformer::shape_text(shape) + ", found " + transformer::shape_text(info->shape),
        where(name));
  }
  return transformer::to_tensor_as_stored(*info, source_);
}

Result<at::Tensor> TraceContents::float_tensor(const std::string& name, const std::vector<std::int64_t>& shape) const {
  LOCUS_TRY(const at::Tensor value, tensor(name, shape));
  return value.defined() ? value.to(at::kFloat) : value;
}

bool has_elements(const TensorInfo* info, std::size_t rank) {
  return info != nullptr && info->shape.size() == rank && info->elements() > 0;
}

Result<std::int64_t> size_of(const JsonObject& object, const std::string& name, std::int64_t fallback,
                             std::int64_t most) {
  LOCUS_TRY(const std::int64_t value, object.integer(name, fallback));
  if (object.find(name) != nullptr && (value < 0 || value > most)) {
    return object.wrong(name, "0 to " + std::to_string(most));
  }
  return value;
}

}  // namespace locus::models::trace
