// Selective attention against x-transformers 2.31.10 in float64. Tolerance 1e-10 in float64, 1e-5 in float32.
#include <gtest/gtest.h>

#include "core/attention/attend.h"
#include "tests/support/encodings.h"
#include "tests/support/golden.h"

namespace locus::test {
namespace {

using position::Positions;

class Selective : public testing::TestWithParam<std::string> {};

TEST_P(Selective, maskingLogitsWeightsAndOutputs) {
  const Golden golden("selective");
  const std::string name = GetParam();
  for (const auto& [type, tolerance] : {std::pair(at::kDouble, 1e-10), std::pair(at::kFloat, 1e-5)}) {
    const auto tensor = [&, of = type](const std::string& part) {
      return golden[name + "." + part].to(of).unsqueeze(0);
    };
    const at::Tensor query = tensor("q");
    const auto selective = encoding("selective", {}, shape_of(query.size(1), query.size(3)));
    const position::Prepared prepared = prepare(*selective, Positions::sequence(query.size(2)), query, tensor("k"));
    const position::TileScores scores = whole_map(*selective, prepared, 0, {.content = true});
    EXPECT_CLOSE(causal_cells(scores.logits)[0], golden[name + ".logits"], tolerance);
    const at::Tensor hidden = causal_cells(scores.content - scores.logits)[0];
    EXPECT_CLOSE(hidden, causal_cells(golden[name + ".masking"]).expand_as(hidden), tolerance);
    const at::Tensor value = tensor("v");
    const attention::Attention attention{*selective, prepared, 0, value, {}, {true}};
    EXPECT_CLOSE(attention::attend_whole_map(attention).output[0], golden[name + ".out"], tolerance);
    const at::NoGradGuard no_grad;
    attention::StreamingOptions small;
    small.row_block = small.column_block = 5;
    const auto streamed = attention::attend_streaming(attention, small);
    ASSERT_TRUE(streamed.ok());
    EXPECT_CLOSE(streamed->output[0], golden[name + ".out"], 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Selective, testing::Values("a", "b"));

}  // namespace
}  // namespace locus::test
