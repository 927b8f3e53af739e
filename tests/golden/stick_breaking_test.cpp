// Stick-breaking against the authors' own code in float64 (shawntan/stickbreaking-attention 3147a38, sb_ref.py).
// Tolerance 1e-10 in float64, 1e-5 in float32.
#include <gtest/gtest.h>

#include "core/attention/attend.h"
#include "core/attention/score_field.h"
#include "tests/support/encodings.h"
#include "tests/support/golden.h"

namespace locus::test {
namespace {

using position::Positions;

class StickBreaking : public testing::TestWithParam<std::string> {};

TEST_P(StickBreaking, weightsRestAndOutputs) {
  const Golden golden("stickbreaking");
  const std::string name = GetParam();
  for (const auto& [type, tolerance] : {std::pair(at::kDouble, 1e-10), std::pair(at::kFloat, 1e-5)}) {
    const auto tensor = [&, of = type](const std::string& part) {
      return golden[name + "." + part].to(of).unsqueeze(0);
    };
    const at::Tensor query = tensor("q");
    const auto stick = encoding("stick-breaking", {}, shape_of(query.size(1), query.size(3)));
    const position::Prepared prepared = prepare(*stick, Positions::sequence(query.size(2)), query, tensor("k"));
    const at::Tensor logits = causal_cells(whole_map(*stick, prepared).logits.exp())[0];
    const at::Tensor own = at::diag_embed(golden[name + ".rest"]);
    EXPECT_CLOSE(logits, golden[name + ".attn"] + own, tolerance);
    EXPECT_CLOSE(logits.sum(-1), at::ones_like(golden[name + ".rest"]), tolerance);
    const at::Tensor value = tensor("v");
    const attention::Mask mask{true};
    const attention::Attention attention{*stick, prepared, 0, value, {}, mask};
    EXPECT_CLOSE(attention::attend_whole_map(attention).output[0], golden[name + ".out_with_rest"], tolerance);
    const at::NoGradGuard no_grad;
    attention::StreamingOptions small;
    small.row_block = small.column_block = 5;
    const auto streamed = attention::attend_streaming(attention, small);
    ASSERT_TRUE(streamed.ok());
    EXPECT_CLOSE(streamed->output[0], golden[name + ".out_with_rest"], 1e-5);
    EXPECT_LE(streamed->log_sum_exp.abs().max().item<double>(), 1e-5);  // logits are logarithms of weights
  }
}

// content + contribution: the odds of a key, and what the keys from it on have left.
TEST_P(StickBreaking, contributionIsWhatIsLeftBehindAKey) {
  const Golden golden("stickbreaking");
  const at::Tensor query = golden[GetParam() + ".q"].unsqueeze(0);
  const at::Tensor key = golden[GetParam() + ".k"].unsqueeze(0);
  const auto stick = encoding("stick-breaking", {}, shape_of(query.size(1), query.size(3)));
  const position::TileScores scores =
      whole_map(*stick, prepare(*stick, Positions::sequence(query.size(2)), query, key), 0, {.content = true});
  const std::int64_t i = query.size(2) - 2;
  for (std::int64_t head = 0; head < query.size(1); ++head) {
    double left = 0;
    for (std::int64_t j = i - 1; j >= 0; --j) {
      const double odds = (query[0][head][i] * key[0][head][j]).sum().item<double>() * stick->scale();
      left -= std::log1p(std::exp(odds));
      EXPECT_NEAR(scores.content[0][head][i][j].item<double>(), odds, 1e-10);
      EXPECT_NEAR((scores.logits - scores.content)[0][head][i][j].item<double>(), left, 1e-10);
    }
    EXPECT_EQ(scores.content[0][head][i][i].item<double>(), 0);
    EXPECT_NEAR(scores.logits[0][head][i][i].item<double>(), left, 1e-10);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, StickBreaking, testing::Values("a", "b"));

}  // namespace
}  // namespace locus::test
