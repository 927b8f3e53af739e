// Patches that change places, in every layout of image models.
#include "tests/models/edits/twins.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/layouts.h"
#include "tests/support/test_name.h"

namespace locus::test {
namespace {

class SwappedPatches : public testing::TestWithParam<Layout> {};

// Attention does not see the order of the tokens: two patches that change places are two whose pixels do.
TEST_P(SwappedPatches, AreSwappedPixels) {
  const at::NoGradGuard no_grad;
  const TemporaryFolder folder;
  const WrittenLayout written = write_layout(GetParam(), folder.path());
  const auto model = open_model(written.path);
  ASSERT_NE(model, nullptr);
  const std::int64_t side = written.patch;
  at::manual_seed(3);
  at::Tensor pixels = at::randn({3, 4 * side, 4 * side});
  const auto patch = [&](at::Tensor& image, std::int64_t index) {
    return image.slice(1, index / 4 * side, (index / 4 + 1) * side).slice(2, index % 4 * side, (index % 4 + 1) * side);
  };
  at::Tensor swapped = pixels.clone();
  patch(swapped, 2).copy_(patch(pixels, 13));
  patch(swapped, 13).copy_(patch(pixels, 2));
  const auto logits = [&](const models::Model& own, const at::Tensor& image) {
    models::Input input;
    input.pixels = folder.path() / "pixels.safetensors";
    write_tensors(*input.pixels, {{"pixel_values", image}});
    const auto trace = own.run(input);
    EXPECT_TRUE(trace.ok()) << (trace.ok() ? "" : trace.error().describe());
    return trace.ok() ? models::recorded_of(**trace)->data().logits.clone() : at::Tensor();
  };
  const auto moved = model->edited(edits_of({"shift 2:3 by 11", "positions 13:14 start 2"}));
  ASSERT_TRUE(moved.ok()) << moved.error().describe();
  const at::Tensor wanted = logits(*model, swapped);
  EXPECT_CLOSE(logits(**moved, pixels), wanted, kTolerance);
  EXPECT_GT(deviation(logits(*model, pixels), wanted), 1e-5) << "the places make no difference";
}

std::vector<Layout> image_layouts() {
  std::vector<Layout> images;
  for (const Layout& layout : layouts()) {
    if (layout.image) {
      images.push_back(layout);
    }
  }
  return images;
}

INSTANTIATE_TEST_SUITE_P(Layouts, SwappedPatches, testing::ValuesIn(image_layouts()),
                         [](const auto& info) { return test_name(info.param.name); });

}  // namespace
}  // namespace locus::test
