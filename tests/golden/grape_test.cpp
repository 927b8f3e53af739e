// GRAPE against its authors' own code in float64 (model-architectures/GRAPE f5b539f), which make_grape.py reads and computes
// a second time. Tolerance 1e-10 in float64, 1e-5 in float32.
#include "core/position/grape.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/attention/attend.h"
#include "tests/support/encodings.h"
#include "tests/support/golden.h"

namespace locus::test {
namespace {

using position::Positions;

struct GrapeCase {
  std::string name;
  Settings options;
};

void PrintTo(const GrapeCase& each, std::ostream* stream) {
  *stream << each.name;
}

class Grape : public testing::TestWithParam<GrapeCase> {};

TEST_P(Grape, logitsWeightsAndOutputs) {
  const Golden golden("grape");
  const auto& [name, options] = GetParam();
  for (const auto& [type, tolerance] : {std::pair(at::kDouble, 1e-10), std::pair(at::kFloat, 1e-5)}) {
    const auto tensor = [&, of = type](const std::string& part) { return golden[name + "." + part].to(of); };
    const position::Projections projections{tensor("q").unsqueeze(0), tensor("k").unsqueeze(0),
                                            tensor("v").unsqueeze(0), tensor("x").unsqueeze(0)};
    const at::Tensor& query = projections.query;
    position::ModelShape shape = shape_of(query.size(1), query.size(3));
    shape.width = projections.hidden.size(2);
    const auto grape = encoding("grape", options, shape);
    for (const position::Parameter& parameter : grape->parameters()) {
      const at::Tensor given = tensor(parameter.name.substr(std::string("layers.0.").size()));
      ASSERT_EQ(given.sizes(), parameter.value->sizes()) << parameter.name;
      *parameter.value = given;
    }
    const Positions positions = Positions::sequence(query.size(2));
    const position::Prepared prepared = grape->prepare(grape->begin(positions, 1), 0, projections);
    if (golden.has(name + ".phase")) {
      EXPECT_CLOSE(grape->learned_positions(prepared)[0].squeeze(-1), golden[name + ".phase"], tolerance);
    }
    const position::TileScores scores = whole_map(*grape, prepared, 0, {.content = true});
    const Range all{0, query.size(2)};
    const attention::Mask mask{true};
    const auto seen = [&](const at::Tensor& map) { return map.masked_fill(mask.hidden(all, all, at::kCPU), 0); };
    EXPECT_CLOSE(seen(scores.logits[0]), golden[name + ".logits"], tolerance);
    // What q and k are without the rotation, but with the norm behind it.
    const auto content = [&](const at::Tensor& x, const std::string& norm) {
      return golden.has(name + "." + norm) ? x / (x.square().mean(-1, true) + 1e-5).sqrt() * tensor(norm) : x;
    };
    const at::Tensor asking = content(query, "query_norm");
    const at::Tensor asked = content(projections.key, "key_norm");
    EXPECT_CLOSE(scores.content[0], at::matmul(asking, asked.transpose(-1, -2))[0] * grape->scale(), tolerance);
    const attention::Attention attention{*grape, prepared, 0, projections.value, {}, mask};
    EXPECT_CLOSE(attention::attend_whole_map(attention).output[0], golden[name + ".out"], tolerance);
    const at::NoGradGuard no_grad;
    attention::StreamingOptions small;
    small.row_block = small.column_block = 5;
    const auto streamed = attention::attend_streaming(attention, small);
    ASSERT_TRUE(streamed.ok());
    EXPECT_CLOSE(streamed->output[0], golden[name + ".out"], 1e-5);
  }
}

std::vector<GrapeCase> grape_cases() {
  const auto word = [](const char* text) { return std::string(text); };
  return {{"multiplicative", {}},
          {"contextual", {{"form", word("contextual")}}},
          {"clocks", {{"form", word("contextual")}, {"per_head", true}}},
          {"key", {{"form", word("additive")}}},
          {"query", {{"form", word("additive")}, {"gated", word("query")}}},
          {"both", {{"form", word("additive")}, {"gated", word("both")}}},
          {"path", {{"form", word("path")}, {"width", std::int64_t{4}}}},
          {"multiplicative-normed", {{"norm", true}}},
          {"clocks-normed", {{"form", word("contextual")}, {"per_head", true}, {"norm", true}}}};
}

INSTANTIATE_TEST_SUITE_P(Cases, Grape, testing::ValuesIn(grape_cases()), [](const auto& info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace locus::test
