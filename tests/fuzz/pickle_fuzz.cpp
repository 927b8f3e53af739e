#include "models/formats/torch/pickle.h"

#include <cstdint>
#include <span>

#include "models/formats/config.h"
#include "models/formats/torch/torch_content.h"
#include "models/formats/torch/torch_file.h"
#include "tests/fuzz/tensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace locus;
  const auto bytes = std::as_bytes(std::span(data, size));
  const Result<formats::Source> source = formats::read_torch_file(bytes, nullptr, "f");
  fuzz::use_tensors(source, "f");
  if (source.ok() && !(*source)->extra_json().empty()) {
    fuzz::require(formats::Config::parse_json((*source)->extra_json(), "f").ok());
  }
  // The bytes as a pickle of its own, without the archive around it.
  const Result<formats::Pickle> pickle = formats::read_pickle(bytes);
  if (pickle.ok()) {
    const Result<formats::TorchContent> content = formats::read_torch_content(*pickle);
    if (content.ok() && !content->extra_json.empty()) {
      fuzz::require(formats::Config::parse_json(content->extra_json, "f").ok());
    }
  }
  return 0;
}
