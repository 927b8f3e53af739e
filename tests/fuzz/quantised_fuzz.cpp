// The first line describes the weights, as quantization_config does; the rest is a safetensors file.
#include "models/formats/quantised/quantised.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/formats/safetensors/safetensors.h"
#include "tests/fuzz/tensors.h"

namespace {

using namespace locus;

// Every row of a weight, one by one.
void read_rows(const formats::TensorInfo& tensor) {
  const std::int64_t width = tensor.row_elements();
  const std::int64_t rows = width == 0 ? 0 : tensor.elements() / width;
  const auto bytes = blocks::row_bytes(*tensor.blocks, width);
  fuzz::require(bytes.has_value());
  std::vector<std::byte> row(static_cast<std::size_t>(*bytes));
  std::vector<float> values(static_cast<std::size_t>(width));
  for (std::int64_t n = 0; n < std::min<std::int64_t>(rows, 256); ++n) {
    tensor.assembled->write(n, 1, 1, row.data());
    blocks::expand(*tensor.blocks, row.data(), width / tensor.blocks->elements, values.data());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t line = std::min(text.find('\n'), size);
  const std::string config = R"({"quantization_config": )" + std::string(text.substr(0, line)) + "}";
  const auto parsed = formats::Config::parse_json(config, "f");
  const auto described =
      parsed.ok() ? formats::quantisation_of(*parsed) : Result<formats::Quantisation>(parsed.error());
  if (!described.ok()) {
    fuzz::check_error(described.error(), "f");
    return 0;
  }
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(std::min(line + 1, size));
  const auto file = formats::read_safetensors(bytes, nullptr, "f");
  const auto source = file.ok() ? formats::with_whole_weights(*file, *described) : file;
  if (!source.ok()) {
    fuzz::check_error(source.error(), "f");
    return 0;
  }
  constexpr std::int64_t kElements = 1 << 16;
  for (const formats::TensorInfo& tensor : (*source)->tensors()) {
    fuzz::require((*source)->find(tensor.name) == &tensor);
    if (tensor.elements() <= kElements && tensor.assembled != nullptr) {
      read_rows(tensor);
    } else if (tensor.elements() <= kElements) {
      fuzz::read_elements(tensor);
    }
  }
  return 0;
}
