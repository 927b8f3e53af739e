// Pictures of image runs, and positions encoded without a run.
#include <gtest/gtest.h>

#include "tests/support/checkpoint_folder.h"
#include "tests/support/golden.h"

namespace locus::models {
namespace {

std::shared_ptr<const Model> open_rope_vit(const test::TemporaryFolder& folder, const test::Golden& golden) {
  folder.write("config.json", R"({"architecture": "rope_axial_tiny", "num_classes": 10,
      "model_args": {"img_size": 32, "patch_size": 8, "embed_dim": 32, "depth": 2, "num_heads": 2}})");
  test::write_tensors(folder.path() / "model.safetensors", test::with_prefix(golden, "w."));
  return test::open_model(folder.path());
}

TEST(PositionTable, IsTheRunsOwnAtTheSameGrid) {
  const test::Golden golden("vit_rope_axial");
  const test::TemporaryFolder folder;
  const auto model = open_rope_vit(folder, golden);
  ASSERT_TRUE(model);
  test::write_tensors(folder.path() / "pixels.safetensors", {{"pixel_values", golden["images_48x40"][0]}});
  Input input;
  input.pixels = folder.path() / "pixels.safetensors";
  const auto trace = model->run(input);
  ASSERT_TRUE(trace.ok()) << trace.error().describe();
  const ImageGrid grid = (*trace)->image_grid();
  EXPECT_EQ(grid.rows * 8, golden["images_48x40"].size(2));
  EXPECT_EQ(grid.columns * 8, golden["images_48x40"].size(3));
  const auto table =
      model->position_table({.length = 0, .rows = grid.rows, .columns = grid.columns, .overrides = {}}, 1);
  ASSERT_TRUE(table.ok()) << table.error().describe();
  const auto own = (*trace)->dot_product(1, 0, {}, {}, false);
  const auto again = (*table)->dot_product(0, {}, {}, false);
  ASSERT_TRUE(own.ok() && again.ok());
  EXPECT_EQ(own->values, again->values);
  EXPECT_FALSE(model->position_table({.length = 5, .rows = 0, .columns = 0, .overrides = {}}, 0).ok());
  EXPECT_FALSE(model->position_table({.length = 0, .rows = 0, .columns = 0, .overrides = {}}, 0).ok());

  // The picture is the pixels before normalisation: mean 0.5 and deviation 0.5 where the folder does not say.
  const Picture picture = (*trace)->picture();
  ASSERT_TRUE(picture.rgba);
  EXPECT_EQ(picture.width, grid.columns * 8);
  ASSERT_EQ(static_cast<std::int64_t>(picture.rgba->size()), 4 * picture.width * picture.height);
  EXPECT_EQ((*picture.rgba)[3], 255);
}

}  // namespace
}  // namespace locus::models
