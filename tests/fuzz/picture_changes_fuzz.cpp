#include <cstdint>
#include <string_view>

#include "models/api/picture_changes.h"
#include "tests/fuzz/tensors.h"

// What is taken is written so that it reads back as the same changes.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace locus;
  const auto changes = models::parse_picture_changes(std::string_view(reinterpret_cast<const char*>(data), size));
  if (changes.ok()) {
    fuzz::require(changes->size() <= models::kMaxPictureSteps);
    const auto again = models::parse_picture_changes(models::to_text(*changes));
    fuzz::require(again.ok() && *again == *changes);
  }
  return 0;
}
