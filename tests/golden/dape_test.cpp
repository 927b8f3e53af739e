// Corrections from all heads against the authors' own code in float64 (chuanyang-Zheng/DAPE bde344a). Tolerance 1e-10 in
// float64, 1e-5 in float32.
#include <gtest/gtest.h>

#include "core/attention/attend.h"
#include "tests/support/encodings.h"
#include "tests/support/golden.h"

namespace locus::test {
namespace {

using position::Positions;

struct DapeCase {
  std::string name;
  std::string over;
  std::string file_over;
};

void PrintTo(const DapeCase& each, std::ostream* stream) {
  *stream << each.name << " over " << each.over;
}

class Dape : public testing::TestWithParam<DapeCase> {};

TEST_P(Dape, logitsWeightsAndOutputs) {
  const DapeCase& each = GetParam();
  const Golden golden("dape");
  const std::string variant = each.name + ".v1." + each.file_over + ".";
  for (const auto& [type, tolerance] : {std::pair(at::kDouble, 1e-10), std::pair(at::kFloat, 1e-5)}) {
    const auto tensor = [&, of = type](const std::string& part) { return golden[part].to(of); };
    const at::Tensor query = tensor(each.name + ".q").unsqueeze(0);
    const at::Tensor key = tensor(each.name + ".k").unsqueeze(0);
    const at::Tensor value = tensor(each.name + ".v").unsqueeze(0);
    const auto dape =
        encoding("dape", {{"over", each.over}, {"hidden", std::int64_t{12}}}, shape_of(query.size(1), query.size(3)));
    for (const std::string part : {"0.weight", "0.bias", "2.weight", "2.bias"}) {
      parameter(*dape, "layers.0.correction." + part) = tensor(variant + "w.mlp2." + part);
    }
    if (each.over == "kerple-log") {
      parameter(*dape, "p") = tensor(variant + "w.bias_p").flatten();
      parameter(*dape, "a") = tensor(variant + "w.bias_a").flatten();
    }
    // The file's queries and keys over RoPE are those behind the rotation: at position 0 nothing turns.
    const Positions here{at::zeros({query.size(2)}, at::kDouble)};
    const Positions positions = each.over == "rope" ? here : Positions::sequence(query.size(2));
    const position::Prepared prepared = prepare(*dape, positions, query, key);
    EXPECT_CLOSE(causal_cells(whole_map(*dape, prepared).logits)[0], golden[variant + "logits"], tolerance);
    const attention::Attention attention{*dape, prepared, 0, value, {}, {true}};
    EXPECT_CLOSE(attention::attend_whole_map(attention).output[0], golden[variant + "out"], tolerance);
    const at::NoGradGuard no_grad;
    attention::StreamingOptions small;
    small.row_block = small.column_block = 5;
    const auto streamed = attention::attend_streaming(attention, small);
    ASSERT_TRUE(streamed.ok());
    EXPECT_CLOSE(streamed->output[0], golden[variant + "out"], 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Dape,
                         testing::Values(DapeCase{"a", "alibi", "alibi"}, DapeCase{"b", "alibi", "alibi"},
                                         DapeCase{"a", "kerple-log", "kerple"}, DapeCase{"b", "kerple-log", "kerple"},
                                         DapeCase{"a", "rope", "rope"}, DapeCase{"b", "rope", "rope"}));

}  // namespace
}  // namespace locus::test
