#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "models/image/image.h"

namespace locus::image {
namespace {

Picture gradient(std::int64_t width, std::int64_t height) {
  Picture picture;
  picture.width = width;
  picture.height = height;
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      picture.rgba.push_back(static_cast<std::uint8_t>(x));
      picture.rgba.push_back(static_cast<std::uint8_t>(y));
      picture.rgba.push_back(100);
      picture.rgba.push_back(255);
    }
  }
  return picture;
}

int red(const Picture& picture, std::int64_t x, std::int64_t y) {
  return picture.rgba[static_cast<std::size_t>(4 * (y * picture.width + x))];
}

Preprocessing plain() {
  Preprocessing options;
  options.resize = false;
  options.rescale = 1;
  options.mean = {0, 0, 0};
  options.deviation = {1, 1, 1};
  return options;
}

TEST(Preprocess, NormalisesInPlanes) {
  Preprocessing options = plain();
  options.rescale = 1.0 / 255;
  options.mean = {0.5, 0.25, 0};
  options.deviation = {0.5, 0.25, 2};
  const auto pixels = preprocess(gradient(4, 2), options, 2);
  ASSERT_TRUE(pixels.ok());
  ASSERT_EQ(pixels->values.size(), 24U);
  EXPECT_NEAR(pixels->values[3], (3.0 / 255 - 0.5) / 0.5, 1e-6);
  EXPECT_NEAR(pixels->values[8 + 4], (1.0 / 255 - 0.25) / 0.25, 1e-6);
  EXPECT_NEAR(pixels->values[16], 100.0 / 255 / 2, 1e-6);
}

TEST(Preprocess, LeavesOutWhatIsNoWholePatch) {
  const auto pixels = preprocess(gradient(37, 50), plain(), 16);
  ASSERT_TRUE(pixels.ok());
  EXPECT_EQ(pixels->width, 32);
  EXPECT_EQ(pixels->height, 48);
  EXPECT_EQ(red(pixels->shown, 0, 0), 0);
  EXPECT_EQ(red(pixels->shown, 31, 47), 31);
  const auto tiny = preprocess(gradient(15, 50), plain(), 16);
  ASSERT_FALSE(tiny.ok());
  EXPECT_EQ(tiny.error().code, ErrorCode::kBadInput);
}

TEST(Preprocess, ShortestEdgeKeepsTheAspect) {
  Preprocessing options = plain();
  options.resize = true;
  options.shortest_edge = true;
  options.height = 32;
  const auto wide = preprocess(gradient(200, 50), options, 16);
  ASSERT_TRUE(wide.ok());
  EXPECT_EQ(wide->width, 128);
  EXPECT_EQ(wide->height, 32);
  const auto tall = preprocess(gradient(50, 200), options, 16);
  ASSERT_TRUE(tall.ok());
  EXPECT_EQ(tall->width, 32);
  EXPECT_EQ(tall->height, 128);
}

TEST(Preprocess, CropsTheMiddleAndFillsWithBlack) {
  Preprocessing options = plain();
  options.center_crop = true;
  options.crop_width = 10;
  options.crop_height = 4;
  const auto cropped = preprocess(gradient(20, 2), options, 2);
  ASSERT_TRUE(cropped.ok());
  EXPECT_EQ(cropped->width, 10);
  EXPECT_EQ(cropped->height, 4);
  EXPECT_EQ(red(cropped->shown, 0, 1), 5);
  EXPECT_EQ(red(cropped->shown, 9, 2), 14);
  EXPECT_EQ(red(cropped->shown, 5, 0), 0);
  EXPECT_EQ(red(cropped->shown, 5, 3), 0);
  // The odd one of an odd number of pixels too many goes on the right and below, of one too few it is filled on the
  // left and above (Hugging Face's center_crop).
  options.crop_width = options.crop_height = 2;
  const auto odd = preprocess(gradient(5, 7), options, 2);
  ASSERT_TRUE(odd.ok());
  EXPECT_EQ(red(odd->shown, 0, 0), 1);
  EXPECT_EQ(odd->shown.rgba[1], 2);  // green: the row
  options.crop_width = options.crop_height = 6;
  const auto filled = preprocess(gradient(3, 3), options, 6);
  ASSERT_TRUE(filled.ok());
  const auto blue = [&](std::int64_t at) {
    return static_cast<int>(filled->shown.rgba[static_cast<std::size_t>(28 * at + 2)]);
  };
  EXPECT_EQ(std::vector<int>({blue(0), blue(1), blue(2), blue(3), blue(4), blue(5)}),
            std::vector<int>({0, 0, 100, 100, 100, 0}));
}

// Shrinking by four with a triangle of half width four: the mean of a linear ramp stays its middle.
TEST(Preprocess, ShrinkingCountsEveryPixel) {
  Preprocessing options = plain();
  options.resize = true;
  options.width = 16;
  options.height = 16;
  for (const auto interpolation : {Interpolation::kBilinear, Interpolation::kBicubic, Interpolation::kLanczos}) {
    options.interpolation = interpolation;
    const auto pixels = preprocess(gradient(64, 64), options, 16);
    ASSERT_TRUE(pixels.ok());
    for (std::int64_t x = 3; x < 13; ++x) {
      EXPECT_NEAR(red(pixels->shown, x, 8), 4 * static_cast<double>(x) + 1.5, 1.0);
    }
  }
  // One white pixel in 64 columns is not lost between the taps.
  Picture spike = gradient(64, 64);
  std::fill(spike.rgba.begin(), spike.rgba.end(), std::uint8_t{0});
  for (std::size_t row = 0; row < 64; ++row) {
    spike.rgba[4 * (row * 64 + 33)] = 255;
  }
  options.interpolation = Interpolation::kBilinear;
  const auto pixels = preprocess(spike, options, 16);
  ASSERT_TRUE(pixels.ok());
  int sum = 0;
  for (std::int64_t x = 0; x < 16; ++x) {
    sum += red(pixels->shown, x, 8);
  }
  EXPECT_NEAR(sum, 255.0 / 4, 2);
}

TEST(Preprocess, NearestTakesTheMiddlePixel) {
  Preprocessing options = plain();
  options.resize = true;
  options.interpolation = Interpolation::kNearest;
  options.width = 2;
  options.height = 2;
  const auto pixels = preprocess(gradient(8, 8), options, 2);
  ASSERT_TRUE(pixels.ok());
  EXPECT_EQ(red(pixels->shown, 0, 0), 2);
  EXPECT_EQ(red(pixels->shown, 1, 0), 6);
}

TEST(Preprocess, ExtremeShapesAreErrors) {
  Preprocessing options = plain();
  options.resize = true;
  options.shortest_edge = true;
  options.height = 4096;
  const auto line = preprocess(gradient(200000, 1), options, 16);
  ASSERT_FALSE(line.ok());
  EXPECT_EQ(line.error().code, ErrorCode::kTooLarge);
  options = plain();
  options.center_crop = true;
  options.crop_height = 16384;
  options.crop_width = 16384;
  const auto wide = preprocess(gradient(4, 4), options, 16);
  ASSERT_FALSE(wide.ok());
  EXPECT_EQ(wide.error().code, ErrorCode::kTooLarge);
  EXPECT_NE(wide.error().describe().find("after cropping, found 16384 × 16384"), std::string::npos);
  Picture broken = gradient(4, 4);
  broken.rgba.pop_back();
  EXPECT_EQ(preprocess(broken, plain(), 2).error().code, ErrorCode::kBadInput);
  EXPECT_EQ(preprocess(gradient(4, 4), plain(), 0).error().code, ErrorCode::kBadInput);
}

TEST(Preprocess, ReadsHuggingFacesFields) {
  const auto parsed = parse_preprocessor(
      R"({"do_resize": true, "size": {"height": 384, "width": 256}, "resample": 3, "do_center_crop": true,
          "crop_size": 224, "image_mean": [0.1, 0.2, 0.3], "image_std": [1, 2, 3], "rescale_factor": 0.01})",
      "preprocessor_config.json");
  ASSERT_TRUE(parsed.ok()) << parsed.error().describe();
  EXPECT_EQ(parsed->height, 384);
  EXPECT_EQ(parsed->width, 256);
  EXPECT_FALSE(parsed->shortest_edge);
  EXPECT_EQ(parsed->interpolation, Interpolation::kBicubic);
  EXPECT_TRUE(parsed->center_crop);
  EXPECT_EQ(parsed->crop_height, 224);
  EXPECT_EQ(parsed->mean[2], 0.3);
  EXPECT_EQ(parsed->deviation[1], 2);
  EXPECT_EQ(parsed->rescale, 0.01);
  const auto edge = parse_preprocessor(R"({"size": {"shortest_edge": 200}, "do_normalize": false})", "p");
  ASSERT_TRUE(edge.ok());
  EXPECT_TRUE(edge->shortest_edge);
  EXPECT_EQ(edge->mean[0], 0);
  EXPECT_EQ(edge->deviation[0], 1);
}

TEST(Preprocess, ReadsTimmsFields) {
  const auto parsed = parse_preprocessor(
      R"({"architecture": "vit_tiny", "pretrained_cfg": {"input_size": [3, 224, 224], "crop_pct": 0.9,
          "interpolation": "bicubic", "mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5]}})",
      "config.json");
  ASSERT_TRUE(parsed.ok()) << parsed.error().describe();
  EXPECT_TRUE(parsed->shortest_edge);
  EXPECT_EQ(parsed->height, 248);
  EXPECT_TRUE(parsed->center_crop);
  EXPECT_EQ(parsed->crop_width, 224);
  EXPECT_EQ(parsed->interpolation, Interpolation::kBicubic);
}

// The library's choice (transformers 5.24.0, get_optimal_tiled_canvas).
TEST(Preprocess, TilesAreThoseOfTheNearestAspect) {
  struct Case {
    std::int64_t width, height, tile, least, most, rows, columns;
  };
  const std::vector<Case> cases{
      {448, 448, 448, 1, 12, 1, 1},   {900, 900, 448, 1, 12, 2, 2},   {897, 900, 448, 1, 12, 2, 2},
      {1344, 448, 448, 1, 12, 1, 3},  {4000, 30, 448, 1, 12, 1, 12},  {30, 4000, 448, 1, 12, 12, 1},
      {1920, 1080, 448, 1, 12, 2, 4}, {1920, 1080, 448, 7, 12, 2, 4}, {1225, 700, 448, 1, 12, 2, 4},
      {525, 300, 448, 1, 12, 1, 2},   {64, 64, 448, 5, 6, 3, 2},      {500, 500, 448, 3, 3, 3, 1},
      {23, 10, 448, 2, 40, 3, 7},     {16384, 1, 24, 1, 256, 1, 256}, {2428, 975, 448, 2, 15, 2, 5},
      {1942, 2474, 448, 1, 23, 5, 4}, {1922, 54, 224, 2, 10, 1, 10},  {1927, 2938, 448, 4, 16, 3, 2},
      {617, 2618, 24, 2, 20, 9, 2},   {63, 1598, 448, 1, 9, 9, 1},    {176, 2422, 224, 1, 12, 12, 1},
      {2437, 1937, 448, 4, 17, 3, 4}, {2983, 1618, 448, 4, 8, 2, 4},  {400, 1498, 24, 2, 19, 8, 2},
      {1057, 889, 448, 4, 24, 4, 5},  {1726, 1234, 448, 4, 22, 3, 4}, {2188, 1438, 448, 4, 22, 2, 3},
      {1380, 952, 448, 1, 12, 2, 3}};
  for (const Case& each : cases) {
    Preprocessing options;
    options.height = options.width = each.tile;
    options.least_tiles = each.least;
    options.most_tiles = each.most;
    const TilePlace grid = canvas_of(each.width, each.height, options);
    EXPECT_EQ(grid, (TilePlace{each.rows, each.columns, 0, 0})) << each.width << " × " << each.height;
  }
}

// The library's choice (transformers 5.24.0, get_optimal_tiled_canvas of Command A Vision).
TEST(Preprocess, CommandATilesNeedTheLeastEnlarging) {
  struct Case {
    std::int64_t width, height, tile, most, rows, columns;
  };
  const std::vector<Case> cases{{512, 512, 512, 12, 1, 1},   {513, 512, 512, 12, 1, 2},   {1024, 1024, 512, 12, 2, 2},
                                {1025, 512, 512, 12, 1, 3},  {16384, 1, 512, 256, 1, 32}, {1, 16384, 512, 12, 12, 1},
                                {4000, 3000, 512, 12, 3, 4}, {700, 700, 512, 1, 1, 1},    {512, 1536, 512, 12, 3, 1},
                                {967, 1243, 24, 20, 5, 4},   {1623, 1962, 24, 2, 2, 1},   {273, 82, 364, 12, 1, 1},
                                {1186, 242, 24, 12, 2, 6},   {2199, 1476, 364, 4, 2, 2},  {435, 1073, 24, 2, 2, 1},
                                {2625, 1067, 364, 4, 1, 3},  {676, 1270, 364, 20, 4, 2},  {2998, 1526, 24, 12, 3, 4},
                                {1383, 2752, 364, 12, 4, 3}, {1020, 729, 24, 12, 3, 4},   {1147, 366, 512, 6, 1, 3},
                                {30, 1196, 512, 20, 3, 1},   {1277, 2083, 24, 12, 4, 3},  {1736, 2454, 364, 12, 4, 3}};
  for (const Case& each : cases) {
    Preprocessing options;
    options.height = options.width = each.tile;
    options.most_tiles = each.most;
    options.least_scaled = true;
    EXPECT_EQ(canvas_of(each.width, each.height, options), (TilePlace{each.rows, each.columns, 0, 0}))
        << each.width << " × " << each.height;
  }
  const auto parsed = parse_preprocessor(R"({"image_processor_type": "Cohere2VisionImageProcessor"})", "file.json");
  ASSERT_TRUE(parsed.ok()) << parsed.error().describe();
  EXPECT_EQ(parsed->rule, ResizeRule::kCanvas);
  EXPECT_EQ(parsed->height, 512);
  EXPECT_NEAR(parsed->mean[0], 0.48145466, 1e-12);
  EXPECT_EQ(preprocess_all(gradient(512, 1536), *parsed, 32)->size(), 4U);
  const auto off = parse_preprocessor(
      R"({"image_processor_type": "Cohere2VisionImageProcessor", "crop_to_patches": false})", "file.json");
  ASSERT_TRUE(off.ok()) << off.error().describe();
  EXPECT_EQ(off->rule, ResizeRule::kSize);
  EXPECT_EQ(canvas_of(4000, 3000, *off), (TilePlace{1, 1, 0, 0}));
}

// DeepSeek-VL: the picture in the middle of a square of the mean's colour; an odd pixel stands right and below.
TEST(Preprocess, PaddedPicturesStandInTheMiddle) {
  const auto parsed = parse_preprocessor(
      R"({"image_processor_type": "DeepseekVLImageProcessor", "size": {"height": 32, "width": 32}, "min_size": 5,
          "image_mean": [0.5, 0.25, 1], "image_std": [1, 1, 1], "resample": 0})",
      "file.json");
  ASSERT_TRUE(parsed.ok()) << parsed.error().describe();
  const auto pixels = preprocess(gradient(64, 42), *parsed, 8);  // 32 × 21, below 5 rows
  ASSERT_TRUE(pixels.ok()) << pixels.error().describe();
  EXPECT_EQ(pixels->width, 32);
  EXPECT_EQ(pixels->height, 32);
  EXPECT_EQ(red(pixels->shown, 9, 4), 127);
  EXPECT_EQ(red(pixels->shown, 9, 5), 19);  // the middle of two pixels
  EXPECT_EQ(red(pixels->shown, 9, 25), 19);
  EXPECT_EQ(red(pixels->shown, 9, 26), 127);
  EXPECT_EQ(pixels->shown.rgba[1], 63);
  EXPECT_EQ(pixels->shown.rgba[2], 255);
  EXPECT_EQ(pixels->shown.rgba[3], 255);
  const auto thin = preprocess(gradient(2, 64), *parsed, 8);  // 5 × 32, behind 13 columns
  ASSERT_TRUE(thin.ok()) << thin.error().describe();
  EXPECT_EQ(red(thin->shown, 12, 9), 127);
  EXPECT_NE(red(thin->shown, 13, 9), 127);
  EXPECT_NE(red(thin->shown, 17, 9), 127);
  EXPECT_EQ(red(thin->shown, 18, 9), 127);
  const auto grid = patch_grid(64, 42, *parsed, 8, 8);
  ASSERT_TRUE(grid.ok()) << grid.error().describe();
  EXPECT_NEAR(grid->dy, 21.0 / 42 / 8, 1e-12);
  EXPECT_NEAR(grid->y0, (5 + 0.25) / 8 - 0.5, 1e-12);  // the middle of the first row of pixels
  EXPECT_NEAR(grid->x0, 0.25 / 8 - 0.5, 1e-12);
  Preprocessing whole = *parsed;
  whole.resize = false;
  Picture line{200000, 1, std::vector<std::uint8_t>(std::size_t{200000} * 4, 9)};
  EXPECT_EQ(preprocess(line, whole, 8).error().code, ErrorCode::kTooLarge);
}

// The library's choice, and what it cuts off (transformers 5.24.0, select_best_resolution and unpad_image), for tiles of
// 336 pixels with 24 × 24 cells.
TEST(Preprocess, PinpointsKeepMostOfThePicture) {
  struct Case {
    std::int64_t width, height, rows, columns, top, left, covered_rows, covered_columns;
  };
  const std::vector<Case> cases{
      {336, 336, 1, 2, 0, 12, 24, 24},  {100, 100, 1, 2, 0, 12, 24, 24},  {672, 672, 2, 2, 0, 0, 48, 48},
      {1000, 333, 1, 3, 0, 0, 24, 72},  {640, 480, 2, 2, 6, 0, 36, 48},   {480, 640, 2, 2, 0, 6, 48, 36},
      {524, 1276, 3, 1, 7, 0, 58, 24},  {735, 1520, 3, 1, 11, 0, 50, 24}, {1415, 1629, 2, 2, 0, 3, 48, 42},
      {1724, 1931, 2, 2, 0, 3, 48, 42}, {1336, 1516, 2, 2, 0, 3, 48, 42}, {1086, 1889, 2, 2, 0, 10, 48, 28},
      {1722, 60, 1, 3, 11, 0, 2, 72},   {1590, 954, 2, 2, 10, 0, 28, 48}, {511, 1932, 3, 1, 0, 2, 72, 20},
      {107, 1330, 3, 1, 0, 9, 72, 6},   {322, 1846, 3, 1, 0, 6, 72, 12},  {762, 232, 1, 3, 1, 0, 22, 72}};
  const auto parsed = parse_preprocessor(
      R"({"image_processor_type": "LlavaNextImageProcessor", "size": {"shortest_edge": 336}})", "file.json");
  ASSERT_TRUE(parsed.ok()) << parsed.error().describe();
  for (const Case& each : cases) {
    const TilePlace grid = canvas_of(each.width, each.height, *parsed);
    EXPECT_EQ(grid, (TilePlace{each.rows, each.columns, 0, 0})) << each.width << " × " << each.height;
    EXPECT_EQ(covered_cells(24 * grid.rows, 24 * grid.columns, each.width, each.height),
              (CellWindow{each.top, each.left, each.covered_rows, each.covered_columns}))
        << each.width << " × " << each.height;
  }
  EXPECT_EQ(covered_cells(24, 48, 5000, 1).rows, 0);
  EXPECT_EQ(covered_cells(24, 48, 1, 5000).columns, 0);
  const Picture square{8, 8, std::vector<std::uint8_t>(std::size_t{8} * 8 * 4, 9)};
  EXPECT_EQ(preprocess_all(square, *parsed, 14)->size(), 3U);
  EXPECT_EQ(preprocess(square, *parsed, 14).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(patch_grid(8, 8, *parsed, 14, 14).error().code, ErrorCode::kUnsupported);
}

// LLaVA-OneVision: up to six tiles of 384 pixels in either direction, where the file lists no sizes.
TEST(Preprocess, OneVisionHasSizesOfItsOwn) {
  const auto parsed = parse_preprocessor(R"({"image_processor_type": "LlavaOnevisionImageProcessor"})", "file.json");
  ASSERT_TRUE(parsed.ok()) << parsed.error().describe();
  EXPECT_EQ(parsed->rule, ResizeRule::kPinpoints);
  EXPECT_EQ(parsed->height, 384);
  EXPECT_EQ(parsed->interpolation, Interpolation::kBicubic);
  ASSERT_EQ(parsed->pinpoints.size(), 36U);
  EXPECT_EQ(parsed->pinpoints.front(), (std::array<std::int64_t, 2>{384, 384}));
  EXPECT_EQ(parsed->pinpoints[7], (std::array<std::int64_t, 2>{768, 768}));
  EXPECT_EQ(parsed->pinpoints.back(), (std::array<std::int64_t, 2>{2304, 2304}));
  EXPECT_EQ(canvas_of(1900, 700, *parsed), (TilePlace{2, 5, 0, 0}));
}

TEST(Preprocess, APictureInTilesIsNotOneInput) {
  const auto parsed = parse_preprocessor(
      R"({"image_processor_type": "GotOcr2ImageProcessor", "crop_to_patches": true, "size": {"height": 8, "width": 8}})",
      "file.json");
  ASSERT_TRUE(parsed.ok()) << parsed.error().describe();
  const Picture wide{16, 8, std::vector<std::uint8_t>(std::size_t{16} * 8 * 4, 9)};
  const auto tiles = preprocess_all(wide, *parsed, 4);
  ASSERT_TRUE(tiles.ok()) << tiles.error().describe();
  ASSERT_EQ(tiles->size(), 3U);  // and the whole
  EXPECT_EQ((*tiles)[1].tile, (TilePlace{1, 2, 0, 1}));
  EXPECT_EQ((*tiles)[2].tile, TilePlace());
  EXPECT_EQ(preprocess(wide, *parsed, 4).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(patch_grid(16, 8, *parsed, 4, 4).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(preprocess_all(wide, *parsed, 3).error().code, ErrorCode::kBadInput);  // tiles of no whole patches
  const auto always = parse_preprocessor(R"({"image_processor_type": "Idefics3ImageProcessor"})", "file.json");
  ASSERT_TRUE(always.ok()) << always.error().describe();
  EXPECT_EQ(preprocess(wide, *always, 4).error().code, ErrorCode::kUnsupported);
  const Picture square{8, 8, std::vector<std::uint8_t>(std::size_t{8} * 8 * 4, 9)};
  EXPECT_TRUE(preprocess(square, *parsed, 4).ok());
  EXPECT_TRUE(patch_grid(8, 8, *parsed, 4, 4).ok());
  EXPECT_EQ(preprocess_all(square, *parsed, 4)->size(), 1U);
  const auto large = parse_preprocessor(
      R"({"image_processor_type": "GotOcr2ImageProcessor", "crop_to_patches": true, "do_resize": false,
          "max_patches": 256, "min_patches": 256, "size": {"height": 16384, "width": 16384}})",
      "file.json");
  ASSERT_TRUE(large.ok()) << large.error().describe();
  EXPECT_EQ(preprocess_all(square, *large, 4).error().code, ErrorCode::kTooLarge);
}

TEST(Preprocess, ANumberIsTheShorterEdgeOfClipAndChineseClip) {
  for (const auto& [type, shorter] :
       {std::pair{"CLIPImageProcessor", true}, {"ChineseCLIPImageProcessor", true}, {"ViTImageProcessor", false}}) {
    const auto options =
        parse_preprocessor(std::string(R"({"image_processor_type": ")") + type + R"(", "size": 30})", "file.json");
    ASSERT_TRUE(options.ok()) << options.error().describe();
    EXPECT_EQ(options->shortest_edge, shorter) << type;
    EXPECT_EQ(options->height, 30);
  }
}

// SigLIP 2's processor: as many whole patches as max_num_patches allows. Sizes of transformers 5.24.
TEST(Preprocess, PatchesAreAsManyAsThereMayBe) {
  const auto options = parse_preprocessor(
      R"({"image_processor_type": "Siglip2ImageProcessorFast", "patch_size": 16, "max_num_patches": 256})",
      "file.json");
  ASSERT_TRUE(options.ok()) << options.error().describe();
  EXPECT_EQ(options->interpolation, Interpolation::kBilinear);
  struct Sizes {
    std::int64_t width, height, new_width, new_height;
  };
  for (const Sizes& each :
       {Sizes{640, 480, 288, 224}, {480, 640, 224, 288}, {1000, 100, 800, 80}, {33, 17, 352, 176}}) {
    const auto pixels = preprocess(gradient(each.width, each.height), *options, 16);
    ASSERT_TRUE(pixels.ok()) << pixels.error().describe();
    EXPECT_EQ(pixels->width, each.new_width);
    EXPECT_EQ(pixels->height, each.new_height);
  }
}

TEST(Preprocess, WrongFieldsAreNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"size": "big"})", "size"},
      {R"({"size": {"height": 0, "width": 4}})", "size"},
      {R"({"size": 1000000})", "size"},
      {R"({"resample": 9})", "resample"},
      {R"({"image_std": [1, 0, 1]})", "image_std"},
      {R"({"image_mean": [1, "a", 1]})", "image_mean"},
      {R"({"do_resize": 3})", "do_resize"},
      {R"({"pretrained_cfg": {"input_size": [224]}})", "input_size"},
      {R"({"image_processor_type": "GotOcr2ImageProcessor", "max_patches": 0})", "max_patches"},
      {R"({"image_processor_type": "GotOcr2ImageProcessor", "max_patches": 257})", "max_patches"},
      {R"({"image_processor_type": "GotOcr2ImageProcessor", "min_patches": 13})", "min_patches"},
      {R"({"image_processor_type": "GotOcr2ImageProcessor", "min_patches": 1.5})", "min_patches"},
      {R"({"image_processor_type": "GotOcr2ImageProcessor", "crop_to_patches": "yes"})", "crop_to_patches"},
      {R"({"image_processor_type": "Siglip2ImageProcessor", "max_num_patches": 0})", "max_num_patches"},
      {R"({"image_processor_type": "Siglip2ImageProcessor", "max_num_patches": 1048577})", "max_num_patches"},
      {R"({"image_processor_type": "CLIPImageProcessor", "crop_to_patches": true})", "crop_to_patches"},
      {R"({"image_processor_type": "LlavaNextImageProcessor", "size": {"shortest_edge": 8},
           "crop_size": {"height": 16, "width": 8}})",
       "crop_size"},
      {R"({"image_processor_type": "LlavaNextImageProcessor", "size": {"shortest_edge": 8},
           "image_grid_pinpoints": [[16, 12]]})",
       "image_grid_pinpoints"},
      {R"({"image_processor_type": "LlavaNextImageProcessor", "size": {"shortest_edge": 8},
           "image_grid_pinpoints": [[16]]})",
       "image_grid_pinpoints"},
      {R"({"image_processor_type": "LlavaNextImageProcessor", "size": {"shortest_edge": 8},
           "image_grid_pinpoints": []})",
       "image_grid_pinpoints"},
      {R"({"image_processor_type": "LlavaNextImageProcessor", "size": {"shortest_edge": 8},
           "image_grid_pinpoints": [[2064, 8]]})",
       "image_grid_pinpoints"},
      {R"({"image_processor_type": "LlavaNextImageProcessor", "size": {"shortest_edge": 8},
           "image_grid_pinpoints": [[16, -8]]})",
       "image_grid_pinpoints"},
      {R"({"image_processor_type": "Cohere2VisionImageProcessor", "max_patches": 0})", "max_patches"},
      {R"({"image_processor_type": "Cohere2VisionImageProcessor", "crop_to_patches": 1})", "crop_to_patches"},
      {R"({"image_processor_type": "DeepseekVLImageProcessor", "size": {"height": 8, "width": 16}})", "size"},
      {R"({"image_processor_type": "DeepseekVLImageProcessor", "size": {"shortest_edge": 16}})", "size"},
      {R"({"image_processor_type": "DeepseekVLImageProcessor", "min_size": 385})", "min_size"},
      {R"({"image_processor_type": "DeepseekVLImageProcessor", "min_size": 0})", "min_size"},
      {R"({"image_processor_type": "DeepseekVLImageProcessor", "do_pad": false})", "do_pad"},
      {R"({"image_processor_type": "DeepseekVLImageProcessor", "image_mean": [0.5, 2, 0.5]})", "image_mean"},
      {R"({"image_processor_type": "Lfm2VlImageProcessorFast", "encoder_patch_size": 0})", "encoder_patch_size"},
      {R"({"image_processor_type": "Lfm2VlImageProcessorFast", "downsample_factor": 65})", "downsample_factor"},
      {R"({"image_processor_type": "Lfm2VlImageProcessorFast", "max_image_tokens": 0})", "max_image_tokens"},
      {R"({"image_processor_type": "Lfm2VlImageProcessorFast", "max_image_tokens": 1048577})", "max_image_tokens"},
      {R"({"image_processor_type": "Lfm2VlImageProcessorFast", "min_image_tokens": 257})", "min_image_tokens"},
      {R"({"image_processor_type": "Lfm2VlImageProcessorFast", "min_image_tokens": -1})", "min_image_tokens"},
      {R"({"image_processor_type": "Lfm2VlImageProcessorFast", "max_pixels_tolerance": 0})", "max_pixels_tolerance"},
      {R"({"image_processor_type": "Lfm2VlImageProcessorFast", "max_pixels_tolerance": "2"})", "max_pixels_tolerance"},
      {R"({"image_processor_type": "Lfm2VlImageProcessorFast", "do_image_splitting": 1})", "do_image_splitting"},
      {R"({"image_processor_type": "Lfm2VlImageProcessorFast", "use_thumbnail": "no"})", "use_thumbnail"},
      {R"({"image_processor_type": "Lfm2VlImageProcessorFast", "max_tiles": 257})", "max_tiles"},
      {R"({"image_processor_type": "Lfm2VlImageProcessorFast", "min_tiles": 11})", "min_tiles"},
      {R"({"image_processor_type": "Lfm2VlImageProcessorFast", "min_tiles": 0})", "min_tiles"},
      {R"({"image_processor_type": "Lfm2VlImageProcessorFast", "tile_size": 500})", "tile_size"},
      {R"({"image_processor_type": "Lfm2VlImageProcessorFast", "tile_size": 0})", "tile_size"},
      {R"({"image_processor_type": "Gemma4ImageProcessor", "patch_size": 0})", "patch_size"},
      {R"({"image_processor_type": "Gemma4ImageProcessor", "patch_size": "4"})", "patch_size"},
      {R"({"image_processor_type": "Gemma4ImageProcessor", "pooling_kernel_size": 65})", "pooling_kernel_size"},
      {R"([])", "object"},
      {R"({"a": 1, "a": 2})", "twice"},
  };
  for (const auto& [json, named] : cases) {
    const auto parsed = parse_preprocessor(json, "file.json");
    ASSERT_FALSE(parsed.ok()) << json;
    EXPECT_EQ(parsed.error().code, ErrorCode::kBadInput);
    EXPECT_NE(parsed.error().describe().find(named), std::string::npos) << parsed.error().describe();
    EXPECT_EQ(parsed.error().context.rfind("file.json", 0), 0U);
  }
}

}  // namespace
}  // namespace locus::image
