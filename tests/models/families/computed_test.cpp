// Tensors that a plan computes from those of a file: rows, matrices of blocks, sums of rows; and what is refused.
#include "models/families/engine/computed.h"

#include <gtest/gtest.h>

#include <string>

#include "models/formats/tensor_source.h"
#include "models/transformer/weights.h"
#include "tests/support/checkpoint_folder.h"

namespace locus {
namespace {

using families::OfBlocks;
using families::OfRows;

class Computed : public ::testing::Test {
 protected:
  Computed() {
    at::manual_seed(1);
    tensors_ = {
        {"a", at::randn({6, 4})}, {"b", at::randn({3, 4})}, {"wide", at::randn({3, 5})}, {"one", at::randn({})}};
    const std::filesystem::path file = folder_.path() / "model.safetensors";
    test::write_tensors(file, tensors_);
    files_.path = file;
    files_.tensors = *formats::open_tensors(file);
  }

  at::Tensor found(const std::string& name) const {
    const formats::Source& source = plan_.further.back();
    const formats::TensorInfo* const tensor = source->find(name);
    return tensor == nullptr ? at::Tensor() : transformer::to_tensor(*tensor, source);
  }
  std::string error_of(const Status& status) const { return status.ok() ? "" : status.error().describe(); }

  test::TemporaryFolder folder_;
  test::Tensors tensors_;
  transformer::CheckpointFiles files_;
  transformer::Plan plan_;
};

TEST_F(Computed, RowsOfTensorsFollowEachOther) {
  ASSERT_TRUE(families::compute_rows(files_, {{"part", {{"a", 1, 3}}}, {"both", {{"b"}, {"a", 5}}}}, plan_).ok());
  EXPECT_TRUE(found("part").equal(tensors_["a"].slice(0, 1, 4)));
  EXPECT_TRUE(found("both").equal(at::cat({tensors_["b"], tensors_["a"].slice(0, 5)})));
  for (const OfRows& wrong : {OfRows{"x", {{"c"}}}, OfRows{"x", {{"a", 0, 7}}}, OfRows{"x", {{"a", 7}}},
                              OfRows{"x", {{"a", -1, 2}}}, OfRows{"x", {{"a"}, {"wide"}}}, OfRows{"x", {{"one"}}}}) {
    EXPECT_NE(error_of(families::compute_rows(files_, {wrong}, plan_)).find("tensor " + wrong.parts.back().tensor),
              std::string::npos);
  }
}

TEST_F(Computed, BlocksLieOnTheDiagonal) {
  ASSERT_TRUE(families::compute_blocks(files_, {{"m", "a", 2}}, plan_).ok());
  const at::Tensor& a = tensors_["a"];
  at::Tensor wanted = at::zeros({6, 8});
  for (std::int64_t row = 0; row < 6; ++row) {
    for (std::int64_t column = 0; column < 4; ++column) {
      wanted[row][column + (row < 3 ? 0 : 4)] = a[row][column];
    }
  }
  EXPECT_TRUE(found("m").equal(wanted));
  EXPECT_NE(error_of(families::compute_blocks(files_, {{"m", "a", 4}}, plan_)).find("4 equal groups"),
            std::string::npos);
  EXPECT_NE(error_of(families::compute_blocks(files_, {{"m", "a", 17}}, plan_)).find("1 to 16"), std::string::npos);
  EXPECT_FALSE(families::compute_blocks(files_, {{"m", "none", 1}}, plan_).ok());
}

// The columns of a row are pixel by pixel its channels.
TEST_F(Computed, KernelsHaveTheirChannelsInFront) {
  ASSERT_TRUE(families::compute_kernel(files_, {"k", "a", 2, 1}, plan_).ok());
  EXPECT_TRUE(found("k").equal(tensors_["a"].view({6, 1, 2, 2})));
  const std::filesystem::path file = folder_.path() / "patches.safetensors";
  const at::Tensor rows = at::randn({5, 12});
  test::write_tensors(file, {{"rows", rows}});
  files_.tensors = *formats::open_tensors(file);
  ASSERT_TRUE(families::compute_kernel(files_, {"k", "rows", 2, 3}, plan_).ok());
  const at::Tensor kernel = found("k");
  ASSERT_EQ(kernel.sizes(), at::IntArrayRef({5, 3, 2, 2}));
  for (std::int64_t c = 0; c < 3; ++c) {
    for (std::int64_t y = 0; y < 2; ++y) {
      for (std::int64_t x = 0; x < 2; ++x) {
        EXPECT_TRUE(kernel.select(1, c).select(1, y).select(1, x).equal(rows.select(1, (y * 2 + x) * 3 + c)));
      }
    }
  }
  EXPECT_NE(error_of(families::compute_kernel(files_, {"k", "rows", 4, 3}, plan_)).find("rows of 48 numbers"),
            std::string::npos);
  EXPECT_FALSE(families::compute_kernel(files_, {"k", "none", 2, 3}, plan_).ok());
}

TEST_F(Computed, RowsAreSummed) {
  ASSERT_TRUE(families::compute_sum(files_, "s", {{"a", 5}, {"b", 0, 2}}, plan_, {1, 2, 3, 4}).ok());
  const at::Tensor wanted = tensors_["a"][5] + 2 * tensors_["b"][0] + at::tensor({1.0F, 2.0F, 3.0F, 4.0F});
  EXPECT_TRUE(at::allclose(found("s"), wanted.unsqueeze(0), 1e-6, 1e-6));
  EXPECT_NE(error_of(families::compute_sum(files_, "s", {{"b", 3}}, plan_)).find("more than 3 rows"),
            std::string::npos);
  EXPECT_FALSE(families::compute_sum(files_, "s", {{"a"}, {"wide"}}, plan_).ok());
  EXPECT_FALSE(families::compute_sum(files_, "s", {{"a"}}, plan_, {1, 2}).ok());
}

}  // namespace
}  // namespace locus
