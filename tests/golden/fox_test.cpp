// Forget gates against flash-linear-attention's own naive code in float64 (bc3b101, fla/ops/forgetting_attn/naive.py).
// Tolerance 1e-10 in float64, 1e-5 in float32.
#include <gtest/gtest.h>

#include "core/attention/attend.h"
#include "tests/support/encodings.h"
#include "tests/support/golden.h"

namespace locus::test {
namespace {

using position::Positions;

struct Layer {
  std::unique_ptr<position::PositionEncoding> encoding;
  position::Projections projections;
  position::Prepared prepared;
};

Layer fox_of(const Golden& golden, const std::string& name, at::ScalarType type) {
  const auto tensor = [&](const std::string& of) { return golden[name + "." + of].to(type); };
  Layer fox;
  fox.projections = {tensor("q").unsqueeze(0), tensor("k").unsqueeze(0), tensor("v").unsqueeze(0),
                     tensor("x").unsqueeze(0)};
  const at::Tensor& query = fox.projections.query;
  position::ModelShape shape = shape_of(query.size(1), query.size(3), fox.projections.key.size(1));
  shape.width = fox.projections.hidden.size(2);
  fox.encoding = encoding("fox", {}, shape);
  parameter(*fox.encoding, "layers.0.gate") = tensor("w.f_proj.weight");
  parameter(*fox.encoding, "layers.0.gate_bias") = tensor("w.f_proj.bias");
  fox.prepared = fox.encoding->prepare(fox.encoding->begin(Positions::sequence(query.size(2)), 1), 0, fox.projections);
  return fox;
}

class Fox : public testing::TestWithParam<std::string> {};

TEST_P(Fox, gatesLogitsWeightsAndOutputs) {
  const Golden golden("fox");
  const std::string name = GetParam();
  for (const auto& [type, tolerance] : {std::pair(at::kDouble, 1e-10), std::pair(at::kFloat, 1e-5)}) {
    const Layer fox = fox_of(golden, name, type);
    EXPECT_CLOSE(fox.prepared.gate_query[0].squeeze(-1), golden[name + ".log_fgate"], tolerance);
    const position::TileScores scores = whole_map(*fox.encoding, fox.prepared, 0, {.content = true});
    attention::Mask mask{true};
    mask.window = name == "window" ? golden["window.window"].item<std::int64_t>() : 0;
    const Range all{0, fox.prepared.query.size(2)};
    const auto seen = [&](const at::Tensor& map) { return map.masked_fill(mask.hidden(all, all, at::kCPU), 0); };
    EXPECT_CLOSE(seen(scores.logits[0]), golden[name + ".logits"], tolerance);
    EXPECT_CLOSE(seen((scores.logits - scores.content)[0]), seen(golden[name + ".bias"]), tolerance);
    const attention::Attention attention{*fox.encoding, fox.prepared, 0, fox.projections.value, {}, mask};
    EXPECT_CLOSE(attention::attend_whole_map(attention).output[0], golden[name + ".out"], tolerance);
    const at::NoGradGuard no_grad;
    attention::StreamingOptions small;
    small.row_block = small.column_block = 5;
    const auto streamed = attention::attend_streaming(attention, small);
    ASSERT_TRUE(streamed.ok());
    EXPECT_CLOSE(streamed->output[0], golden[name + ".out"], 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Fox, testing::Values("a", "b", "gqa", "window"));

}  // namespace
}  // namespace locus::test
