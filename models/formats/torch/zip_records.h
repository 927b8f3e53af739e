// Records of an uncompressed zip archive, as torch.save writes it: names and locations; nothing is copied.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string_view>

#include "core/base/result.h"

namespace locus::formats {

// Record name → its bytes inside `archive`, zip64 included. Errors: kBadInput, naming file and record, for a broken
// directory, a compressed or encrypted record, a duplicate name, and records that overlap or leave the file.
Result<std::map<std::string_view, std::span<const std::byte>>> read_zip_records(std::span<const std::byte> archive,
                                                                                const std::filesystem::path& path);

}  // namespace locus::formats
