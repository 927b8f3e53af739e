// Every kind of edit on every layout that Locus opens, against brute force.
#include "tests/models/edits/twins.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/layouts.h"
#include "tests/support/test_name.h"

namespace locus::test {
namespace {

class EditedRuns : public testing::TestWithParam<Layout> {};

TEST_P(EditedRuns, EqualWholeMapsChangedByHand) {
  const TemporaryFolder folder;
  const TemporaryFolder pictures;
  const WrittenLayout written = write_layout(GetParam(), folder.path());
  const auto model = open_model(written.path);
  ASSERT_NE(model, nullptr);
  models::Input input;
  if (GetParam().image) {
    input.pixels = pictures.path() / "grid.safetensors";
    at::manual_seed(3);
    write_tensors(*input.pixels, {{"pixel_values", at::randn({3, 4 * written.patch, 4 * written.patch})}});
  } else {
    input.ids = written.ids;
  }
  const auto prepared = models::loaded_model_of(*model)->runner().prepare(input);
  ASSERT_TRUE(prepared.ok()) << prepared.error().describe();
  const auto transformer = models::loaded_model_of(*model)->checkpoint().ready();
  ASSERT_TRUE(transformer.ok());
  const Subject subject{**transformer, model->info(), prepared->batch, prepared->grid.columns};
  expect_twins(subject, 0, subject.info.heads - 1);
  expect_twins(subject, subject.last(), 0);
  expect_content(subject, 0, 0);
  expect_content(subject, subject.last(), subject.info.heads - 1);
}

INSTANTIATE_TEST_SUITE_P(Layouts, EditedRuns, testing::ValuesIn(layouts()),
                         [](const auto& info) { return test_name(info.param.name); });

}  // namespace
}  // namespace locus::test
