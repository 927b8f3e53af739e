// Resizing by the rules of vision-language models, level by level: pictures that must be made larger, smaller, or cut.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/atomic_file.h"
#include "models/image/image.h"
#include "models/image/resize.h"
#include "tests/support/golden.h"
#include "tests/support/paths.h"

namespace locus {
namespace {

namespace fs = std::filesystem;

at::Tensor values_of(const image::Pixels& pixels) {
  return at::tensor(at::ArrayRef<float>(pixels.values)).view({3, pixels.height, pixels.width});
}

// Patches cell by cell, with the same picture in each frame.
at::Tensor patch_rows(const at::Tensor& pixels, std::int64_t patch, std::int64_t cell, std::int64_t frames) {
  const std::int64_t rows = pixels.size(1) / patch;
  const std::int64_t columns = pixels.size(2) / patch;
  std::vector<at::Tensor> list;
  for (std::int64_t y = 0; y < rows; y += cell) {
    for (std::int64_t x = 0; x < columns; x += cell) {
      for (std::int64_t n = 0; n < cell * cell; ++n) {
        const std::int64_t top = (y + n / cell) * patch;
        const std::int64_t left = (x + n % cell) * patch;
        const at::Tensor own = pixels.slice(1, top, top + patch).slice(2, left, left + patch);
        list.push_back(own.unsqueeze(1).expand({3, frames, patch, patch}).reshape({-1}));
      }
    }
  }
  return at::stack(list);
}

TEST(PreprocessVlm, MakesTheReferencesPixels) {
  const fs::path folder = fs::path(test::source_dir()) / "tests" / "golden" / "families-vlm" / "preprocess";
  const auto cases = nlohmann::json::parse(*read_file(folder / "cases.json", 1 << 20));
  const test::Golden golden("families-vlm/preprocess/expected");
  EXPECT_EQ(cases.size(), 27U);
  for (const auto& [name, each] : cases.items()) {
    SCOPED_TRACE(name);
    const nlohmann::json& config = each["preprocessor_config"];
    const auto options = image::parse_preprocessor(config.dump(), name);
    ASSERT_TRUE(options.ok()) << options.error().describe();
    const nlohmann::json& side = config.contains("patch_size") ? config["patch_size"] : nlohmann::json(1);
    const std::int64_t patch = side.is_object() ? side["height"].get<std::int64_t>() : side.get<std::int64_t>();
    const std::int64_t cell = config.value("merge_size", each.value("spatial_merge_size", std::int64_t{1}));
    std::vector<at::Tensor> parts;
    for (const auto& file : each["images"]) {
      const auto picture = image::load_picture(folder / file.get<std::string>());
      ASSERT_TRUE(picture.ok()) << picture.error().describe();
      const auto pixels = image::preprocess_all(*picture, *options, patch * cell);
      ASSERT_TRUE(pixels.ok()) << pixels.error().describe();
      for (const image::Pixels& own : *pixels) {
        parts.push_back(values_of(own));
      }
    }
    const at::Tensor want = golden[name + ".pixel_values"];
    if (want.dim() == 2) {
      for (at::Tensor& part : parts) {
        part = patch_rows(part, patch, cell, config.value("temporal_patch_size", std::int64_t{2}));
      }
      EXPECT_CLOSE(at::cat(parts), want, 1e-6);
      continue;
    }
    for (at::Tensor& part : parts) {
      part = at::constant_pad_nd(part, {0, want.size(3) - part.size(2), 0, want.size(2) - part.size(1)}, 0);
    }
    EXPECT_CLOSE(at::stack(parts), want, 1e-6);
  }
}

// Gemma 4: as many whole cells as there may be, both sides rounded down.
TEST(PreprocessVlm, CellsOfGemma4AreTheReferences) {
  constexpr std::int64_t kCell = 3;
  const fs::path folder = fs::path(test::source_dir()) / "tests" / "golden" / "families-vlm" / "gemma4";
  const auto processor = [](std::int64_t tokens) {
    return image::parse_preprocessor(
        nlohmann::json{{"image_processor_type", "Gemma4ImageProcessor"}, {"max_soft_tokens", tokens}}.dump(), "gemma4");
  };
  const auto sizes = nlohmann::json::parse(*read_file(folder / "sizes.json", 1 << 20));
  EXPECT_EQ(sizes.size(), 60U);
  for (const nlohmann::json& each : sizes) {
    SCOPED_TRACE(each.dump());
    const auto options = processor(each[3].get<std::int64_t>());
    ASSERT_TRUE(options.ok()) << options.error().describe();
    const auto size = image::size_by_rule({each[1].get<std::int64_t>(), each[0].get<std::int64_t>()}, *options,
                                          kCell * each[2].get<std::int64_t>());
    ASSERT_TRUE(size.ok()) << size.error().describe();
    EXPECT_EQ(size->height, each[4].get<std::int64_t>());
    EXPECT_EQ(size->width, each[5].get<std::int64_t>());
  }
  EXPECT_FALSE(processor(71).ok());
  EXPECT_FALSE(image::size_by_rule({0, 4}, *processor(70), kCell).ok());
  const auto picture = image::load_picture(folder / "resized.png");
  ASSERT_TRUE(picture.ok()) << picture.error().describe();
  const auto pixels = image::preprocess(*picture, *processor(70), 2 * kCell);
  ASSERT_TRUE(pixels.ok()) << pixels.error().describe();
  EXPECT_CLOSE(values_of(*pixels), test::Golden("families-vlm/gemma4/expected")["resized"], 1e-6);
}

}  // namespace
}  // namespace locus
