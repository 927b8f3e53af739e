// Calls of files, before there is a model.
#include "models/api/files.h"

#include <algorithm>

#include "models/api/files.h"
#include "models/remote/codec/call.h"
#include "models/remote/codec/checks.h"
#include "models/remote/codec/lists.h"

namespace locus::remote {

template <>
struct Expected<&models::file_bytes> : AnyAnswer {
  static std::size_t most_bytes(const std::filesystem::path&, std::int64_t most) {
    return static_cast<std::size_t>(std::clamp<std::int64_t>(most, 0, models::kMaxFileBytes));
  }
};

template <>
inline constexpr bool kWrites<&models::check_output> = true;

#define LOCUS_FILE_CALLS(CALL)                       \
  CALL("is_trace", false, &models::is_trace)         \
  CALL("file_exists", false, &models::file_exists)   \
  CALL("file_bytes", false, &models::file_bytes)     \
  CALL("files_digest", false, &models::files_digest) \
  CALL("check_output", false, &models::check_output)
LOCUS_CALLS(file_calls, LOCUS_FILE_CALLS)

}  // namespace locus::remote
