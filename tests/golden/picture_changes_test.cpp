// Each step, and several, against OpenCV in Python; and what a family makes of the changed picture, against transformers.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "core/base/atomic_file.h"
#include "models/image/change.h"
#include "models/image/image.h"
#include "tests/support/golden.h"
#include "tests/support/paths.h"

namespace locus {
namespace {

constexpr int kLevels = 1;  // of 255, by which OpenCV's versions round apart

image::Picture picture_of(const at::Tensor& rgb) {
  const at::Tensor alpha = at::full({rgb.size(0), rgb.size(1), 1}, 255, at::kByte);
  const at::Tensor rgba = at::cat({rgb.to(at::kByte), alpha}, 2).contiguous();
  const auto* const data = rgba.data_ptr<std::uint8_t>();
  return {rgb.size(1), rgb.size(0), {data, data + rgba.numel()}};
}

TEST(PictureChanges, AreThoseOfOpenCv) {
  const std::filesystem::path folder = std::filesystem::path(test::source_dir()) / "tests/golden/picture_changes";
  const auto cases = nlohmann::json::parse(*read_file(folder / "lines.json", 1 << 20));
  const test::Golden golden("picture_changes/expected");
  const image::Picture picture = picture_of(golden["picture"]);
  const auto options = image::parse_preprocessor(cases["preprocessor"].dump(), "preprocessor");
  ASSERT_TRUE(options.ok()) << options.error().describe();
  ASSERT_GE(cases["lines"].size(), 26U);
  for (std::size_t n = 0; n < cases["lines"].size(); ++n) {
    const std::string line = cases["lines"][n];
    SCOPED_TRACE(line);
    const auto changes = models::parse_picture_changes(line);
    ASSERT_TRUE(changes.ok()) << changes.error().describe();
    const auto changed = image::change_picture(picture, *changes, *options, 8);
    if (!changed.ok() && changed.error().code == ErrorCode::kUnsupported) {
      GTEST_SKIP() << changed.error().describe();
    }
    ASSERT_TRUE(changed.ok()) << changed.error().describe();
    const at::Tensor want = golden[std::to_string(n) + ".changed"].to(at::kInt);
    ASSERT_EQ(changed->height, want.size(0));
    ASSERT_EQ(changed->width, want.size(1));
    const at::Tensor rgba =
        at::from_blob(const_cast<std::uint8_t*>(changed->rgba.data()), {changed->height, changed->width, 4}, at::kByte);
    const at::Tensor got = rgba.slice(2, 0, 3).to(at::kInt);
    EXPECT_LE((got - want).abs().max().item<int>(), kLevels);
    EXPECT_TRUE(rgba.select(2, 3).eq(255).all().item<bool>());
    // Of the reference's own picture, so that no level is lost before: what Pillow makes of it, to float32's rounding.
    const auto pixels = image::preprocess(picture_of(want), *options, 8);
    ASSERT_TRUE(pixels.ok()) << pixels.error().describe();
    EXPECT_CLOSE(at::tensor(at::ArrayRef<float>(pixels->values)).view({3, pixels->height, pixels->width}),
                 golden[std::to_string(n) + ".pixel_values"], 1e-6);
  }
}

}  // namespace
}  // namespace locus
