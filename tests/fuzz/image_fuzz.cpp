#include <cstdint>
#include <string_view>

#include "models/image/header.h"
#include "tests/fuzz/tensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace locus;
  const auto header = image::read_header(std::string_view(reinterpret_cast<const char*>(data), size));
  if (header.ok()) {
    fuzz::require(header->width > 0 && header->height > 0 && header->orientation >= 1 && header->orientation <= 8);
    fuzz::require(!header->orientation_offset || *header->orientation_offset < size);
  }
  return 0;
}
