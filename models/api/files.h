// Files of checkpoints and inputs, wherever they are: on this machine, or `ssh://…` on another one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace locus::models {

// Whether there is a file or folder; false also where its machine cannot be asked.
bool file_exists(const std::filesystem::path& path);

// Whether the file says that it is a trace of any version (safetensors with `locus.format` trace/…). open_trace() says
// what is wrong with one; a file whose header cannot be read is no trace.
bool is_trace(const std::filesystem::path& path);

// The most bytes that file_bytes() reads.
inline constexpr std::int64_t kMaxFileBytes = std::int64_t{64} << 20;

// The bytes of a file. Errors: kBadInput where it cannot be read or has more than `most` or kMaxFileBytes.
Result<std::vector<std::uint8_t>> file_bytes(const std::filesystem::path& path, std::int64_t most);

// The same as a text.
inline Result<std::string> file_text(const std::filesystem::path& path, std::int64_t most) {
  LOCUS_TRY(const std::vector<std::uint8_t> bytes, file_bytes(path, most));
  return std::string(bytes.begin(), bytes.end());
}

// Larger files are told by their name alone.
inline constexpr std::uintmax_t kMaxHashedBytes = std::uintmax_t{1} << 30;

// The digest of these files: the SHA-256 of one, of several that of their SHA-256s, a line each; empty for
// none, where one is missing, and for more than kMaxHashedBytes. Errors: those of reading.
Result<std::string> files_digest(const std::vector<std::filesystem::path>& files);

// Whether a file of another machine may be written: none that a model or a run there was read from. Paths of this
// machine are the command line's to check. Errors: kUsage.
Status check_output(const std::filesystem::path& path);

}  // namespace locus::models
