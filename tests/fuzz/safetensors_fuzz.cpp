#include "models/formats/safetensors/safetensors.h"

#include <cstdint>
#include <span>

#include "tests/fuzz/tensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  locus::fuzz::use_tensors(locus::formats::read_safetensors(std::as_bytes(std::span(data, size)), nullptr, "f"), "f");
  return 0;
}
