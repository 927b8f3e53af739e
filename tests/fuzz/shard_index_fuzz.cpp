#include "models/formats/safetensors/shard_index.h"

#include <cstdint>
#include <string_view>

#include "tests/fuzz/tensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace locus;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto index = formats::parse_shard_index(text, "model.safetensors.index.json");
  if (!index.ok()) {
    fuzz::check_error(index.error(), "model.safetensors.index.json");
    return 0;
  }
  for (const auto& [name, file] : index->weight_map) {
    const std::filesystem::path inside = (std::filesystem::path("/folder") / file).lexically_normal();
    fuzz::require(inside.string().rfind("/folder/", 0) == 0 && inside.extension() == ".safetensors");
  }
  return 0;
}
