// The streaming driver against the whole-map driver, and both against a plain soft-max.
#include "core/attention/attend.h"

#include <gtest/gtest.h>

#include "core/position/list.h"
#include "tests/support/encodings.h"
#include "tests/support/golden.h"

namespace locus {
namespace {

constexpr double kTolerance = 1e-5;

position::ModelShape shape_of(bool causal) {
  position::ModelShape shape;
  shape.layers = 2;
  shape.heads = 4;
  shape.kv_heads = 2;
  shape.head_width = 8;
  shape.width = 32;
  shape.trained_length = 64;
  shape.causal = causal;
  return shape;
}

struct Layer {
  std::unique_ptr<position::PositionEncoding> encoding;
  position::Prepared prepared;
  at::Tensor value;
  at::Tensor state_values;

  Layer(const std::string& name, const position::ModelShape& shape, std::int64_t length, const Settings& options = {}) {
    const at::NoGradGuard no_grad;
    at::manual_seed(7);
    auto made = position::make_encoding(name, options, shape);
    EXPECT_TRUE(made.ok()) << name << (made.ok() ? "" : made.error().describe());
    encoding = std::move(*made);
    for (const position::Parameter& parameter : encoding->parameters()) {
      parameter.value->copy_(at::randn(parameter.value->sizes()) * 0.3);
    }
    const position::State state = encoding->begin(position::Positions::sequence(length), 1);
    position::Projections projections;
    projections.query = at::randn({1, shape.heads, length, shape.head_width}) * 2;
    projections.key = at::randn({1, shape.kv_heads, length, shape.head_width});
    projections.value = value = at::randn({1, shape.kv_heads, length, shape.head_width});
    projections.hidden = at::randn({1, length, shape.width});
    prepared = encoding->prepare(state, 0, projections);
    state_values = encoding->state_values(state, 0);
  }

  attention::Attention attention(const attention::Mask& mask) const {
    return {*encoding, prepared, 0, value, state_values, mask};
  }
};

void expect_equal(const Layer& layer, const attention::Mask& mask, const std::string& what) {
  const at::NoGradGuard no_grad;
  const attention::Attended whole = attend_whole_map(layer.attention(mask));
  // Blocks that do not divide the length, one block, and blocks of one row.
  for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>{7, 11}, {64, 64}, {1, 3}, {0, 0}}) {
    const auto streamed = attend_streaming(layer.attention(mask), {{}, rows, columns, {}});
    ASSERT_TRUE(streamed.ok());
    EXPECT_CLOSE(streamed->output, whole.output, kTolerance) << what << rows;
    EXPECT_CLOSE(streamed->log_sum_exp, whole.log_sum_exp, kTolerance) << what << rows;
    ASSERT_EQ(streamed->chosen.defined(), whole.chosen.defined());
    if (whole.chosen.defined()) {
      EXPECT_TRUE(at::equal(streamed->chosen, whole.chosen)) << what << rows;
    }
    ASSERT_EQ(streamed->state_values.defined(), whole.state_values.defined());
    if (whole.state_values.defined()) {
      EXPECT_CLOSE(streamed->state_values, whole.state_values, kTolerance) << what << rows;
    }
  }
}

TEST(Attend, StreamingEqualsTheWholeMapForEveryEncoding) {
  for (const position::Entry& entry : position::encodings()) {
    const std::string& name = entry.description.name;
    if (!test::takes_sequences(name)) {
      continue;  // image grids: the vision goldens run them
    }
    const Layer layer(name, shape_of(true), 40);
    expect_equal(layer, {true, 0}, name);
  }
}

TEST(Attend, StreamingEqualsTheWholeMapBothWaysAndInWindows) {
  expect_equal(Layer("none", shape_of(false), 33), {false, 0}, "both ways");
  expect_equal(Layer("rope", shape_of(true), 50), {true, 9}, "window");
  expect_equal(Layer("alibi", shape_of(true), 50), {true, 1}, "window of one");
}

TEST(Attend, HardAttentionTakesTheLargestVisibleLogitAlone) {
  for (const attention::Mask& mask : {attention::Mask{true, 0}, attention::Mask{true, 6}}) {
    const Layer layer("cope", shape_of(true), 45, {{"hard_attention", true}});
    expect_equal(layer, mask, "hard");
    const at::NoGradGuard no_grad;
    const attention::Attended got = attend_whole_map(layer.attention(mask));
    const Range all{0, 45};
    const at::Tensor logits = layer.encoding->score(layer.prepared, {0, {0, 4}, all, all}).logits;
    for (std::int64_t head = 0; head < 4; ++head) {
      for (std::int64_t row = 0; row < 45; ++row) {
        std::int64_t best = row;
        for (std::int64_t column = 0; column < row; ++column) {
          const bool larger = logits[0][head][row][column].item<float>() > logits[0][head][row][best].item<float>();
          best = mask.visible(row, column) && larger ? column : best;
        }
        EXPECT_CLOSE(got.output[0][head][row], layer.value[0][head / 2][best], 0.0) << head << ", " << row;
      }
    }
  }
}

TEST(Attend, HardAttentionTakesTheFirstOfEqualLogits) {
  const at::NoGradGuard no_grad;
  Layer layer("cope", shape_of(true), 21, {{"hard_attention", true}});
  layer.prepared.query.zero_();  // every logit is 0
  for (const std::int64_t columns : {4, 64}) {
    const auto streamed = attend_streaming(layer.attention({true, 0}), {{}, 4, columns, {}});
    ASSERT_TRUE(streamed.ok());
    EXPECT_EQ(streamed->chosen.abs().max().item<std::int64_t>(), 0) << columns;
  }
  EXPECT_EQ(attend_whole_map(layer.attention({true, 0})).chosen.abs().max().item<std::int64_t>(), 0);
  layer.value = at::empty({1, 2, 21, 0});  // as where a trace's scores are made of queries and keys alone
  const auto without_values = attend_streaming(layer.attention({true, 0}));
  ASSERT_TRUE(without_values.ok());
  EXPECT_EQ(without_values->chosen.sizes(), at::IntArrayRef({1, 4, 21}));
}

TEST(Attend, HardAttentionIsTrainedAsASoftMax) {
  const Layer hard("cope", shape_of(true), 12, {{"hard_attention", true}});
  const Layer soft("cope", shape_of(true), 12);
  EXPECT_CLOSE(attend_whole_map(hard.attention({true, 0})).output, attend_whole_map(soft.attention({true, 0})).output,
               kTolerance);
}

TEST(Attend, WholeMapIsTheSoftMaxOfVisibleKeys) {
  const at::NoGradGuard no_grad;
  const Layer layer("none", shape_of(true), 5);
  const attention::Attended got = attend_whole_map(layer.attention({true, 3}));
  const at::Tensor key = layer.prepared.key.repeat_interleave(2, 1);
  const at::Tensor value = layer.value.repeat_interleave(2, 1);
  for (std::int64_t row = 0; row < 5; ++row) {
    const std::int64_t first = std::max<std::int64_t>(0, row - 2);
    const at::Tensor logits =
        at::matmul(key.slice(2, first, row + 1), layer.prepared.query.select(2, row).unsqueeze(-1)) / std::sqrt(8.0);
    const at::Tensor want = (at::softmax(logits, 2) * value.slice(2, first, row + 1)).sum(2);
    EXPECT_CLOSE(got.output.select(2, row), want, kTolerance) << row;
  }
}

TEST(Attend, RowsAloneEqualTheirPartOfAll) {
  const at::NoGradGuard no_grad;
  const Layer layer("cope", shape_of(true), 30);
  const auto all = attend_streaming(layer.attention({true, 0}));
  const auto some = attend_streaming(layer.attention({true, 0}), {{20, 30}, 4, 8, {}});
  ASSERT_TRUE(all.ok() && some.ok());
  EXPECT_CLOSE(some->output, all->output.slice(2, 20, 30), kTolerance);
}

TEST(Attend, StopsBetweenBlocks) {
  const Layer layer("none", shape_of(true), 30);
  std::stop_source source;
  source.request_stop();
  const auto stopped = attend_streaming(layer.attention({true, 0}), {{}, 0, 0, source.get_token()});
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace locus
