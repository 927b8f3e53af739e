// Training whose numbers end: an error, and the last finite save as it was.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "models/api/train.h"
#include "models/formats/tensor_source.h"
#include "models/transformer/weights.h"
#include "tests/support/checkpoint_folder.h"

namespace locus {
namespace {

namespace fs = std::filesystem;

class Diverging : public testing::Test {
 protected:
  training::TrainOptions options(const std::string& out) const {
    std::string text;
    for (int n = 0; n < 200; ++n) {
      text += "the cat sat on the mat " + std::to_string(n % 10) + "\n";
    }
    folder_.write("corpus.txt", text);
    training::TrainOptions options;
    options.corpus = {{folder_.path() / "corpus.txt", "Cats"}};
    options.layers = 1;
    options.heads = 2;
    options.width = 16;
    options.length = 24;
    options.batch = 4;
    options.steps = 40;
    options.warmup = 0;
    options.decay = training::Decay::kConstant;
    options.save_every = 2;
    options.threads = 1;
    options.out = folder_.path() / out;
    options.command = "locus train text";
    return options;
  }
  // Every stored number, and how many there are.
  static std::size_t finite_numbers(const fs::path& file) {
    std::size_t count = 0;
    const auto source = formats::open_tensors(file);
    EXPECT_TRUE(source.ok()) << (source.ok() ? "" : source.error().describe());
    for (const formats::TensorInfo& tensor : (*source)->tensors()) {
      EXPECT_TRUE(transformer::to_tensor(tensor, *source).isfinite().all().item<bool>()) << tensor.name;
      count += static_cast<std::size_t>(tensor.elements());
    }
    return count;
  }

  test::TemporaryFolder folder_;
};

// A decay that multiplies weights by −10⁶ a step leaves float32 after a handful of them.
TEST_F(Diverging, TheLastFiniteSaveIsKept) {
  for (const char* encoding : {"rope", "cope"}) {
    SCOPED_TRACE(encoding);
    training::TrainOptions wild = options(encoding);
    wild.encoding = encoding;
    wild.learning_rate = 1000;
    wild.weight_decay = 1000;
    const auto summary = training::train(wild, {});
    ASSERT_FALSE(summary.ok());
    EXPECT_EQ(summary.error().code, ErrorCode::kBadInput);
    const std::string said = summary.error().describe();
    EXPECT_EQ(said.find(wild.out.string() + ": training diverged: "), 0U) << said;
    EXPECT_NE(said.find(" is kept; start again with a smaller --lr"), std::string::npos) << said;
    EXPECT_GT(finite_numbers(wild.out / "model.safetensors"), 1000U);
    EXPECT_GT(finite_numbers(wild.out / "training_state.safetensors"), 3000U);
    EXPECT_FALSE(fs::exists(wild.out / "training.lock"));
  }
}

TEST_F(Diverging, AStartFromNothingSavesNothing) {
  training::TrainOptions first = options("first");
  first.steps = 2;
  ASSERT_TRUE(training::train(first, {}).ok());
  std::string bytes;
  {
    std::ifstream file(first.out / "model.safetensors", std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
  }
  bytes.replace(bytes.size() - 4, 4, "\xFF\xFF\xFF\x7F", 4);  // NaN
  std::ofstream(first.out / "model.safetensors", std::ios::binary | std::ios::trunc) << bytes;
  training::TrainOptions next = options("next");
  next.from = first.out;
  const auto summary = training::train(next, {});
  ASSERT_FALSE(summary.ok());
  EXPECT_EQ(summary.error().code, ErrorCode::kBadInput);
  EXPECT_NE(summary.error().describe().find("nothing was saved"), std::string::npos) << summary.error().describe();
  EXPECT_FALSE(fs::exists(next.out / "model.safetensors"));
  // A measurement of it is none either.
  training::EvaluateOptions measured;
  measured.task = "text";
  measured.samples = 4;
  measured.validate = first.corpus;
  const auto row = training::evaluate(first.out, measured, {}, {});
  ASSERT_FALSE(row.ok());
  EXPECT_EQ(row.error().code, ErrorCode::kBadInput);
  EXPECT_NE(row.error().describe().find("expected finite logits"), std::string::npos) << row.error().describe();
}

}  // namespace
}  // namespace locus
