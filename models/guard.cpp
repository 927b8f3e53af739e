#include "models/guard.h"

#include <string_view>

namespace locus::models {

Error error_of(const std::exception& exception) {
  // c10::Error puts the backtrace after the first line.
  std::string message = exception.what();
  message = message.substr(0, message.find('\n'));
  const bool memory = dynamic_cast<const std::bad_alloc*>(&exception) != nullptr ||
                      message.find("allocate memory") != std::string::npos ||
                      message.find("out of memory") != std::string::npos;
  if (memory) {
    return too_large("not enough memory (" + message + "); a shorter input or a smaller model would fit");
  }
  return internal(message);
}

}  // namespace locus::models
