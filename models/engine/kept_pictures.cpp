#include "models/engine/kept_pictures.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace locus::models {

namespace {

constexpr std::size_t kMaxFiles = 16;
constexpr std::size_t kMaxPictures = 512;  // a long video has half of its frames as pictures
constexpr std::size_t kMaxBytes = std::size_t{512} << 20;

std::size_t bytes_of(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.nbytes() : 0;
}

// Roughly, of what only the cache may hold on to.
std::size_t bytes_of(const SeenPicture& seen) {
  std::size_t bytes = bytes_of(seen.pixels) + bytes_of(seen.read);
  for (const transformer::LayerRecord& layer : seen.tower.layers) {
    bytes += bytes_of(layer.prepared.query) + bytes_of(layer.prepared.key) + bytes_of(layer.hidden);
  }
  return bytes;
}

bool same_grid(const ImageGrid& a, const ImageGrid& b) {
  return a.rows == b.rows && a.columns == b.columns;
}

}  // namespace

std::shared_ptr<const SeenPicture> KeptPictures::find(const TowerImage& image, bool hidden) const {
  const std::lock_guard lock(mutex_);
  const at::Tensor& pixels = image.batch.pixels;
  for (const auto& seen : seen_) {
    if (seen->pixels.is_same(pixels) && same_grid(seen->grid, image.grid) && (seen->hidden || !hidden)) {
      return seen;
    }
  }
  for (const auto& seen : seen_) {
    const bool same = same_grid(seen->grid, image.grid) && (seen->hidden || !hidden) && at::equal(seen->pixels, pixels);
    if (same) {
      return seen;
    }
  }
  return nullptr;
}

void KeptPictures::keep(std::shared_ptr<const SeenPicture> seen) {
  const std::lock_guard lock(mutex_);
  seen_.push_front(std::move(seen));
  std::size_t bytes = 0;
  std::size_t count = 0;
  while (count < std::min(seen_.size(), kMaxPictures)) {
    bytes += bytes_of(*seen_[count]);
    if (count > 0 && bytes > kMaxBytes) {
      break;
    }
    ++count;
  }
  seen_.resize(count);
}

std::shared_ptr<const RecordedTrace> KeptPictures::find_trace(const Seen& seen) const {
  const std::lock_guard lock(mutex_);
  return seen == traced_ ? trace_ : nullptr;
}

void KeptPictures::keep_trace(const Seen& seen, std::shared_ptr<const RecordedTrace> trace) {
  const std::lock_guard lock(mutex_);
  traced_ = seen;
  trace_ = std::move(trace);
}

Result<std::shared_ptr<const PreparedPicture>> KeptPictures::file(
    const std::filesystem::path& path, const PictureChanges& changes,
    const std::function<Result<PreparedPicture>()>& prepare, const std::optional<VideoFrames>& video) {
  // Asked before it is read: a file that changes meanwhile is read again next time.
  const std::optional<FileStamp> now = stamp_of(path);
  {
    const std::lock_guard lock(mutex_);
    for (const File& known : files_) {
      if (now && known.stamp == *now && known.changes == changes && known.video == video) {
        return known.prepared;
      }
    }
  }
  LOCUS_TRY(PreparedPicture made, prepare());
  auto prepared = std::make_shared<const PreparedPicture>(std::move(made));
  if (now) {
    const std::lock_guard lock(mutex_);
    std::erase_if(files_, [&](const File& other) { return other.stamp.path == path && other.stamp != *now; });
    files_.push_front({*now, changes, video, prepared});
    files_.resize(std::min(files_.size(), kMaxFiles));
  }
  return prepared;
}

}  // namespace locus::models
