// Learned positions against the authors' own code in float64 (SakanaAI/repo 1508a73, Olmo2Attention). Tolerance
// 1e-10 in float64; float32 is off by 9e-6 there, since its angles are large.
#include <gtest/gtest.h>

#include "core/attention/attend.h"
#include "tests/support/encodings.h"
#include "tests/support/golden.h"

namespace locus::test {
namespace {

using position::Positions;

class Repo : public testing::TestWithParam<std::string> {};

TEST_P(Repo, PlacesLogitsWeightsAndOutputs) {
  const Golden golden("repo");
  for (const auto& [type, tolerance] : {std::pair(at::kDouble, 1e-10), std::pair(at::kFloat, 3e-5)}) {
    const auto tensor = [&, of = type](const std::string& name) { return golden[GetParam() + "." + name].to(of); };
    const position::Projections projections{tensor("q").unsqueeze(0), tensor("k").unsqueeze(0),
                                            tensor("v").unsqueeze(0), tensor("hidden").unsqueeze(0)};
    const at::Tensor& query = projections.query;
    position::ModelShape shape = shape_of(query.size(1), query.size(3), query.size(1));
    shape.width = projections.hidden.size(2);
    const auto encoding = locus::test::encoding("repo", {{"base", 5e5}}, shape);
    for (const char* name : {"gate_map", "content_map", "final_map"}) {
      parameter(*encoding, std::string("layers.0.") + name) = tensor(std::string("w.") + name + ".weight");
    }
    const position::Prepared prepared =
        encoding->prepare(encoding->begin(Positions::sequence(query.size(2)), 1), 0, projections);
    EXPECT_CLOSE(encoding->learned_positions(prepared)[0].squeeze(-1), golden[GetParam() + ".z"], tolerance);
    const position::TileScores scores = whole_map(*encoding, prepared, 0, {.content = true});
    const Range all{0, query.size(2)};
    const attention::Mask mask{true};
    const auto seen = [&](const at::Tensor& map) { return map.masked_fill(mask.hidden(all, all, at::kCPU), 0); };
    EXPECT_CLOSE(seen(scores.logits[0]), golden[GetParam() + ".logits"], tolerance);
    EXPECT_CLOSE(scores.content[0], at::matmul(query, projections.key.transpose(-1, -2))[0] * encoding->scale(),
                 tolerance);
    const attention::Attention attention{*encoding, prepared, 0, projections.value, {}, mask};
    EXPECT_CLOSE(attention::attend_whole_map(attention).output[0], golden[GetParam() + ".out"], tolerance);
    const at::NoGradGuard no_grad;
    attention::StreamingOptions small;
    small.row_block = small.column_block = 5;
    const auto streamed = attention::attend_streaming(attention, small);
    ASSERT_TRUE(streamed.ok());
    EXPECT_CLOSE(streamed->output[0], golden[GetParam() + ".out"], 3e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Repo, testing::Values("a", "b"));

}  // namespace
}  // namespace locus::test
