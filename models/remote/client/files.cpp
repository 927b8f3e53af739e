#include "models/api/files.h"

#include <algorithm>
#include <cstdint>

#include "core/base/atomic_file.h"
#include "core/base/sha256.h"
#include "models/remote/client/there.h"

namespace locus::models {

namespace fs = std::filesystem;

bool file_exists(const fs::path& path) {
  if (auto answer = remote::there<&file_exists>(path)) {
    return *answer;
  }
  std::error_code ignored;
  return fs::exists(path, ignored);
}

Result<std::vector<std::uint8_t>> file_bytes(const fs::path& path, std::int64_t most) {
  if (auto answer = remote::there<&file_bytes>(path, most)) {
    return *std::move(answer);
  }
  LOCUS_TRY(const std::string text,
            read_file(path, static_cast<std::size_t>(std::clamp<std::int64_t>(most, 0, kMaxFileBytes))));
  return std::vector<std::uint8_t>(text.begin(), text.end());
}

Result<std::string> files_digest(const std::vector<fs::path>& files) {
  if (auto answer = remote::there<&files_digest>(files)) {
    return *std::move(answer);
  }
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

Status check_output(const fs::path& path) {
  const auto answer = remote::there<&check_output>(path);
  return answer ? *answer : Status();  // a server has checked the path as it took it
}

}  // namespace locus::models
