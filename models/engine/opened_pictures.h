// OpenedPictures: the picture files that were decoded last, so that a picture that is moved by hand is not decoded again
// for each movement. Safe to use from several threads.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "core/base/result.h"
#include "models/image/image.h"

namespace locus::models {

// Tells a file from itself before a change.
struct FileStamp {
  std::filesystem::path path;
  std::array<std::int64_t, 7> of{};  // device, inode, size, and times of the last changes

  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};
// Empty where there is no such file.
std::optional<FileStamp> stamp_of(const std::filesystem::path& path);

class OpenedPictures {
 public:
  // Errors: those of image::open_picture().
  Result<std::shared_ptr<const image::OpenedPicture>> open(const std::filesystem::path& path);

 private:
  std::mutex mutex_;
  std::deque<std::pair<FileStamp, std::shared_ptr<const image::OpenedPicture>>> pictures_;  // the last one in front
};

}  // namespace locus::models
