#include "core/base/guarded.h"

#include <charconv>
#include <string_view>

#include "core/base/numbers.h"

namespace locus {

namespace {

// ": could not allocate 512 MB", of a message that says how many bytes were asked for; empty of one that does not.
std::string wanted_of(const std::string& message) {
  constexpr std::string_view kBefore = "tried to allocate ";
  const std::size_t found = message.find(kBefore);
  if (found == std::string::npos) {
    return {};
  }
  double bytes = 0;
  std::from_chars(message.data() + found + kBefore.size(), message.data() + message.size(), bytes);
  return bytes >= 1e6 ? ": could not allocate " + fixed_text(bytes / 1e6, 0) + " MB" : "";
}

}  // namespace

Error error_of(const std::exception& exception) {
  // c10::Error puts the backtrace after the first line.
  std::string message = exception.what();
  message = message.substr(0, message.find('\n'));
  const bool memory = dynamic_cast<const std::bad_alloc*>(&exception) != nullptr ||
                      message.find("allocate memory") != std::string::npos ||
                      message.find("out of memory") != std::string::npos;
  if (memory) {
    return too_large("not enough memory" + wanted_of(message));
  }
  return internal(message);
}

}  // namespace locus
