// KeptPictures: what an image tower made of the pictures it saw last, so that a text is typed beside pictures without
// seeing them again. Safe to use from several threads.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/base/result.h"
#include "models/api/model.h"
#include "models/engine/opened_pictures.h"
#include "models/transformer/transformer.h"

namespace locus::models {

class RecordedTrace;

// One picture, one of its tiles, or a group of a video's frames, as the tower takes it.
struct TowerImage {
  transformer::Batch batch;
  ImageGrid grid;
  Picture picture;
  std::int64_t video = -1;  // as ImageSpan has them
  std::int64_t frame = 0;
  std::int64_t step = 0;
  double seconds = 0;
  image::TilePlace tile = {};
  std::int64_t source_width = 0;  // of the picture that it was cut from, where a family asks for it
  std::int64_t source_height = 0;
};

// The tower's output for one picture.
struct SeenPicture {
  at::Tensor pixels;  // that it was made of
  ImageGrid grid;
  transformer::Observation tower;
  at::Tensor read;                  // (P, C') what the first connector read
  std::vector<at::Tensor> vectors;  // (N, C) of each connector
  bool hidden = false;              // whether `tower` has its states
};

// A picture file, read and prepared: one part, or its tiles. Of a video its groups of frames.
struct PreparedPicture {
  std::vector<TowerImage> parts;
  std::string warning;
};

class KeptPictures {
 public:
  using Seen = std::vector<std::shared_ptr<const SeenPicture>>;

  // Output kept for these pixels, with states where they are wanted; null where nothing was.
  std::shared_ptr<const SeenPicture> find(const TowerImage& image, bool hidden) const;
  void keep(std::shared_ptr<const SeenPicture> seen);

  // The trace of the tower over these pictures; null where another, or none, was kept.
  std::shared_ptr<const RecordedTrace> find_trace(const Seen& seen) const;
  void keep_trace(const Seen& seen, std::shared_ptr<const RecordedTrace> trace);

  // Pixels as the file was prepared under these changes, or as a video of which these frames are taken; by `prepare`
  // where that was not kept, or the file has changed.
  // Errors: those of `prepare`.
  Result<std::shared_ptr<const PreparedPicture>> file(const std::filesystem::path& path, const PictureChanges& changes,
                                                      const std::function<Result<PreparedPicture>()>& prepare,
                                                      const std::optional<VideoFrames>& video = {});

 private:
  struct File {
    FileStamp stamp;
    PictureChanges changes;
    std::optional<VideoFrames> video;  // empty: a picture
    std::shared_ptr<const PreparedPicture> prepared;
  };

  mutable std::mutex mutex_;
  std::deque<std::shared_ptr<const SeenPicture>> seen_;  // the last one in front
  std::deque<File> files_;                               // likewise
  Seen traced_;
  std::shared_ptr<const RecordedTrace> trace_;
};

}  // namespace locus::models
