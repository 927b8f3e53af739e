#include "tests/support/pictured_text.h"

#include <cstring>
#include <vector>

#include "models/formats/tensor_source.h"
#include "tests/support/paths.h"

namespace locus::test {

namespace {

std::vector<std::int64_t> whole_numbers(const formats::TensorInfo* tensor) {
  std::vector<std::int64_t> numbers;
  if (tensor != nullptr && tensor->dtype == formats::DType::kI64) {
    numbers.resize(static_cast<std::size_t>(tensor->elements()));
    std::memcpy(numbers.data(), tensor->storage.data(), numbers.size() * sizeof numbers.front());
  }
  return numbers;
}

}  // namespace

std::filesystem::path pictured_folder(const std::string& family) {
  return std::filesystem::path(source_dir()) / "tests/golden/families-vlm" / family;
}

Result<models::Input> pictured_input(const std::string& family, bool files) {
  const std::filesystem::path file = pictured_folder(family) / "expected.safetensors";
  LOCUS_TRY(const formats::Source source, formats::open_tensors(file));
  models::Input input;
  input.ids = whole_numbers(source->find("input_ids"));
  input.token_types = whole_numbers(source->find("token_type_ids"));
  for (int n = 0; files; ++n) {
    const std::filesystem::path picture = pictured_folder(family) / ("image" + std::to_string(n) + ".png");
    if (!std::filesystem::exists(picture)) {
      return input;
    }
    input.images.push_back(picture);
  }
  input.pixels = file;
  return input;
}

}  // namespace locus::test
