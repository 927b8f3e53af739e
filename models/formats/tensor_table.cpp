#include "models/formats/tensor_table.h"

#include <unordered_map>
#include <utility>

#include "core/base/checked.h"
#include "core/base/shown.h"

namespace locus::formats {

namespace {

class TableSource final : public TensorSource {
 public:
  explicit TableSource(TensorTable table) : table_(std::move(table)) {}

  // The first duplicate name, or none.
  const TensorInfo* index_names() {
    index_.reserve(table_.tensors.size());
    for (const TensorInfo& tensor : table_.tensors) {
      if (!index_.emplace(tensor.name, &tensor).second) {
        return &tensor;
      }
    }
    return nullptr;
  }

  const std::vector<TensorInfo>& tensors() const override { return table_.tensors; }
  const TensorInfo* find(std::string_view name) const override {
    const auto found = index_.find(name);
    return found == index_.end() ? nullptr : found->second;
  }
  const std::map<std::string, std::string>& metadata() const override { return table_.metadata; }
  const std::vector<std::filesystem::path>& files() const override { return table_.files; }
  const std::vector<std::string>& warnings() const override { return table_.warnings; }
  const std::string& extra_json() const override { return table_.extra_json; }
  std::shared_ptr<const GgufMetadata> gguf() const override { return table_.gguf; }

 private:
  TensorTable table_;
  std::unordered_map<std::string_view, const TensorInfo*> index_;  // pointers into table_, which no longer changes
};

}  // namespace

Result<Source> make_source(TensorTable table) {
  auto source = std::make_shared<TableSource>(std::move(table));
  if (const TensorInfo* twice = source->index_names()) {
    return bad_input("expected every name once, found it twice", tensor_context(twice->file, twice->name));
  }
  return Source(std::move(source));
}

std::string tensor_context(const std::filesystem::path& file, std::string_view name) {
  return file.string() + ": tensor " + shown(name);
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (const std::int64_t size : shape) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  }
  return text + "]";
}

bool row_major(const std::vector<std::int64_t>& shape, std::vector<std::int64_t>& strides, std::int64_t& count) {
  strides.assign(shape.size(), 0);
  count = 1;
  for (std::size_t n = shape.size(); n-- > 0;) {
    strides[n] = count;
    const auto product = checked_product({count, shape[n]});
    if (shape[n] < 0 || !product) {
      return false;
    }
    count = *product;
  }
  return true;
}

}  // namespace locus::formats
