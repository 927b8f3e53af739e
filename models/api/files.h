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

// Larger files are told by their name alone.
inline constexpr std::uintmax_t kMaxHashedBytes = std::uintmax_t{1} << 30;

// What tells these files from others: the SHA-256 of one, of several that of their SHA-256s, a line each; empty for
// none, where one is missing, and for more than kMaxHashedBytes. Errors: those of reading.
Result<std::string> files_digest(const std::vector<std::filesystem::path>& files);

}  // namespace locus::models
