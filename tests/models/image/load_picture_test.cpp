#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

#include "core/base/atomic_file.h"
#include "models/image/image.h"
#include "models/text/base64.h"
#include "tests/models/image/pictures.h"
#include "tests/models/text/tokens.h"
#include "tests/support/picture.h"

namespace locus::image {
namespace {

Result<OpenedPicture> opened(const std::string& bytes, std::int64_t pixel_limit = 100'000'000) {
  const text::TestFolder folder("picture");
  const auto file = folder.path() / "image";
  std::ofstream(file, std::ios::binary) << bytes;
  return open_picture(file, pixel_limit);
}

Result<Picture> load(const std::string& bytes, std::int64_t pixel_limit = 100'000'000) {
  LOCUS_TRY(OpenedPicture picture, opened(bytes, pixel_limit));
  return std::move(picture.picture);
}

Colour at(const Picture& picture, std::int64_t x, std::int64_t y) {
  const std::uint8_t* pixel = picture.rgba.data() + 4 * (y * picture.width + x);
  return {pixel[0], pixel[1], pixel[2]};
}

// Every pixel its own colour: where it is.
Colour place(std::int64_t x, std::int64_t y) {
  return {static_cast<std::uint8_t>(10 * x), static_cast<std::uint8_t>(10 * y), 77};
}

class LoadPicture : public testing::Test {
 protected:
  void SetUp() override {
    const auto picture = load(png_of(5, 3, place));
    if (!picture.ok() && picture.error().code == ErrorCode::kUnsupported) {
      GTEST_SKIP() << picture.error().describe();
    }
  }
};

std::string exif(std::uint32_t orientation) {
  return directory({{274, 3, orientation}});
}

TEST_F(LoadPicture, ReadsEveryPixelOfAPng) {
  const auto picture = load(png_of(5, 3, place));
  ASSERT_TRUE(picture.ok()) << picture.error().describe();
  ASSERT_EQ(picture->width, 5);
  ASSERT_EQ(picture->height, 3);
  for (std::int64_t y = 0; y < 3; ++y) {
    for (std::int64_t x = 0; x < 5; ++x) {
      EXPECT_EQ(at(*picture, x, y), place(x, y));
    }
  }
  EXPECT_EQ(picture->rgba[3], 255);
}

TEST_F(LoadPicture, ReadsJpegAndWebp) {
  for (const char* encoded : {kJpegBase64, kWebpBase64}) {
    const auto picture = load(*text::from_base64(encoded));
    ASSERT_TRUE(picture.ok()) << picture.error().describe();
    ASSERT_EQ(picture->width, 16);
    ASSERT_EQ(picture->height, 8);
    EXPECT_GT(at(*picture, 1, 4)[0], 230);
    EXPECT_LT(at(*picture, 1, 4)[2], 30);
    EXPECT_GT(at(*picture, 14, 4)[2], 230);
  }
}

// Where the stored pixel (x, y) of a w × h image is shown, by EXIF's eight orientations.
std::pair<std::int64_t, std::int64_t> shown_at(int orientation, std::int64_t x, std::int64_t y, std::int64_t w,
                                               std::int64_t h) {
  switch (orientation) {
    case 2:
      return {w - 1 - x, y};
    case 3:
      return {w - 1 - x, h - 1 - y};
    case 4:
      return {x, h - 1 - y};
    case 5:
      return {y, x};
    case 6:
      return {h - 1 - y, x};
    case 7:
      return {h - 1 - y, w - 1 - x};
    case 8:
      return {y, w - 1 - x};
    default:
      return {x, y};
  }
}

TEST_F(LoadPicture, TurnsEveryOrientationUpright) {
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const auto value = static_cast<std::uint32_t>(orientation);
    for (const std::string& bytes :
         {tiff_of(5, 3, value, place), png_of(5, 3, place, png_chunk("eXIf", exif(value)))}) {
      const auto picture = load(bytes);
      ASSERT_TRUE(picture.ok()) << picture.error().describe();
      ASSERT_EQ(picture->width, orientation < 5 ? 5 : 3);
      for (std::int64_t y = 0; y < 3; ++y) {
        for (std::int64_t x = 0; x < 5; ++x) {
          const auto [column, row] = shown_at(orientation, x, y, 5, 3);
          EXPECT_EQ(at(*picture, column, row), place(x, y)) << "orientation " << orientation;
        }
      }
    }
  }
}

TEST_F(LoadPicture, TurnsAJpegByItsExif) {
  const std::string plain = *text::from_base64(kJpegBase64);
  std::string segment("Exif\0\0", 6);
  segment += exif(6);
  std::string turned = plain.substr(0, 2) + "\xFF\xE1";
  put_big(turned, segment.size() + 2, 2);
  turned += segment + plain.substr(2);
  const auto picture = load(turned);
  ASSERT_TRUE(picture.ok()) << picture.error().describe();
  ASSERT_EQ(picture->width, 8);
  ASSERT_EQ(picture->height, 16);
  EXPECT_GT(at(*picture, 4, 1)[0], 230);   // the left half is on top
  EXPECT_GT(at(*picture, 4, 14)[2], 230);  // a quarter turn clockwise
}

TEST_F(LoadPicture, RefusesBombsBeforeDecoding) {
  const auto bomb = load(png_header(60000, 60000) + png_chunk("IDAT", "x"));
  ASSERT_FALSE(bomb.ok());
  EXPECT_EQ(bomb.error().code, ErrorCode::kTooLarge);
  EXPECT_NE(bomb.error().describe().find("60000 × 60000"), std::string::npos);
  const auto tiff = load(directory({{256, 4, 0xFFFFFFFF}, {257, 4, 0xFFFFFFFF}}));
  ASSERT_FALSE(tiff.ok());
  EXPECT_EQ(tiff.error().code, ErrorCode::kTooLarge);
  const auto small = load(png_of(5, 3, place), 14);
  ASSERT_FALSE(small.ok());
  EXPECT_EQ(small.error().code, ErrorCode::kTooLarge);
}

std::string without(std::string bytes, const std::string& part) {
  const std::size_t place = bytes.rfind(part);
  return place == std::string::npos ? bytes : bytes.erase(place, part.size());
}

TEST_F(LoadPicture, DamagedFilesAreErrors) {
  const std::string jpeg = *text::from_base64(kJpegBase64);
  const std::string webp = *text::from_base64(kWebpBase64);
  const std::string png = png_of(5, 3, place);
  const std::string tiff = tiff_of(5, 3, 1, place);
  std::vector<std::string> damaged{"", "hello", png_header(0, 5), png_header(5, 0xFFFFFFFF).substr(0, 20)};
  damaged.push_back(directory({{256, 4, 8}, {257, 4, 8}, {322, 4, 1000000}, {323, 4, 16}}));
  for (const std::string& whole : {jpeg, webp, png, tiff}) {
    damaged.push_back(whole.substr(0, 12));
    damaged.push_back(whole.substr(0, 30));
  }
  damaged.push_back(without(jpeg, "\xFF\xD9"));
  for (const std::string& bytes : damaged) {
    const auto picture = load(bytes);
    ASSERT_FALSE(picture.ok()) << bytes.size() << " bytes";
    EXPECT_EQ(picture.error().code, ErrorCode::kBadInput) << picture.error().describe();
    EXPECT_EQ(picture.error().describe().find('\n'), std::string::npos);
  }
  EXPECT_EQ(load(std::string("II\x2B\0", 4)).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(load_picture("/nonexistent.png").error().code, ErrorCode::kBadInput);
}

TEST_F(LoadPicture, EveryTruncationIsRefusedInSilence) {
  testing::internal::CaptureStderr();
  for (const std::string& whole : {*text::from_base64(kJpegBase64), *text::from_base64(kWebpBase64),
                                   png_of(5, 3, place, png_chunk("eXIf", exif(6))), tiff_of(5, 3, 6, place)}) {
    ASSERT_TRUE(load(whole).ok());
    for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
      const auto picture = load(whole.substr(0, bytes));
      ASSERT_FALSE(picture.ok()) << bytes << " of " << whole.size() << " bytes";
      EXPECT_EQ(picture.error().code, ErrorCode::kBadInput) << picture.error().describe();
    }
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(LoadPicture, ADamagedFileWithAWholePictureIsAWarning) {
  testing::internal::CaptureStderr();
  std::string note = png_chunk("tEXt", std::string("Comment\0written by hand", 23));
  note.back() = static_cast<char>(note.back() ^ 1);  // of its checksum
  const auto png = opened(png_of(5, 3, place, note));
  ASSERT_TRUE(png.ok()) << png.error().describe();
  EXPECT_NE(png->warning.find("CRC"), std::string::npos) << png->warning;
  EXPECT_EQ(at(png->picture, 4, 2), place(4, 2));

  const std::string jpeg = *text::from_base64(kJpegBase64);
  const auto whole = opened(jpeg);
  const auto padded = opened(jpeg.substr(0, jpeg.size() - 2) + std::string(9, '\x11') + "\xFF\xD9");
  ASSERT_TRUE(whole.ok() && padded.ok());
  EXPECT_EQ(whole->warning, "");
  EXPECT_NE(padded->warning.find("extraneous"), std::string::npos) << padded->warning;
  EXPECT_EQ(padded->picture.rgba, whole->picture.rgba);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

#if LOCUS_IMAGES

// Formats with OpenCV's flags for how they are written, and kinds of pixels.
struct Kind {
  const char* file;
  const char* pixels;
  std::vector<int> flags;
};

std::vector<Kind> kinds() {
  constexpr int kJpegQuality = 1;
  constexpr int kJpegProgressive = 2;
  constexpr int kWebpQuality = 64;  // above 100: lossless
  constexpr int kTiffCompression = 259;
  return {{"a.png", "grey", {}},
          {"b.png", "rgb", {}},
          {"c.png", "rgba", {}},
          {"d.png", "grey16", {}},
          {"e.png", "rgb16", {}},
          {"f.jpg", "grey", {}},
          {"g.jpg", "rgb", {kJpegQuality, 60}},
          {"h.jpg", "rgb", {kJpegProgressive, 1}},
          {"i.webp", "rgb", {kWebpQuality, 70}},
          {"j.webp", "rgba", {kWebpQuality, 70}},
          {"k.webp", "rgb", {kWebpQuality, 101}},
          {"l.tiff", "grey", {}},
          {"m.tiff", "rgb", {kTiffCompression, 1}},
          {"n.tiff", "rgb", {kTiffCompression, 5}},
          {"o.tiff", "grey16", {}},
          {"p.tiff", "rgb16", {}}};
}

TEST_F(LoadPicture, EveryPixelIsOpenCvs) {
  const text::TestFolder folder("kinds");
  for (const auto& [file, pixels, flags] : kinds()) {
    const auto path = folder.path() / file;
    test::write_colours(path, pixels, flags);
    const auto picture = open_picture(path);
    ASSERT_TRUE(picture.ok()) << picture.error().describe();
    EXPECT_EQ(picture->warning, "");
    EXPECT_EQ(picture->picture.width, 61);
    const std::vector<std::uint8_t> expected = test::decoded_by_opencv(path);
    ASSERT_EQ(picture->picture.rgba.size(), expected.size());
    // libtiff takes the upper byte of 16-bit grey.
    const int tolerance = std::string(file).ends_with(".tiff") && std::string(pixels) == "grey16" ? 1 : 0;
    int largest = 0;
    for (std::size_t n = 0; n < expected.size(); ++n) {
      largest = std::max(largest, std::abs(int{picture->picture.rgba[n]} - int{expected[n]}));
    }
    EXPECT_LE(largest, tolerance) << file << ", " << pixels;
  }
}

// A byte of the pixels changed, or the rest left out: an error of one line or another picture, and nothing printed.
TEST_F(LoadPicture, DamagedPixelsAreNeverALineOfALibrary) {
  const text::TestFolder folder("damaged");
  testing::internal::CaptureStderr();
  std::map<std::string, int> refused;
  for (const auto& [file, pixels, flags] : kinds()) {
    const auto path = folder.path() / file;
    test::write_colours(path, pixels, flags);
    const auto whole = read_file(path, 1 << 20);
    ASSERT_TRUE(whole.ok());
    for (std::size_t place = 20; place < whole->size(); place += 1 + whole->size() / 60) {
      std::string bytes = *whole;
      bytes[place] = static_cast<char>(bytes[place] ^ 0x55);
      const auto picture = load(bytes);
      refused[path.extension()] += picture.ok() ? 0 : 1;
      EXPECT_TRUE(picture.ok() || picture.error().describe().find('\n') == std::string::npos);
      const auto cut = load(whole->substr(0, place));
      EXPECT_FALSE(cut.ok()) << file << " cut to " << place << " of " << whole->size();
    }
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_GT(refused[".png"], 200);  // it has checksums
  EXPECT_GT(refused[".jpg"], 10);
}

#endif

}  // namespace
}  // namespace locus::image
