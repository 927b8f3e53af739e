// Images: from a file to normalised pixels and a patch grid.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace locus::image {

// 8-bit RGBA, row-major, upright (EXIF orientation applied).
struct Picture {
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::vector<std::uint8_t> rgba;
};

// PNG, JPEG, WebP, TIFF. Sizes are read from the header before anything is decoded. Errors: kBadInput (not an image,
// truncated), kTooLarge (more than `pixel_limit` pixels), kUnsupported in a build without OpenCV.
Result<Picture> load_picture(const std::filesystem::path& path, std::int64_t pixel_limit = 100'000'000);

struct OpenedPicture {
  Picture picture;
  std::string warning;  // one line, with the file, about a damaged file whose picture is complete; empty otherwise
};
// The same with a warning about the file. Errors: those of load_picture(); kUnsupported also for animations and for
// samples of other than 8 or 16 bits.
Result<OpenedPicture> open_picture(const std::filesystem::path& path, std::int64_t pixel_limit = 100'000'000);

enum class Interpolation { kNearest, kBilinear, kBicubic, kLanczos };

// Rule for the size of a resized picture.
enum class ResizeRule {
  kSize,       // height × width, or the shorter edge
  kPixels,     // the nearest whole cells, between two numbers of pixels (Qwen2-VL, GLM-4V)
  kLongest,    // the longer edge at most, then up to whole cells (Pixtral)
  kTiles,      // the longer edge, then up to whole tiles (Idefics 3)
  kCanvas,     // the rows × columns of tiles whose aspect is nearest to the picture's (InternVL)
  kPatches,    // whole cells, as many as there may be (SigLIP 2 NaFlex)
  kCells,      // the largest whole cells, rounded down, of at most so many in all (Gemma 4)
  kPinpoints,  // within the listed size that keeps most of the picture, on black (LLaVA-NeXT, LLaVA-OneVision)
  kPadded,     // the longer edge, then a square with the picture in its middle (DeepSeek-VL)
  kTokens      // whole cells, between two numbers of them; a far larger picture in tiles, then the whole (LFM2-VL)
};

// Fields of preprocessor_config.json (Hugging Face) or of a timm pretrained_cfg.
struct Preprocessing {
  bool resize = true;
  std::int64_t height = 224;
  std::int64_t width = 224;
  bool shortest_edge = false;  // resize so that the shorter edge is `height`, keeping the aspect
  ResizeRule rule = ResizeRule::kSize;
  std::int64_t least_pixels = 0;  // kPixels, kTokens; over all frames
  std::int64_t most_pixels = 0;
  std::int64_t frames = 1;
  std::int64_t most_patches = 0;                // kPatches, kCells
  std::int64_t longest_edge = 0;                // kLongest, kTiles, kPadded
  std::int64_t least_edge = 1;                  // kPadded: of either edge
  std::array<std::uint8_t, 3> ground{0, 0, 0};  // kPadded: the colour beside the picture
  std::int64_t tile = 0;                        // kTiles: side of the tower's input in pixels
  bool split = true;             // kTiles, kTokens: larger pictures become tiles, followed by the whole picture
  std::int64_t patch = 1;        // kTokens, kCells: pixels along a side of a patch,
  std::int64_t cell = 1;         // and of a cell, which must be the model's
  double tolerance = 1;          // kTokens: a picture is cut where its cells have more than this times `most_pixels`
  bool whole = true;             // kTokens: the whole picture follows its tiles
  std::int64_t least_tiles = 1;  // kCanvas, kTokens; a tile is height × width
  std::int64_t most_tiles = 0;   // kCanvas; of kSize: what the file turns off, 0 for nothing
  bool least_scaled = false;     // kCanvas: the canvas that needs the least enlarging instead (Command A Vision)
  std::vector<std::array<std::int64_t, 2>> pinpoints = {};  // kPinpoints: height, width, in whole tiles
  Interpolation interpolation = Interpolation::kBilinear;
  bool center_crop = false;
  std::int64_t crop_height = 224;
  std::int64_t crop_width = 224;
  double rescale = 1.0 / 255;
  std::array<double, 3> mean{0.5, 0.5, 0.5};
  std::array<double, 3> deviation{0.5, 0.5, 0.5};
};

// Parses the text of a preprocessor_config.json, or of a processor_config.json with an image_processor. Errors: kBadInput naming field, expected, found.
Result<Preprocessing> parse_preprocessor(const std::string& json, const std::string& file);

// Place of a tile in the grid of its picture's tiles; rows == 0: a whole picture.
struct TilePlace {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t row = 0;
  std::int64_t column = 0;

  friend bool operator==(const TilePlace&, const TilePlace&) = default;
};

// (3, height, width) float32, row-major, and the picture before normalisation, which views draw under the patches.
struct Pixels {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::vector<float> values;
  Picture shown;
  TilePlace tile;  // kCanvas, kPinpoints, kTokens
};

// Cells of a canvas of tiles that the picture covers, by kPinpoints: without those that are only black.
struct CellWindow {
  std::int64_t top = 0;
  std::int64_t left = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;

  friend bool operator==(const CellWindow&, const CellWindow&) = default;
};
// The cells of a canvas of rows × columns that a picture of width × height in its middle covers.
CellWindow covered_cells(std::int64_t rows, std::int64_t columns, std::int64_t width, std::int64_t height);

// The grid of tiles of a picture by kCanvas, by kTokens of one that is cut, and by kSize where the file turned it off: at most `most_tiles`, at least
// `least_tiles`, of the aspect nearest to the picture's; of equally near ones the larger while the picture has more than
// half of its pixels; 1 × 1 where no grid has so many. By kPinpoints that of the size that keeps most of the picture's
// pixels, of equal ones the smallest. With least_scaled that which holds the picture with the least enlarging, where none
// does that which needs the least shrinking; of equal ones the one of fewest tiles, then of fewest columns.
TilePlace canvas_of(std::int64_t width, std::int64_t height, const Preprocessing& options);

// Pixels of a picture that a patch of the model is wide and high: `patch`, enlarged as the resizing makes the picture
// smaller.
struct PatchSize {
  double width = 0;
  double height = 0;
};
// Where pixels of a picture lie on the grid of patches: column = x0 + x·dx, row = y0 + y·dy, centres of pixels and of
// patches being whole numbers.
struct PatchGrid {
  double x0 = 0;
  double dx = 0;
  double y0 = 0;
  double dy = 0;
};
// `cell` is the side of the whole patches that preprocess() crops to. Errors: those of preprocess() for this size.
Result<PatchSize> patch_size(std::int64_t width, std::int64_t height, const Preprocessing& options, std::int64_t cell);
// Errors also: kUnsupported for a picture that is cut into tiles.
Result<PatchGrid> patch_grid(std::int64_t width, std::int64_t height, const Preprocessing& options, std::int64_t cell,
                             std::int64_t patch);

// Resizes, crops to whole patches (cells) of `patch` pixels, rescales and normalises. Errors: kBadInput, kTooLarge;
// kUnsupported for a picture that kCanvas, kPinpoints or kTokens cuts into tiles, and for kTiles.
Result<Pixels> preprocess(const Picture& picture, const Preprocessing& options, std::int64_t patch);
// All inputs made from a picture: itself, or its tiles row by row and then the whole (kPinpoints: the whole first).
Result<std::vector<Pixels>> preprocess_all(const Picture& picture, const Preprocessing& options, std::int64_t patch);

}  // namespace locus::image
