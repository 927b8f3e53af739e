// Fields of cross-attention, whose keys are other tokens than its queries, against the plain formula.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/attention/score_field.h"
#include "core/position/list.h"

namespace locus {
namespace {

using attention::Mask;
using attention::Quantity;

constexpr std::int64_t kHeads = 2;
constexpr std::int64_t kWidth = 8;

struct Cross {
  std::shared_ptr<const position::PositionEncoding> encoding;
  position::Prepared prepared;
  at::Tensor value;
  at::Tensor no_state;
  at::Tensor logits;   // (H, R, K) by the formula
  at::Tensor weights;  // (H, R, K)

  attention::Attention attention() const { return {*encoding, prepared, 0, value, no_state, Mask{false}}; }
  std::shared_ptr<const attention::ComputedScores> source() const {
    return std::make_shared<const attention::ComputedScores>(encoding, 0, prepared,
                                                             attend_streaming(attention())->log_sum_exp);
  }
};

Cross make_cross(std::int64_t queries, std::int64_t keys) {
  at::manual_seed(11);
  position::ModelShape shape;
  shape.heads = shape.kv_heads = kHeads;
  shape.head_width = kWidth;
  shape.causal = false;
  Cross cross;
  cross.encoding = *position::make_encoding("none", {}, shape);
  cross.prepared.query = at::randn({1, kHeads, queries, kWidth}) * 2;
  cross.prepared.key = at::randn({1, kHeads, keys, kWidth});
  cross.prepared.positions = position::Positions::sequence(queries);
  cross.value = at::randn({1, kHeads, keys, kWidth});
  cross.logits = (at::matmul(cross.prepared.query, cross.prepared.key.transpose(-1, -2)) / std::sqrt(8.0)).select(0, 0);
  cross.weights = at::softmax(cross.logits, -1);
  return cross;
}

double largest(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

at::Tensor tensor_of(const Field& field) {
  return at::from_blob(const_cast<float*>(field.values.data()), {field.rows, field.columns}, at::kFloat).clone();
}

// More queries than keys, fewer, one of either, and more than a block of each.
constexpr std::pair<std::int64_t, std::int64_t> kSizes[] = {{70, 150}, {150, 70}, {1, 90}, {90, 1}, {300, 2100}};

TEST(CrossField, DriversAttendToAllKeysOfAnotherText) {
  const at::NoGradGuard no_grad;
  for (const auto& [queries, keys] : kSizes) {
    const Cross cross = make_cross(queries, keys);
    const at::Tensor expected = at::matmul(cross.weights, cross.value.select(0, 0));
    const attention::Attended whole = attend_whole_map(cross.attention());
    const auto fused = attend_streaming(cross.attention());
    const auto blocks = attend_streaming(cross.attention(), {{}, 16, 32, {}});
    ASSERT_TRUE(fused.ok() && blocks.ok());
    for (const attention::Attended* each : {&whole, &*fused, &*blocks}) {
      ASSERT_EQ(each->output.sizes(), (at::IntArrayRef{1, kHeads, queries, kWidth}));
      EXPECT_LT(largest(each->output.select(0, 0), expected), 1e-5) << queries << " × " << keys;
      EXPECT_LT(largest(each->log_sum_exp.select(0, 0), at::logsumexp(cross.logits, -1)), 1e-5);
    }
  }
}

TEST(CrossField, MapsAndReductionsAreThoseOfTheRectangle) {
  const at::NoGradGuard no_grad;
  for (const auto& [queries, keys] : kSizes) {
    const Cross cross = make_cross(queries, keys);
    const auto stored = std::make_shared<const attention::StoredScores>(
        std::map<Quantity, at::Tensor>{{Quantity::kWeight, cross.weights}, {Quantity::kLogit, cross.logits}});
    const std::shared_ptr<const attention::ScoreSource> sources[] = {cross.source(), stored};
    for (const auto& source : sources) {
      ASSERT_EQ(source->length(), queries);
      ASSERT_EQ(source->keys(), keys);
      const attention::ScoreField field(source, Mask{false});
      for (const auto& [quantity, want] :
           {std::pair{Quantity::kWeight, cross.weights}, std::pair{Quantity::kLogit, cross.logits}}) {
        const auto map = field.map({quantity, 1, {}, {}});
        ASSERT_TRUE(map.ok()) << map.error().describe();
        ASSERT_EQ(map->rows, queries);
        ASSERT_EQ(map->columns, keys);
        EXPECT_LT(largest(tensor_of(*map), want[1]), 1e-5);
        const auto overview = field.overview({quantity, 1, {}, {}}, 1, 1, Reduction::kMax);
        ASSERT_TRUE(overview.ok());
        EXPECT_NEAR(overview->values[0], want[1].max().item<float>(), 1e-5);
        const auto down = field.overview({quantity, 1, {}, {}}, 1, keys, Reduction::kMean);
        ASSERT_TRUE(down.ok());
        EXPECT_LT(largest(tensor_of(*down)[0], want[1].mean(0)), 1e-5);
      }
      const auto mean = field.map({Quantity::kWeight, attention::kMeanHead, {0, 1}, {keys - 1, keys}});
      ASSERT_TRUE(mean.ok());
      EXPECT_NEAR(mean->values[0], cross.weights.mean(0)[0][keys - 1].item<float>(), 1e-6);
      EXPECT_FALSE(field.map({Quantity::kWeight, 0, {0, queries + 1}, {}}).ok());
      EXPECT_FALSE(field.map({Quantity::kWeight, 0, {}, {0, keys + 1}}).ok());
    }
  }
}

TEST(CrossField, PreviewsAreCellsOfTheRectangle) {
  const at::NoGradGuard no_grad;
  const Cross cross = make_cross(70, 150);
  const attention::ScoreField field(cross.source(), Mask{false});
  const auto preview = field.preview({Quantity::kWeight, 0, {}, {}}, 7, 10);
  ASSERT_TRUE(preview.ok()) << preview.error().describe();
  for (std::int64_t row = 0; row < 7; ++row) {
    for (std::int64_t column = 0; column < 10; ++column) {
      EXPECT_NEAR(preview->at(row, column), cross.weights[0][row * 10 + 9][column * 15].item<float>(), 1e-6);
    }
  }
}

}  // namespace
}  // namespace locus
