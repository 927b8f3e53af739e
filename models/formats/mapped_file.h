// MappedFile: a file's bytes in the address space, read by the system when they are touched.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

#include "core/base/result.h"

namespace locus::formats {

class MappedFile {
 public:
  // A file that is open already is not mapped again, unless it was changed since.
  // If a file shrinks while it is mapped, its missing part reads as zeros: see mapping_guard.h. Symbolic links are
  // followed. Errors: kBadInput when there is no regular, readable file.
  static Result<std::shared_ptr<const MappedFile>> open(const std::filesystem::path& path);

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  // Valid while the MappedFile lives; empty for an empty file.
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::span<const std::byte> bytes_;
};

}  // namespace locus::formats
