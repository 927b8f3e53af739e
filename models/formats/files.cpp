// Functions of the API about files of this computer.

#include <algorithm>
#include <cstdint>

#include "core/base/atomic_file.h"
#include "core/base/sha256.h"
#include "models/api/local.h"

namespace locus::models {

namespace fs = std::filesystem;

bool local::file_exists(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

Result<std::vector<std::uint8_t>> local::file_bytes(const fs::path& path, std::int64_t most) {
  LOCUS_TRY(const std::string text,
            read_file(path, static_cast<std::size_t>(std::clamp<std::int64_t>(most, 0, kMaxFileBytes))));
  return std::vector<std::uint8_t>(text.begin(), text.end());
}

Result<std::string> local::files_digest(const std::vector<fs::path>& files) {
  std::uintmax_t bytes = 0;
  for (const fs::path& file : files) {
    std::error_code failure;
    bytes += fs::file_size(file, failure);
    if (failure || bytes > kMaxHashedBytes) {
      return std::string();
    }
  }
  if (files.size() == 1) {
    return sha256_of_file(files.front().string());
  }
  std::string digests;
  for (const fs::path& file : files) {
    LOCUS_TRY(const std::string digest, sha256_of_file(file.string()));
    digests += digest + "\n";
  }
  return files.empty() ? std::string() : sha256(digests);
}

}  // namespace locus::models
