#include "models/engine/opened_pictures.h"

#include <sys/stat.h>

namespace locus::models {

namespace {

constexpr std::size_t kMaxDecodedBytes = std::size_t{128} << 20;

}  // namespace

std::optional<FileStamp> stamp_of(const std::filesystem::path& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) {
    return std::nullopt;
  }
  return FileStamp{path,
                   {static_cast<std::int64_t>(found.st_dev), static_cast<std::int64_t>(found.st_ino),
                    static_cast<std::int64_t>(found.st_size), found.st_mtim.tv_sec, found.st_mtim.tv_nsec,
                    found.st_ctim.tv_sec, found.st_ctim.tv_nsec}};
}

Result<std::shared_ptr<const image::OpenedPicture>> OpenedPictures::open(const std::filesystem::path& path) {
  // Asked before it is read: a file that changes meanwhile is read again next time.
  const std::optional<FileStamp> now = stamp_of(path);
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [known, picture] : pictures_) {
      if (now && known == *now) {
        return picture;
      }
    }
  }
  LOCUS_TRY(image::OpenedPicture opened, image::open_picture(path));
  auto picture = std::make_shared<const image::OpenedPicture>(std::move(opened));
  if (now && picture->picture.rgba.size() <= kMaxDecodedBytes) {
    const std::lock_guard lock(mutex_);
    pictures_.emplace_front(*now, picture);
    std::size_t bytes = 0;
    std::size_t count = 0;
    while (count < pictures_.size() && bytes + pictures_[count].second->picture.rgba.size() <= kMaxDecodedBytes) {
      bytes += pictures_[count++].second->picture.rgba.size();
    }
    pictures_.resize(count);
  }
  return picture;
}

}  // namespace locus::models
