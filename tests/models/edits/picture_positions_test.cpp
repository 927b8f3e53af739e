// Where designs put the tokens of texts with pictures: the values of tests/golden/make_picture_positions.py.
#include "models/edits/picture_positions.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/paths.h"

namespace locus::models {
namespace {

struct PicturedTokens {
  std::vector<ImageSpan> pictures;
  std::int64_t length = 0;
};

// Parts are a number of words, or frames, rows and columns of a picture.
PicturedTokens tokens_of(const nlohmann::json& parts) {
  PicturedTokens made;
  std::int64_t videos = 0;
  for (const auto& part : parts) {
    if (part.is_number()) {
      made.length += part.get<std::int64_t>();
      continue;
    }
    const std::int64_t frames = part.at(0);
    for (std::int64_t frame = 0; frame < frames; ++frame) {
      ImageSpan span;
      span.first = made.length;
      span.rows = part.at(1);
      span.columns = span.pitch = part.at(2);
      span.count = span.rows * span.columns;
      span.video = frames > 1 ? videos : -1;
      span.frame = frame;
      made.length += span.count;
      made.pictures.push_back(span);
    }
    videos += frames > 1 ? 1 : 0;
  }
  return made;
}

TEST(PicturePositions, AreThoseOfTheDesigns) {
  std::ifstream file(std::filesystem::path(test::source_dir()) / "tests" / "golden" / "picture_positions.json");
  const nlohmann::json texts = nlohmann::json::parse(file);
  ASSERT_EQ(texts.size(), 55U);
  for (const auto& text : texts) {
    SCOPED_TRACE(text.at("design").get<std::string>() + " " + text.at("parts").dump());
    const auto design = parse_design(text.at("design").get<std::string>());
    ASSERT_TRUE(design);
    const PicturedTokens tokens = tokens_of(text.at("parts"));
    const auto placed = designed_positions(*design, tokens.pictures, tokens.length, text.at("start").get<double>());
    ASSERT_TRUE(placed.ok()) << placed.error().describe();
    const auto& want = text.at("positions");
    ASSERT_EQ(placed->size(0), static_cast<std::int64_t>(want.size()));
    for (std::int64_t token = 0; token < placed->size(0); ++token) {
      for (std::int64_t c = 0; c < 3; ++c) {
        const double value = want.at(static_cast<std::size_t>(token)).at(static_cast<std::size_t>(c));
        EXPECT_NEAR((*placed)[token][c].item<double>(), value, 1e-12 * (1 + std::abs(value))) << token << " " << c;
      }
    }
  }
}

TEST(PicturePositions, WordsThatNameNoDesignAreNone) {
  for (const char* text :
       {"", "v2p", "v2pe:", "v2pe:0", "v2pe:-1", "v2pe:nan", "v2pe:2e6", "v2pe 3", "V2PE", "mrope:4x8", "mrope:4x8x8x8",
        "mrope:4x0x8", "videorope:2", "omnirope:1", "hope:0", "circlerope:-1", "circle"}) {
    EXPECT_FALSE(parse_design(text)) << text;
  }
  EXPECT_EQ(parse_design("v2pe")->stride, 16);
  EXPECT_EQ(parse_design("v2pe:0.5")->stride, 0.5);
  EXPECT_EQ(parse_design("hope")->stride, 1);
  EXPECT_EQ(parse_design("mrope:4x8x2.5")->scale, (std::array<double, 3>{4, 8, 2.5}));
  EXPECT_EQ(parse_design("circlerope:10")->radius, 10);
}

TEST(PicturePositions, TextsWithoutRowsOfCellsAreRefused) {
  const PositionDesign design{PositionDesign::Kind::kOmniRope};
  EXPECT_EQ(designed_positions(design, {}, 4, 0).error().code, ErrorCode::kBadInput);
  ImageSpan tiled{.first = 1, .count = 4, .rows = 2, .columns = 2, .pitch = 2, .tile_rows = 1, .tile_columns = 2};
  EXPECT_EQ(designed_positions(design, {tiled}, 9, 0).error().code, ErrorCode::kUnsupported);
  ImageSpan spaced{.first = 1, .count = 4, .rows = 2, .columns = 2, .pitch = 3};
  EXPECT_EQ(designed_positions(design, {spaced}, 9, 0).error().code, ErrorCode::kUnsupported);
  ImageSpan beyond{.first = 1, .count = 4, .rows = 2, .columns = 2, .pitch = 2};
  EXPECT_EQ(designed_positions(design, {beyond}, 4, 0).error().code, ErrorCode::kBadInput);
}

}  // namespace
}  // namespace locus::models
