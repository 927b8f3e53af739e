// Typing beside pictures: what the tower made of them is kept, and made again where a picture is another.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>

#include "models/engine/trace/recorded_trace.h"
#include "models/transformer/transformer.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/pictured_text.h"

namespace locus {
namespace {

namespace fs = std::filesystem;

std::shared_ptr<const models::Trace> run_of(const models::Model& model, const models::Input& input,
                                            const models::RunOptions& options = {}) {
  auto trace = model.run(input, options);
  EXPECT_TRUE(trace.ok()) << (trace.ok() ? "" : trace.error().describe());
  return trace.ok() ? *trace : nullptr;
}

class KeptPictures : public testing::Test {
 protected:
  // Two pictures of a folder, copied to where they may be written.
  void SetUp() override {
    const auto given = test::pictured_input("qwen3_vl", true);
    ASSERT_TRUE(given.ok()) << given.error().describe();
    input_ = *given;
    input_.pixels.reset();
    for (fs::path& picture : input_.images) {
      const fs::path copy = folder_.path() / picture.filename();
      fs::copy_file(picture, copy);
      picture = copy;
    }
    ASSERT_EQ(input_.images.size(), 2U);
    model_ = test::open_model(test::pictured_folder("qwen3_vl"));
    ASSERT_NE(model_, nullptr);
  }

  test::TemporaryFolder folder_;
  models::Input input_;
  std::shared_ptr<const models::Model> model_;
};

TEST_F(KeptPictures, AnotherWordIsTypedWithoutSeeingThemAgain) {
  const auto first = run_of(*model_, input_);
  models::Input longer = input_;
  longer.ids->push_back(longer.ids->front());
  const auto second = run_of(*model_, longer);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(test::recorded(*first).vision, test::recorded(*second).vision);
  // As a model says that has seen nothing before.
  const auto fresh = run_of(*test::open_model(test::pictured_folder("qwen3_vl")), longer);
  ASSERT_TRUE(fresh);
  EXPECT_TRUE(at::equal(test::recorded(*second).logits, test::recorded(*fresh).logits));
  EXPECT_TRUE(at::equal(test::recorded(*second).image_rows->vectors, test::recorded(*fresh).image_rows->vectors));
}

TEST_F(KeptPictures, AFileThatChangesIsReadAgain) {
  const auto first = run_of(*model_, input_);
  ASSERT_TRUE(first);
  const auto changed = fs::last_write_time(input_.images[0]);
  // The same bytes with another time are another file, whose pixels are the same: nothing is seen again.
  fs::last_write_time(input_.images[0], changed + std::chrono::seconds(5));
  const auto again = run_of(*model_, input_);
  ASSERT_TRUE(again);
  EXPECT_EQ(test::recorded(*first).vision, test::recorded(*again).vision);
  // A file that can no longer be read is an error, not what it was.
  fs::resize_file(input_.images[0], 20);
  EXPECT_FALSE(model_->run(input_, {}).ok());
}

TEST_F(KeptPictures, AnotherPictureOfTheSameSizeIsSeen) {
  const auto first = run_of(*model_, input_);
  fs::copy_file(test::pictured_folder("glm4v") / "image0.png", input_.images[0], fs::copy_options::overwrite_existing);
  const auto second = run_of(*model_, input_);
  const auto fresh = run_of(*test::open_model(test::pictured_folder("qwen3_vl")), input_);
  ASSERT_TRUE(first && second && fresh);
  EXPECT_FALSE(at::equal(test::recorded(*first).logits, test::recorded(*second).logits));
  EXPECT_TRUE(at::equal(test::recorded(*second).logits, test::recorded(*fresh).logits));
}

TEST_F(KeptPictures, TheOtherOrderIsAnotherPrompt) {
  const auto first = run_of(*model_, input_);
  ASSERT_TRUE(first);
  std::swap(input_.images[0], input_.images[1]);
  const auto swapped = model_->run(input_, {});
  if (swapped.ok()) {  // the grids differ, so the ids may not fit
    EXPECT_FALSE(at::equal(test::recorded(*first).pixels, test::recorded(**swapped).pixels));
  }
  std::swap(input_.images[0], input_.images[1]);
  const auto again = run_of(*model_, input_);
  ASSERT_TRUE(again);
  EXPECT_TRUE(at::equal(test::recorded(*first).logits, test::recorded(*again).logits));
}

TEST_F(KeptPictures, StatesThatAreWantedLaterAreThere) {
  const auto first = run_of(*model_, input_);
  models::RunOptions hidden;
  hidden.keep.insert("hidden");
  const auto second = run_of(*model_, input_, hidden);
  const auto third = run_of(*model_, input_);
  ASSERT_TRUE(first && second && third);
  const auto has_states = [](const models::Trace& trace) {
    return test::recorded(*test::recorded(trace).vision).layers.front().hidden.defined();
  };
  EXPECT_FALSE(has_states(*first));
  EXPECT_TRUE(has_states(*second));
  EXPECT_EQ(test::recorded(*second).vision, test::recorded(*third).vision);
}

}  // namespace
}  // namespace locus
