// Masks with blocks against the rule written out cell by cell, and both attention drivers under them.
#include "core/attention/mask.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/attention/attend.h"
#include "core/attention/score_field.h"
#include "core/position/list.h"
#include "tests/support/golden.h"

namespace locus {
namespace {

using attention::Blocks;
using attention::BlocksInWindows;
using attention::Mask;

struct MaskCase {
  Mask order;
  std::vector<std::int64_t> of;
  bool alone;
  BlocksInWindows windows = BlocksInWindows::kWhole;
};

std::vector<MaskCase> mask_cases() {
  return {{Mask{true, 0, 0}, {-1, 0, 0, 0, -1, -1, 1, 1, 1, -1, -1, -1}, false},
          {Mask{true, 3, 0}, {-1, 0, 0, 0, 0, 0, 0, -1, 1, 1, -1, -1}, false},
          {Mask{true, 0, 0}, {0, 0, 0, 0, 0, -1, -1, -1, -1, -1, -1, -1}, false},
          {Mask{true, 3, 0}, {-1, 0, 0, 0, 0, 0, 0, -1, 1, 1, -1, -1}, false, BlocksInWindows::kCutOnly},
          {Mask{true, 2, 0}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1}, false, BlocksInWindows::kCutOnly},
          {Mask{true, 2, 0}, {-1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, -1}, false, BlocksInWindows::kCut},
          {Mask{true, 0, 0}, {-1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, -1}, false, BlocksInWindows::kCut},
          {Mask{false, 0, 0}, {0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 2}, true},
          {Mask{false, 0, 0}, {0, 1, 0, 1, 2, 2, 0, 1, 3, 3, 2, 2}, true}};
}

bool sees(const MaskCase& each, std::int64_t i, std::int64_t j) {
  const auto own = each.of[static_cast<std::size_t>(i)];
  const bool together = own >= 0 && own == each.of[static_cast<std::size_t>(j)];
  const bool order = (!each.order.causal || j <= i) && (each.order.window == 0 || j > i - each.order.window);
  const bool shown = each.windows == BlocksInWindows::kWhole || each.order.window == 0 || j > i - each.order.window;
  return (together && shown) || (!each.alone && order);
}

TEST(Mask, blocksAreWhatTheRuleSaysCellByCell) {
  for (const MaskCase& each : mask_cases()) {
    Mask mask = each.order;
    mask.blocks = Blocks::make(each.of, each.alone, each.windows);
    const auto length = static_cast<std::int64_t>(each.of.size());
    const at::Tensor hidden = mask.hidden({0, length}, {0, length}, at::kCPU);
    for (std::int64_t i = 0; i < length; ++i) {
      for (std::int64_t j = 0; j < length; ++j) {
        EXPECT_EQ(!hidden[i][j].item<bool>(), sees(each, i, j)) << i << " " << j;
        EXPECT_EQ(mask.visible(i, j), sees(each, i, j)) << i << " " << j;
      }
    }
    for (std::int64_t begin = 0; begin < length; begin += 2) {
      for (std::int64_t end = begin + 1; end <= length; end += 3) {
        const Range columns = mask.columns({begin, end}, length);
        EXPECT_TRUE(hidden.slice(0, begin, end).slice(1, 0, columns.begin).all().item<bool>());
        EXPECT_TRUE(hidden.slice(0, begin, end).slice(1, columns.end).all().item<bool>());
        if (mask.covers({begin, end}, {1, 4})) {
          EXPECT_FALSE(hidden.slice(0, begin, end).slice(1, 1, 4).any().item<bool>());
        }
      }
    }
  }
}

// Blocks of windows alone are not for layers without one; others that a window cuts are whole there.
TEST(Mask, blocksOfWindowsAloneAreOfLayersWithAWindow) {
  const std::vector<std::int64_t> of{0, 0, 0, -1};
  const auto plain = Blocks::make(of, false);
  const auto windowed = Blocks::make(of, false, BlocksInWindows::kCutOnly);
  const auto cut = Blocks::make(of, false, BlocksInWindows::kCut);
  EXPECT_EQ((Mask{true, 2, 0}.with(windowed).blocks), windowed);
  EXPECT_EQ((Mask{true, 0, 0}.with(windowed).blocks), nullptr);
  EXPECT_EQ((Mask{false, 2, 0}.with(windowed).blocks), nullptr);
  EXPECT_EQ((Mask{true, 0, 0}.with(plain).blocks), plain);
  EXPECT_EQ((Mask{true, 2, 0}.with(cut).blocks), cut);
  EXPECT_EQ((Mask{true, 0, 0}.with(cut).blocks), cut);
  EXPECT_EQ((Mask{true, 2, 0}.with(nullptr).blocks), nullptr);
}

TEST(Mask, bothDriversAndFieldsAgreeUnderBlocks) {
  const at::NoGradGuard no_grad;
  position::ModelShape shape;
  shape.heads = 2;
  shape.kv_heads = 1;
  shape.head_width = 8;
  shape.width = 16;
  const std::shared_ptr<const position::PositionEncoding> encoding = *position::make_encoding("rope", {}, shape);
  position::Projections projections{at::randn({1, 2, 12, 8}), at::randn({1, 1, 12, 8}), {}, {}};
  const position::Prepared prepared =
      encoding->prepare(encoding->begin(position::Positions::sequence(12), 1), 0, projections);
  const at::Tensor value = at::randn({1, 1, 12, 8});
  const at::Tensor none;
  for (const MaskCase& each : mask_cases()) {
    Mask mask = each.order;
    mask.blocks = Blocks::make(each.of, each.alone, each.windows);
    const attention::Attention attention{*encoding, prepared, 0, value, none, mask};
    const at::Tensor whole = attention::attend_whole_map(attention).output;
    const at::Tensor scores = at::matmul(prepared.query, prepared.key.transpose(-1, -2)) * encoding->scale();
    const at::Tensor hidden = mask.hidden({0, 12}, {0, 12}, at::kCPU);
    const at::Tensor weights = at::softmax(scores.masked_fill(hidden, -INFINITY), -1).nan_to_num(0);
    EXPECT_CLOSE(whole, at::matmul(weights, value), 1e-5);
    for (const std::int64_t block : {std::int64_t{0}, std::int64_t{4}}) {
      attention::StreamingOptions options;
      options.row_block = options.column_block = block;
      const auto streamed = attention::attend_streaming(attention, options);
      ASSERT_TRUE(streamed.ok());
      EXPECT_CLOSE(streamed->output, whole, 1e-5);
      const auto computed =
          std::make_shared<const attention::ComputedScores>(encoding, 0, prepared, streamed->log_sum_exp);
      const attention::ScoreField field(computed, mask);
      for (std::int64_t head = 0; head < 2; ++head) {
        const auto map = field.map({attention::Quantity::kWeight, head, {}, {}});
        ASSERT_TRUE(map.ok());
        EXPECT_CLOSE(at::tensor(at::ArrayRef<float>(map->values)).view({12, 12}), weights[0][head], 1e-5);
      }
    }
  }
}

}  // namespace
}  // namespace locus
