#include "models/remote/frames.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "tests/fuzz/tensors.h"

// All messages of a line; what is read can be written, and is the same when it is read again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace locus::remote;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  const ReadBytes read = [&](char* bytes, std::size_t most) -> locus::Result<std::size_t> {
    const std::size_t count = std::min(most, rest.size());
    std::memcpy(bytes, rest.data(), count);
    rest.remove_prefix(count);
    return count;
  };
  for (;;) {
    const auto message = read_message(read, "f");
    if (!message.ok()) {
      locus::fuzz::check_error(message.error(), "f");
      return 0;
    }
    if (!message->has_value()) {
      return 0;
    }
    const auto frame = frame_of(**message);
    locus::fuzz::require(frame.ok());
    const auto again = parse_message(std::string_view(*frame).substr(4), "f");
    locus::fuzz::require(again.ok() && *frame_of(*again) == *frame);
    const auto greeted = check_greeting(**message, "f");
    if (!greeted.ok()) {
      locus::fuzz::check_error(greeted.error(), "f");
    }
  }
}
