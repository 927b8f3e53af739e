// Sizes and tiles of LFM2-VL's pictures, as transformers' image processor finds them for many sizes; make_vlm_lfm2.py.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/atomic_file.h"
#include "models/image/resize.h"
#include "tests/support/paths.h"

namespace locus {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

Result<image::Preprocessing> lfm2_options(json fields) {
  fields["image_processor_type"] = "Lfm2VlImageProcessorFast";
  return image::parse_preprocessor(fields.dump(), "preprocessor_config.json");
}

image::Picture grey_picture(std::int64_t width, std::int64_t height) {
  return {width, height, std::vector<std::uint8_t>(static_cast<std::size_t>(4 * width * height), 99)};
}

// Small sizes, with which a cell has 8 pixels and a tile 16.
json small_fields() {
  return {{"encoder_patch_size", 4}, {"tile_size", 16},       {"max_tiles", 4},
          {"min_image_tokens", 2},   {"max_image_tokens", 8}, {"min_tiles", 2}};
}

TEST(Lfm2Parts, AreThoseOfTheLibrary) {
  const fs::path file = fs::path(test::source_dir()) / "tests/golden/families-vlm/preprocess/lfm2_parts.json";
  const json plans = json::parse(*read_file(file, 1 << 20));
  ASSERT_EQ(plans.size(), 5U);
  for (const json& plan : plans) {
    const auto options = lfm2_options(plan["fields"].is_null() ? json::object() : plan["fields"]);
    ASSERT_TRUE(options.ok()) << options.error().describe();
    ASSERT_EQ(plan["parts"].size(), 70U);
    std::size_t cut = 0;
    for (const json& each : plan["parts"]) {
      SCOPED_TRACE(plan["fields"].dump() + " " + each.dump());
      const image::Size picture{each[1].get<std::int64_t>(), each[0].get<std::int64_t>()};
      const auto grid = image::token_tiles(picture, *options);
      ASSERT_TRUE(grid.ok()) << grid.error().describe();
      EXPECT_EQ(grid->rows, each[2].get<std::int64_t>());
      EXPECT_EQ(grid->columns, each[3].get<std::int64_t>());
      const image::Size whole = image::whole_by_tokens(picture, *options);
      EXPECT_EQ(whole.height, each[4].get<std::int64_t>());
      EXPECT_EQ(whole.width, each[5].get<std::int64_t>());
      const auto size = image::size_by_rule(picture, *options, options->cell);
      ASSERT_TRUE(size.ok()) << size.error().describe();
      const bool several = grid->rows * grid->columns > 1;
      cut += several ? 1 : 0;
      EXPECT_EQ(size->height, several ? grid->rows * options->tile : whole.height);
      EXPECT_EQ(size->width, several ? grid->columns * options->tile : whole.width);
    }
    EXPECT_EQ(cut > 0, plan["fields"].value("do_image_splitting", true));
  }
}

TEST(Lfm2Parts, TheWholeFollowsItsTilesUnlessTurnedOff) {
  for (const bool whole : {true, false}) {
    json fields = small_fields();
    fields["use_thumbnail"] = whole;
    const auto options = lfm2_options(fields);
    ASSERT_TRUE(options.ok()) << options.error().describe();
    const auto parts = image::preprocess_all(grey_picture(40, 50), *options, 8);
    ASSERT_TRUE(parts.ok()) << parts.error().describe();
    ASSERT_EQ(parts->size(), whole ? 5U : 4U);
    EXPECT_EQ((*parts)[2].tile, (image::TilePlace{2, 2, 1, 0}));
    EXPECT_EQ((*parts)[3].width, 16);
    if (whole) {
      EXPECT_EQ(parts->back().tile, image::TilePlace());
      EXPECT_EQ(parts->back().height, 24);
      EXPECT_EQ(parts->back().width, 16);
    }
    EXPECT_EQ(image::preprocess(grey_picture(40, 50), *options, 8).error().code, ErrorCode::kUnsupported);
    EXPECT_EQ(image::preprocess_all(grey_picture(22, 20), *options, 8)->size(), 1U);
  }
}

// What the library computes by accident, or not at all, is refused by the fields that ask for it.
TEST(Lfm2Parts, OthersAreRefusedByName) {
  const auto error = [](const json& fields, std::int64_t width, std::int64_t height, std::int64_t cell) {
    const auto options = lfm2_options(fields);
    EXPECT_TRUE(options.ok());
    const auto parts = image::preprocess_all(grey_picture(width, height), *options, cell);
    return parts.ok() ? std::string() : parts.error().describe();
  };
  EXPECT_EQ(error(small_fields(), 40, 50, 8), "");
  EXPECT_NE(error(small_fields(), 40, 50, 16).find("downsample_factor: expected a product of 16"), std::string::npos);
  json one = small_fields();
  one["min_tiles"] = 1;
  one["max_tiles"] = 3;
  EXPECT_NE(error(one, 40, 40, 8).find("min_tiles: expected 2 or more"), std::string::npos);
  json two = small_fields();
  two["max_tiles"] = 2;
  EXPECT_NE(error(two, 50, 40, 8).find("min_tiles, max_tiles"), std::string::npos);  // 5 : 4 lies between 1 : 2 and 2
  EXPECT_EQ(error(two, 51, 40, 8), "");
  json large = small_fields();
  large["max_image_tokens"] = large["min_image_tokens"] = 1 << 20;
  large["encoder_patch_size"] = 8;
  large["max_pixels_tolerance"] = 1e-6;
  EXPECT_NE(error(large, 40, 30, 16).find("behind the tiles"), std::string::npos);
}

}  // namespace
}  // namespace locus
