// Changes of a picture: the line of words, and what is refused.
#include "models/api/picture_changes.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "models/image/change.h"

namespace locus::image {
namespace {

using models::LengthUnit;
using models::parse_picture_changes;
using models::PictureStep;
using models::to_text;

Picture picture_of(std::int64_t width, std::int64_t height) {
  Picture picture{width, height, std::vector<std::uint8_t>(static_cast<std::size_t>(width * height * 4), 255)};
  for (std::int64_t n = 0; n < width * height; ++n) {
    picture.rgba[static_cast<std::size_t>(4 * n)] = static_cast<std::uint8_t>(n % width);
    picture.rgba[static_cast<std::size_t>(4 * n + 1)] = static_cast<std::uint8_t>(n / width);
  }
  return picture;
}

Result<Picture> changed(const Picture& picture, const std::string& line) {
  Preprocessing options;
  options.height = options.width = 32;
  LOCUS_TRY(const models::PictureChanges changes, parse_picture_changes(line));
  return change_picture(picture, changes, options, 8);
}

bool draws() {
  return changed(picture_of(4, 4), "mirror").ok();
}

TEST(PictureChanges, ReadsALineAndWritesItTheSame) {
  for (const char* const line : {"shift 8 0; rotate 15", "shift -0.125p 10%", "scale 1.5; mirror; mirror up-down",
                                 "crop 1 2 3 4", "occlude 1p 1p 2p 2p", "occlude 0 0 5% 5% 255",
                                 "blur 2; noise 16; noise 16 7; brightness 1.4", "border wrap", "border edge"}) {
    const auto changes = parse_picture_changes(line);
    ASSERT_TRUE(changes.ok()) << line << ": " << changes.error().describe();
    const std::string text = to_text(*changes);
    const auto again = parse_picture_changes(text);
    ASSERT_TRUE(again.ok()) << text;
    EXPECT_EQ(*again, *changes);
    EXPECT_EQ(to_text(*again), text);
  }
  EXPECT_EQ(to_text(*parse_picture_changes(" shift  08.0\t-0p ;mirror left-right;noise 3 1 ")),
            "shift 8 0p; mirror; noise 3");
  EXPECT_TRUE(parse_picture_changes("").ok());
  EXPECT_TRUE(parse_picture_changes("  ")->empty());
  const auto moved = parse_picture_changes("shift 0.5p 25%");
  EXPECT_EQ(moved->front().numbers[0].unit, LengthUnit::kPatches);
  EXPECT_EQ(moved->front().numbers[1], (models::PictureNumber{25, LengthUnit::kPercent}));
}

TEST(PictureChanges, FormsAreInTheOrderOfTheSteps) {
  const auto& forms = models::picture_steps();
  ASSERT_EQ(forms.size(), static_cast<std::size_t>(PictureStep::kBorder) + 1);
  for (std::size_t n = 0; n < forms.size(); ++n) {
    EXPECT_EQ(forms[n].step, static_cast<PictureStep>(n));
    EXPECT_LE(forms[n].numbers.size(), models::kMaxStepNumbers);
  }
}

TEST(PictureChanges, RefusesOtherLinesByName) {
  struct Case {
    std::string line;
    std::string said;
  };
  std::string many = "mirror";
  for (int n = 0; n < 32; ++n) {
    many += ";mirror";
  }
  for (const Case& each : std::vector<Case>{
           {"slide 3",
            "expected shift, rotate, scale, mirror, crop, occlude, blur, noise, brightness, border, found slide"},
           {"shift 3", "expected shift x y, found 1 number"},
           {"shift 3 4 5", "expected shift x y, found 5 behind it"},
           {"shift a 0", "shift x: expected a number from -99999 to 99999 pixels, or with p or % behind it, found a"},
           {"shift nan 0", "found nan"},
           {"shift 1e999 0", "found 1e999"},
           {"shift 20000p 0", "found 20000p"},
           {"rotate inf", "rotate degrees: expected a number from -3600 to 3600, found inf"},
           {"rotate 4p", "found 4p"},
           {"scale 0", "scale factor: expected a number from 0.05 to 20, found 0"},
           {"mirror sideways", "mirror axis: expected left-right, up-down, found sideways"},
           {"crop -1 0 3 3", "crop left"},
           {"occlude 0 0 1 1 256", "occlude level: expected a whole number from 0 to 255, found 256"},
           {"noise 3 1.5", "noise seed: expected a whole number"},
           {"border", "expected border kind, found 0 numbers"},
           {"shift 1 1;", "expected a step between two semicolons, found none"},
           {many, "expected at most 32 steps, found more"}}) {
    const auto changes = parse_picture_changes(each.line);
    ASSERT_FALSE(changes.ok()) << each.line;
    EXPECT_EQ(changes.error().code, ErrorCode::kUsage) << each.line;
    EXPECT_NE(changes.error().describe().find(each.said), std::string::npos)
        << each.line << ": " << changes.error().describe();
  }
}

TEST(PictureChanges, WhatDoesNotFitThePictureIsRefused) {
  if (!draws()) {
    GTEST_SKIP() << "no OpenCV";
  }
  const Picture small = picture_of(20, 10);
  for (const char* const line : {"crop 0 0 21 10", "crop 15 0 6 4", "crop 0 0 0.4 4", "occlude 0 0 20 11",
                                 "crop 0 0 0 0", "crop 2p 0 1p 99999"}) {
    const auto out = changed(small, line);
    ASSERT_FALSE(out.ok()) << line;
    EXPECT_EQ(out.error().code, ErrorCode::kBadInput);
    EXPECT_NE(out.error().describe().find("within 20 × 10 pixels"), std::string::npos) << out.error().describe();
  }
  const auto blurred = changed(picture_of(300, 4), "blur 200%");
  EXPECT_EQ(blurred.ok() ? ErrorCode::kInternal : blurred.error().code, ErrorCode::kTooLarge);
  const auto wide = changed(picture_of(40000, 1), "mirror");
  EXPECT_EQ(wide.ok() ? ErrorCode::kInternal : wide.error().code, ErrorCode::kTooLarge);
}

TEST(PictureChanges, APictureWithoutPixelsIsRefused) {
  if (!draws()) {
    GTEST_SKIP() << "no OpenCV";
  }
  for (const Picture& none :
       {Picture{0, 0, {}}, Picture{4, 0, {}}, Picture{0, 4, {}}, Picture{-2, -2, {}},
        Picture{4, 4, std::vector<std::uint8_t>(16)}, Picture{2, 2, std::vector<std::uint8_t>(64)}}) {
    for (const char* const line : {"rotate 15", "shift 8 0", "crop 0 0 1 1", "blur 2", "noise 16", "brightness 2"}) {
      const auto out = changed(none, line);
      ASSERT_FALSE(out.ok()) << line;
      EXPECT_EQ(out.error().code, ErrorCode::kBadInput) << line;
      EXPECT_NE(out.error().describe().find("expected a picture with pixels"), std::string::npos);
    }
  }
}

// The largest picture that is opened: refused where a step would take too long, else changed in its size; wide and thin.
TEST(PictureChanges, LargePicturesAreBounded) {
  if (!draws()) {
    GTEST_SKIP() << "no OpenCV";
  }
  for (const auto& [width, height] : {std::pair(32767, 1), std::pair(1, 32767), std::pair(40000, 2)}) {
    const auto out = changed(picture_of(width, height), "rotate 15");
    ASSERT_FALSE(out.ok());
    EXPECT_EQ(out.error().code, ErrorCode::kTooLarge);
    EXPECT_NE(out.error().describe().find("sides of at most 32766 pixels"), std::string::npos);
  }
  for (const auto& [width, height] : {std::pair(32766, 1), std::pair(1, 32766)}) {
    for (const char* const line : {"shift 99999 -99999", "border reflect; shift -99999 99999", "border wrap; rotate 45",
                                   "scale 20; rotate 90", "mirror; mirror up-down"}) {
      const auto out = changed(picture_of(width, height), line);
      ASSERT_TRUE(out.ok()) << line << ": " << out.error().describe();
      EXPECT_EQ(out->rgba.size(), static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 4) << line;
    }
  }
  const Picture whole{10000, 10000, std::vector<std::uint8_t>(400'000'000, 255)};
  const auto blurred = changed(whole, "blur 21");  // over 2e9 deviations × pixels
  EXPECT_EQ(blurred.ok() ? ErrorCode::kInternal : blurred.error().code, ErrorCode::kTooLarge);
  const auto part = changed(whole, "crop 9999 9999 1 1; rotate 15");
  ASSERT_TRUE(part.ok()) << part.error().describe();
  EXPECT_EQ(part->rgba.size(), 4U);
  const auto outside = changed(whole, "crop 9999 9999 2 1");
  EXPECT_EQ(outside.ok() ? ErrorCode::kInternal : outside.error().code, ErrorCode::kBadInput);
}

// Angles beyond a turn, next to none, and factors whose product leaves every picture: pixels of the picture, or its border.
TEST(PictureChanges, OddAnglesAndFactorsGivePixels) {
  if (!draws()) {
    GTEST_SKIP() << "no OpenCV";
  }
  const Picture picture = picture_of(31, 17);
  for (const char* const line : {"rotate 3600", "rotate -3600", "rotate 360; rotate 720", "rotate 1e-300", "rotate -0",
                                 "shift 0 1e-300", "scale 1", "shift 99999 0; shift -99999 0"}) {
    const auto out = changed(picture, line);
    ASSERT_TRUE(out.ok()) << line << ": " << out.error().describe();
    EXPECT_EQ(out->rgba, picture.rgba) << line;
  }
  std::string larger = "scale 20";
  std::string smaller = "scale 0.05";
  for (int n = 1; n < 32; ++n) {
    larger += "; scale 20";
    smaller += "; scale 0.05";
  }
  for (const std::string& line :
       {larger, smaller, std::string("rotate 89.99999999"), std::string("rotate 3599.5; scale 0.05"),
        std::string("border black; shift 99999 99999"), std::string("border wrap; scale 0.05")}) {
    for (const auto& [width, height] : {std::pair(31, 17), std::pair(1, 1), std::pair(1, 9)}) {
      const auto out = changed(picture_of(width, height), line);
      ASSERT_TRUE(out.ok()) << line << ": " << out.error().describe();
      ASSERT_EQ(out->rgba.size(), static_cast<std::size_t>(width * height * 4)) << line;
    }
  }
  for (const char* const line :
       {"rotate 3600.1",  "rotate -1e9",    "rotate -inf",   "rotate nan(1)",      "rotate 0x1p4", "rotate 1,5",
        "rotate 15°",     "scale -1",       "scale inf",     "scale nan",          "scale 0.049",  "brightness nan",
        "brightness -1",  "blur nan",       "blur -1",       "noise nan",          "noise 3 -1",   "noise 3 1e30",
        "crop nan 0 1 1", "crop 0 0 inf 1", "crop 0 0 -3 1", "occlude 0 0 1 1 nan"}) {
    const auto changes = parse_picture_changes(line);
    ASSERT_FALSE(changes.ok()) << line;
    EXPECT_EQ(changes.error().code, ErrorCode::kUsage) << line;
  }
}

TEST(PictureChanges, StepsThatMoveAreOneResampling) {
  if (!draws()) {
    GTEST_SKIP() << "no OpenCV";
  }
  const Picture picture = picture_of(31, 17);
  for (const char* const line : {"rotate 33; rotate -33", "shift 5.5 3; shift -5.5 -3",
                                 "scale 1.7; scale 0.5; scale 2; scale 0.5882352941176471", "mirror; mirror",
                                 "mirror up-down; rotate 180; mirror", "rotate 90; rotate 90; rotate 180"}) {
    const auto out = changed(picture, line);
    ASSERT_TRUE(out.ok()) << out.error().describe();
    EXPECT_EQ(out->rgba, picture.rgba) << line;
  }
  // A shift of whole pixels moves them as they are, and the edge goes on.
  const auto moved = changed(picture, "shift 3 -2");
  for (std::int64_t y = 0; y < 17; ++y) {
    for (std::int64_t x = 0; x < 31; ++x) {
      const auto* const pixel = moved->rgba.data() + 4 * (y * 31 + x);
      ASSERT_EQ(pixel[0], std::max<std::int64_t>(x - 3, 0));
      ASSERT_EQ(pixel[1], std::min<std::int64_t>(y + 2, 16));
      ASSERT_EQ(pixel[3], 255);
    }
  }
}

TEST(PictureChanges, NoiseIsThatOfItsSeed) {
  if (!draws()) {
    GTEST_SKIP() << "no OpenCV";
  }
  const Picture picture = picture_of(64, 64);
  EXPECT_EQ(changed(picture, "noise 9 4")->rgba, changed(picture, "noise 9 4")->rgba);
  EXPECT_NE(changed(picture, "noise 9 4")->rgba, changed(picture, "noise 9 5")->rgba);
}

// Of a 61 × 43 picture that becomes 32 × 32 with patches of 8: the middle of the first patch is at pixel 3.5 of 32.
TEST(PictureChanges, PatchesLieWhereTheyAreCut) {
  Preprocessing options;
  options.height = options.width = 32;
  const auto size = patch_size(61, 43, options, 8);
  ASSERT_TRUE(size.ok());
  EXPECT_DOUBLE_EQ(size->width, 15.25);
  EXPECT_DOUBLE_EQ(size->height, 10.75);
  const auto grid = patch_grid(61, 43, options, 8, 8);
  ASSERT_TRUE(grid.ok());
  EXPECT_NEAR(grid->x0 + grid->dx * (15.25 / 2 - 0.5), 0, 1e-12);
  EXPECT_NEAR(grid->y0 + grid->dy * (10.75 * 3.5 - 0.5), 3, 1e-12);
  options.center_crop = true;
  options.crop_width = options.crop_height = 24;  // 4 pixels from each side
  const auto cropped = patch_grid(61, 43, options, 8, 8);
  EXPECT_NEAR(cropped->x0 + cropped->dx * (15.25 - 0.5), 0, 1e-12);
  options.rule = ResizeRule::kTiles;
  options.tile = 16;
  options.longest_edge = 64;
  EXPECT_EQ(patch_grid(61, 43, options, 8, 8).error().code, ErrorCode::kUnsupported);
  EXPECT_FALSE(patch_size(0, 43, options, 8).ok());
}

}  // namespace
}  // namespace locus::image
