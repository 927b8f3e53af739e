// Vision: what a vision-language model has beside its text model: the tower, its connectors, and how a text holds
// pictures. A picture is run alone, so that pictures do not see each other; one that is cut into tiles is several.
#pragma once

#include <ATen/ATen.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "models/api/model.h"
#include "models/engine/kept_pictures.h"
#include "models/families/engine/vision.h"
#include "models/formats/tensor_source.h"
#include "models/image/image.h"
#include "models/transformer/connector.h"
#include "models/transformer/transformer.h"
#include "models/transformer/weights.h"

namespace locus::models {

struct TraceData;

// The connector's vectors in the order of the tokens of pictures; an undefined index: one by one.
struct VectorOrder {
  at::Tensor index;   // (N) int64 of the vector at each token, or (N, 4) of reduced pictures
  at::Tensor shares;  // (N, 4) float64 of those four; undefined: one alone
};

// The pictures of a text, and where they stand in it.
struct TextImages {
  std::vector<TowerImage> images;
  // How many of `images` each picture is: itself alone, tiles and the whole, or a video's groups of frames.
  std::vector<std::size_t> parts;
  at::Tensor tokens;              // (N) int64, of the text: whose embeddings are replaced
  std::vector<ImageSpan> spans;   // of each run of those tokens; of a picture in tiles one for all tiles
  std::vector<Picture> pictures;  // of the spans
  VectorOrder order;              // at each of `tokens`
};

// Whether positions of a text are vectors (t, h, w): one of its encodings has sections.
bool has_vector_positions(const transformer::Spec& spec);
// (T, 3) float64: a picture's cells stand at its row and column, and the text goes on at the largest position so far
// + 1. Frames of a video that stand side by side are one block, each at its step of time.
at::Tensor vector_positions(const std::vector<ImageSpan>& spans, std::int64_t length, double start);

// The tower's output for all pictures of a text.
struct SeenImages {
  KeptPictures::Seen pictures;
  at::Tensor read;  // (P, C') what the connector read
  transformer::ImageRows rows;
};

class Vision {
 public:
  // Errors: those of Transformer::create() and Connector::create().
  static Result<std::unique_ptr<Vision>> create(const families::VisionPlan& plan, std::int64_t text_width);
  // The part of the checkpoint that tower and connectors read.
  Result<transformer::WeightBinding> bind_weights(const families::VisionPlan& plan,
                                                  const families::CheckpointFiles& checkpoint);
  void to(at::Device device);

  const transformer::Transformer& tower() const { return *tower_; }
  const transformer::Connector& connector() const { return connectors_.front(); }
  std::int64_t deepstack() const { return static_cast<std::int64_t>(connectors_.size()) - 1; }
  const families::Placeholders& placeholders() const { return placeholders_; }
  image::VideoRule videos() const { return videos_; }
  double tokens_per_second() const { return tokens_per_second_; }

  // Normalised pixels of one picture, (channels, H, W), as the tower takes them. Errors: kBadInput for a picture that
  // is not whole cells.
  Result<TowerImage> image_of(const at::Tensor& pixels) const;
  // The same of the frames that the tower sees together, (ImageStem::frames, channels, H, W).
  Result<TowerImage> image_of_frames(const at::Tensor& frames) const;
  // Rows of patches of one picture, as ImageStem::frames says, of a grid of rows × columns. Errors: kBadInput.
  Result<TowerImage> image_of(const at::Tensor& patches, std::int64_t rows, std::int64_t columns) const;
  // The pictures of a file: pixel_values, with image_grid_thw or image_sizes where the family has them; behind them the
  // frames of its videos: pixel_values_videos, video_grid_thw and, for times in seconds, second_per_grid_ts. Errors:
  // kBadInput naming file, tensor, expected and found.
  Result<std::vector<TowerImage>> read(const std::filesystem::path& file) const;

  // pixel_values of a file with these pictures, and their grids (n, 3) as image_grid_thw; with `videos` those of the
  // frames among them, one grid a video. Undefined where there is none.
  at::Tensor pixel_values(const std::vector<TowerImage>& images, bool videos = false) const;
  static at::Tensor grids(const std::vector<TowerImage>& images, bool videos = false);

  // The tower's maps of all pictures, one after another, and its states: a trace without text.
  TraceData trace(const std::vector<TowerImage>& images, const SeenImages& seen) const;

  // Vectors that the connector makes of it.
  std::int64_t count(const TowerImage& image) const;
  // Vectors that a picture becomes, of these parts. Errors: kBadInput for a picture so thin that its tiles cover no cell.
  Result<std::int64_t> count(std::span<const TowerImage> picture) const;
  // Whether ends of rows have a vector: pictures are arranged() then.
  bool ends_rows() const { return newline_width_ > 0; }
  // The cells of a picture's tiles that it covers; its parts are the whole and the tiles.
  static image::CellWindow covered(std::span<const TowerImage> picture);
  // The rows and columns that these cells are reduced to; as they are where the family reduces none.
  ImageGrid reduced(std::span<const TowerImage> picture) const;
  // TextImages::order of these pictures: the whole, then row by row the cells of all tiles, each with its end.
  VectorOrder order(const std::vector<TowerImage>& images, const std::vector<std::size_t>& parts) const;
  // The vectors in this order; as they are where it is undefined.
  at::Tensor arranged(const at::Tensor& vectors, const VectorOrder& order) const;
  // Whether cells of large pictures are reduced.
  bool reduces() const { return most_tiles_ > 0; }
  // Says of the pictures of a file of pixels, with the heights and widths that it has for them, which tiles they are;
  // how many parts each has. Errors: kBadInput naming file, tensor, expected and found.
  Result<std::vector<std::size_t>> find_tiles(const std::filesystem::path& file, const image::Preprocessing& options,
                                              std::vector<TowerImage>& images) const;
  // Multiply-accumulates of all connectors for it.
  double connector_macs(const TowerImage& image) const;
  // Runs the tower over each picture that it has not seen just before. Errors: those of Transformer::observe().
  Result<SeenImages> observe(const std::vector<TowerImage>& images, const transformer::ObserveOptions& options) const;
  KeptPictures& kept() const { return *kept_; }
  // The vectors by other means: what the tower gives for each picture, by `run`, instead of what observe() gives.
  using Run = std::function<Result<std::vector<at::Tensor>>(std::size_t image)>;
  Result<transformer::ImageRows> rows(const std::vector<TowerImage>& images, const Run& run,
                                      at::Tensor* read = nullptr) const;

 private:
  Vision() = default;
  // The pictures in rows of patches and their grids. Errors: as read().
  Result<std::vector<TowerImage>> read_patches(const formats::Source& source, const std::filesystem::path& file,
                                               bool videos) const;
  // The tower's output for one picture.
  Result<std::shared_ptr<const SeenPicture>> see(const TowerImage& image,
                                                 const transformer::ObserveOptions& options) const;

  std::unique_ptr<transformer::Transformer> tower_;
  std::vector<transformer::Connector> connectors_;  // the first gives the vectors, the others what deepstack adds
  families::Placeholders placeholders_;
  image::VideoRule videos_ = image::VideoRule::kNone;
  double tokens_per_second_ = 1;
  std::int64_t newline_width_ = 0;  // 0: rows have no ends
  at::Tensor newline_;
  std::int64_t most_tiles_ = 0;
  std::unique_ptr<KeptPictures> kept_ = std::make_unique<KeptPictures>();
};

}  // namespace locus::models
