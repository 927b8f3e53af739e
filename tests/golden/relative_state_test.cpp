// The relative-state bias against the attention class of Inkling (transformers 5.24.0), which make_relative_state.py runs
// and computes a second time. Tolerance 1e-5.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/attention/attend.h"
#include "tests/support/encodings.h"
#include "tests/support/golden.h"

namespace locus::test {
namespace {

using position::Positions;

struct RelativeStateCase {
  std::string name;
  Settings options;
  std::int64_t window = 0;
};

void PrintTo(const RelativeStateCase& each, std::ostream* stream) {
  *stream << each.name;
}

class RelativeState : public testing::TestWithParam<RelativeStateCase> {};

TEST_P(RelativeState, BiasesLogitsWeightsAndOutputs) {
  constexpr double kTolerance = 1e-5;
  const Golden golden("relative_state");
  const auto& [name, options, window] = GetParam();
  for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
    const auto tensor = [&](const std::string& part) { return golden[name + "." + part].to(type); };
    const position::Projections projections{tensor("q").unsqueeze(0), tensor("k").unsqueeze(0),
                                            tensor("v").unsqueeze(0), tensor("x").unsqueeze(0)};
    const at::Tensor& query = projections.query;
    position::ModelShape shape = shape_of(query.size(1), query.size(3), projections.key.size(1));
    shape.width = projections.hidden.size(2);
    const auto made = encoding("relative-state", options, shape);
    for (const position::Parameter& parameter : made->parameters()) {
      const at::Tensor given = tensor(parameter.name.substr(std::string("layers.0.").size()));
      ASSERT_EQ(given.sizes(), parameter.value->sizes()) << parameter.name;
      *parameter.value = given;
    }
    const std::int64_t tokens = query.size(2);
    const position::Prepared prepared = made->prepare(made->begin(Positions::sequence(tokens), 1), 0, projections);
    const position::TileScores scores = whole_map(*made, prepared, 0, {.content = true});
    const Range all{0, tokens};
    const attention::Mask mask{true, window};
    const auto seen = [&](const at::Tensor& map) { return map.masked_fill(mask.hidden(all, all, at::kCPU), 0); };
    EXPECT_CLOSE(seen(scores.logits[0]), golden[name + ".logits"], kTolerance);
    EXPECT_CLOSE(seen((scores.logits - scores.content)[0]), golden[name + ".bias"], kTolerance);
    const attention::Attention attention{*made, prepared, 0, projections.value, {}, mask};
    const at::Tensor weights = at::softmax(
        scores.logits[0].masked_fill(mask.hidden(all, all, at::kCPU), -std::numeric_limits<double>::infinity()), -1);
    EXPECT_CLOSE(weights, golden[name + ".weights"], kTolerance);
    EXPECT_CLOSE(attention::attend_whole_map(attention).output[0], golden[name + ".out"], kTolerance);
    const at::NoGradGuard no_grad;
    attention::StreamingOptions small;
    small.row_block = small.column_block = 5;
    const auto streamed = attention::attend_streaming(attention, small);
    ASSERT_TRUE(streamed.ok());
    EXPECT_CLOSE(streamed->output[0], golden[name + ".out"], kTolerance);
  }
}

const Settings kGrowing{
    {"extent", std::int64_t{12}}, {"states", std::int64_t{6}}, {"growth", 0.3}, {"growth_from", 7.0}};

INSTANTIATE_TEST_SUITE_P(
    Cases, RelativeState,
    testing::Values(RelativeStateCase{"whole", {{"extent", std::int64_t{40}}}},
                    RelativeStateCase{"short", {{"extent", std::int64_t{9}}, {"states", std::int64_t{5}}}},
                    RelativeStateCase{"growing", kGrowing},
                    RelativeStateCase{"window", {{"extent", std::int64_t{6}}, {"states", std::int64_t{4}}}, 6}),
    [](const auto& info) { return info.param.name; });

// Tokens at 30 to 49, whose τ are those of their positions.
TEST(RelativeState, GrowthIsOfThePositionsAndBelongsToTheContent) {
  at::manual_seed(6);
  const position::ModelShape shape = shape_of(2, 8);
  const auto growing = encoding("relative-state", kGrowing, shape);
  Settings settled = kGrowing;
  settled.set("growth", 0.0);
  const auto plain = encoding("relative-state", settled, shape);
  const std::vector<position::Parameter> own = growing->parameters();
  const std::vector<position::Parameter> other = plain->parameters();
  for (std::size_t n = 0; n < own.size(); ++n) {
    *other[n].value = *own[n].value;
  }
  const position::Projections projections = random_projections(shape, 1, 20);
  const Positions late = Positions::sequence(20, 30);
  const auto maps = [&](const position::PositionEncoding& each) {
    return whole_map(each, each.prepare(each.begin(late, 1), 0, projections), 0, {.content = true});
  };
  const position::TileScores grown = maps(*growing);
  const position::TileScores same = maps(*plain);
  for (std::int64_t i = 0; i < 20; ++i) {
    const double tau = 1 + 0.3 * std::log(static_cast<double>(30 + i + 1) / 7);
    EXPECT_CLOSE(grown.logits.select(2, i), same.logits.select(2, i) * tau, 1e-5) << i;
    EXPECT_CLOSE(grown.content.select(2, i), same.content.select(2, i) * tau, 1e-5) << i;
  }
}

}  // namespace
}  // namespace locus::test
