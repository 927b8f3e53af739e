// Pictures of image runs, and positions encoded without a run.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

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

// ⟨e_i − ē, e_j − ē⟩ = G_ij − (row mean)_i − (column mean)_j + mean of the block of Gram matrix G over the centred
// range, and its cosine. |a − b| ≤ 1e-5·(1 + |b|).
void expect_centred(const Trace& trace, const Field& gram) {
  const Range patches{1, gram.rows};  // without the class token
  std::vector<double> row_mean(static_cast<std::size_t>(gram.rows), 0);
  double mean = 0;
  for (std::int64_t i = 0; i < gram.rows; ++i) {
    for (std::int64_t j = patches.begin; j < patches.end; ++j) {
      row_mean[static_cast<std::size_t>(i)] += static_cast<double>(gram.at(i, j)) / static_cast<double>(patches.size());
    }
  }
  for (std::int64_t i = patches.begin; i < patches.end; ++i) {
    mean += row_mean[static_cast<std::size_t>(i)] / static_cast<double>(patches.size());
  }
  const auto centred = [&](std::int64_t i, std::int64_t j) {
    return static_cast<double>(gram.at(i, j)) - row_mean[static_cast<std::size_t>(i)] -
           row_mean[static_cast<std::size_t>(j)] + mean;
  };
  const auto products = trace.dot_product(1, 0, {}, {}, {.cosine = false, .centred = patches});
  const auto cosines = trace.dot_product(1, 0, {}, {}, {.cosine = true, .centred = patches});
  ASSERT_TRUE(products.ok() && cosines.ok());
  double change = 0;
  for (std::int64_t i = 0; i < gram.rows; ++i) {
    for (std::int64_t j = 0; j < gram.columns; ++j) {
      const double expected = centred(i, j);
      EXPECT_NEAR(static_cast<double>(products->at(i, j)), expected, 1e-5 * (1 + std::abs(expected)));
      const double cosine = expected / std::sqrt(centred(i, i) * centred(j, j));
      EXPECT_NEAR(static_cast<double>(cosines->at(i, j)), cosine, 2e-5);
      change = std::max(change, std::abs(expected - static_cast<double>(gram.at(i, j))));
    }
  }
  EXPECT_GT(change, 0.1);  // there was something to subtract
  EXPECT_FALSE(trace.dot_product(1, 0, {}, {}, {.cosine = false, .centred = {0, gram.rows + 1}}).ok());
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
  const auto own = (*trace)->dot_product(1, 0, {}, {}, {});
  const auto again = (*table)->dot_product(0, {}, {}, {});
  ASSERT_TRUE(own.ok() && again.ok());
  EXPECT_EQ(own->values, again->values);
  expect_centred(**trace, *own);
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
