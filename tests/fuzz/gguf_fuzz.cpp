#include "models/formats/gguf/gguf.h"

#include <cstdint>
#include <span>
#include <vector>

#include "tests/fuzz/tensors.h"

namespace {

using namespace locus;

// Every block of every tensor, expanded row by row.
void expand_blocks(const formats::TensorInfo& tensor) {
  const blocks::Format& format = *tensor.blocks;
  const auto count = static_cast<std::int64_t>(tensor.storage.size()) / format.bytes;
  std::vector<float> values(static_cast<std::size_t>(format.elements));
  for (std::int64_t n = 0; n < count; ++n) {
    format.expand(tensor.storage.data() + n * format.bytes, values.data());
  }
  fuzz::require(count * format.elements == tensor.elements());
}

// Every value by every kind of question.
void ask(const formats::GgufMetadata& metadata, const char* name) {
  (void)metadata.integer(name).ok();
  (void)metadata.number(name).ok();
  (void)metadata.boolean(name).ok();
  (void)metadata.text(name).ok();
  (void)metadata.integers(name).ok();
  (void)metadata.numbers(name).ok();
  (void)metadata.texts(name).ok();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto source = formats::read_gguf(std::as_bytes(std::span(data, size)), nullptr, "f");
  if (!source.ok()) {
    fuzz::check_error(source.error(), "f");
    return 0;
  }
  for (const formats::TensorInfo& tensor : (*source)->tensors()) {
    fuzz::require((*source)->find(tensor.name) == &tensor);
    if (tensor.blocks != nullptr) {
      expand_blocks(tensor);
    } else if (tensor.elements() <= 1 << 16) {
      fuzz::read_elements(tensor);
    }
  }
  for (const char* name : {"general.architecture", "tokenizer.ggml.tokens", "scores", "a", "general.alignment"}) {
    ask(*(*source)->gguf(), name);
  }
  return 0;
}
