// PartialFile: a file that grows while it is fetched, and keeps its content when the transfer breaks or the user stops.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "core/base/sha256.h"

namespace locus::hub {

class PartialFile {
 public:
  // Opens or creates it, and reads its content where the checksum is wanted. Content of more than `limit` bytes is
  // discarded. Errors: kBadInput for a link, a device or a folder, and where it cannot be written; kCancelled.
  static Result<PartialFile> open(const std::filesystem::path& path, bool summed, std::int64_t limit,
                                  const StopToken& stop);

  PartialFile(PartialFile&& other) noexcept;
  PartialFile& operator=(PartialFile&&) = delete;
  ~PartialFile();

  std::int64_t size() const { return size_; }
  // Errors: kBadInput with the system's reason (a full disk); bytes written before are kept.
  Status append(std::string_view bytes);
  // Discards the content.
  Status clear();
  // SHA-256 of all its bytes.
  std::string sum() const;
  // Flushes to the disk, then takes the final name.
  Status finish(const std::filesystem::path& path);

 private:
  PartialFile(std::filesystem::path path, int descriptor, bool summed)
      : path_(std::move(path)), descriptor_(descriptor), summed_(summed) {}
  Status read_sum(const StopToken& stop);

  std::filesystem::path path_;
  int descriptor_ = -1;
  bool summed_ = false;
  std::int64_t size_ = 0;
  Sha256 sum_;
};

}  // namespace locus::hub
