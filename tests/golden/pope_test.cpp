// Polar coordinates against PoPE-pytorch in float64 (lucidrains/PoPE-pytorch ee11cab). Tolerance 1e-10 in float64, 1e-5
// in float32.
#include <gtest/gtest.h>

#include <numbers>

#include "core/attention/attend.h"
#include "tests/support/encodings.h"
#include "tests/support/golden.h"

namespace locus::test {
namespace {

using position::Positions;

class Pope : public testing::TestWithParam<std::string> {};

TEST_P(Pope, sizesPhasesLogitsWeightsAndOutputs) {
  const Golden golden("pope");
  const std::string name = GetParam();
  for (const auto& [type, tolerance] : {std::pair(at::kDouble, 1e-10), std::pair(at::kFloat, 1e-5)}) {
    const auto tensor = [&, of = type](const std::string& part) { return golden[name + "." + part].to(of); };
    const at::Tensor query = tensor("q").unsqueeze(0);
    const at::Tensor key = tensor("k").unsqueeze(0);
    const at::Tensor value = tensor("v").unsqueeze(0);
    const position::ModelShape shape = shape_of(query.size(1), query.size(3));
    const std::int64_t polar = golden[name + ".w.bias"].size(1);
    const double fraction = static_cast<double>(polar) / static_cast<double>(query.size(3));
    const auto pope = encoding("pope", {{"fraction", fraction}}, shape);
    parameter(*pope, "layers.0.phase") = tensor("w.bias");
    const position::Prepared prepared = prepare(*pope, Positions::sequence(query.size(2)), query, key);
    const auto sizes = [&](const at::Tensor& content) { return content[0].slice(-1, 0, polar); };
    EXPECT_CLOSE(sizes(prepared.content_query), golden[name + ".q_magnitude"].slice(-1, 0, polar), tolerance);
    EXPECT_CLOSE(sizes(prepared.content_key), golden[name + ".k_magnitude"].slice(-1, 0, polar), tolerance);
    const position::TileScores scores = whole_map(*pope, prepared, 0, {.content = true});
    const Range all{0, query.size(2)};
    const attention::Mask mask{true};
    const auto seen = [&](const at::Tensor& map) { return map.masked_fill(mask.hidden(all, all, at::kCPU), 0); };
    EXPECT_CLOSE(seen(scores.logits[0]), golden[name + ".logits"], tolerance);
    // No phase makes more of the sizes than they are.
    EXPECT_GE((scores.content - scores.logits).min().item<double>(), -1e-5);
    const attention::Attention attention{*pope, prepared, 0, value, {}, mask};
    EXPECT_CLOSE(attention::attend_whole_map(attention).output[0], golden[name + ".out"], tolerance);
    const at::NoGradGuard no_grad;
    attention::StreamingOptions small;
    small.row_block = small.column_block = 5;
    const auto streamed = attention::attend_streaming(attention, small);
    ASSERT_TRUE(streamed.ok());
    EXPECT_CLOSE(streamed->output[0], golden[name + ".out"], 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Pope, testing::Values("a", "b", "partial"));

}  // namespace
}  // namespace locus::test
