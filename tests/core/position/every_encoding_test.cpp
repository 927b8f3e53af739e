// What holds for every entry of the list, and for the variants that options make of it.
#include <gtest/gtest.h>

#include <random>
#include <regex>

#include "core/position/list.h"
#include "tests/support/encodings.h"
#include "tests/support/golden.h"

namespace locus::test {
namespace {

using position::ModelShape;
using position::Positions;
using position::Prepared;
using position::Tile;
using position::TileScores;

constexpr std::int64_t kShapeTokens = 36;  // a grid of 5 × 7 and one token without position
constexpr std::int64_t kLayer = 1;

struct Case {
  std::string label;
  std::string name;
  Settings options;
  bool causal = true;
};

void PrintTo(const Case& test, std::ostream* stream) {
  *stream << test.label;
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const position::Entry& entry : position::encodings()) {
    all.push_back({entry.description.name, entry.description.name, {}});
  }
  const auto word = [](const char* text) { return std::string(text); };
  const auto add = [&all](const char* label, const char* name, Settings options, bool causal = true) {
    all.push_back({label, name, std::move(options), causal});
  };
  add("rope-interleaved-partial", "rope", {{"layout", word("interleaved")}, {"fraction", 0.5}});
  add("rope-yarn", "rope", {{"scaling", word("yarn")}, {"factor", 4.0}});
  add("rope-heads", "rope", {{"sections", std::vector<double>{0, 1, 0}}, {"section_layout", word("heads")}});
  add("pope-partial", "pope", {{"fraction", 0.5}, {"per_layer", false}, {"start", word("uniform")}});
  add("fox-rope", "fox", {{"rope", true}});
  add("path-whole", "path", {{"rank", std::int64_t{0}}, {"taps", std::int64_t{0}}});
  add("path-fox", "path", {{"rank", std::int64_t{3}}, {"taps", std::int64_t{2}}, {"gates", true}});
  add("grape-contextual", "grape", {{"form", word("contextual")}, {"scale", 2.0}});
  add("grape-clocks", "grape", {{"form", word("contextual")}, {"per_head", true}});
  add("grape-normed", "grape", {{"norm", true}});
  add("grape-clocks-normed", "grape", {{"form", word("contextual")}, {"norm", true}});
  add("grape-additive", "grape", {{"form", word("additive")}});
  add("grape-by-queries", "grape", {{"form", word("additive")}, {"gated", word("query")}});
  add("grape-by-both", "grape", {{"form", word("additive")}, {"gated", word("both")}});
  add("grape-path", "grape", {{"form", word("path")}, {"width", std::int64_t{6}}});
  add("dape-alibi", "dape", {{"over", word("alibi")}, {"hidden", std::int64_t{5}}});
  add("dape-rope", "dape", {{"over", word("rope")}});
  add("xpos-half", "xpos", {{"layout", word("half")}});
  add("alibi-before", "alibi", {{"before_scaling", true}});
  add("alibi-bidirectional", "alibi", {}, false);
  add("t5-bidirectional", "t5", {{"per_layer", true}, {"scaled", true}}, false);
  add("kerple-log-bidirectional", "kerple-log", {{"per_layer", true}}, false);
  add("fire-bidirectional", "fire", {{"per_layer", true}, {"length", std::int64_t{8}}}, false);
  add("relative-short", "relative", {{"length", std::int64_t{9}}, {"per_layer", false}});
  add("relative-capped-short", "relative-capped", {{"length", std::int64_t{9}}});
  add("relative-bidirectional", "relative", {{"length", std::int64_t{9}}}, false);
  add("relative-capped-bidirectional", "relative-capped", {{"length", std::int64_t{9}}}, false);
  add("relative-state-short", "relative-state",
      {{"extent", std::int64_t{9}}, {"states", std::int64_t{3}}, {"growth", 0.3}, {"growth_from", 6.0}});
  add("randpe-sinusoidal", "randpe", {{"over", word("sinusoidal")}});
  add("tapa-linear", "tapa", {{"phase", word("linear")}, {"theta", 0.25}, {"alpha", 0.3}});
  add("tapa-general", "tapa", {{"phase", word("general")}, {"theta", 0.25}, {"alpha", 0.3}});
  const std::int64_t short_range = 5;
  add("cope-short", "cope", {{"p_max", short_range}, {"scale_positions", true}, {"per_layer", true}});
  add("cope-sep-key", "cope", {{"p_max", short_range}, {"gates", word("sep-key")}});
  add("cope-sep-key-bias", "cope", {{"p_max", short_range}, {"gates", word("sep-key")}, {"gate_bias", true}});
  add("cope-value", "cope", {{"p_max", short_range}, {"gates", word("value")}});
  add("cope-mlp", "cope", {{"form", word("mlp")}});
  add("cope-alibi", "cope", {{"form", word("alibi")}});
  add("cope-alibi-learned", "cope", {{"form", word("alibi")}, {"slopes", word("learned")}});
  add("cope-relative", "cope", {{"p_max", short_range}, {"with", word("relative")}});
  add("cope-rope", "cope", {{"p_max", short_range}, {"with", word("rope")}});
  add("cope-rope-gates", "cope", {{"p_max", short_range}, {"with", word("rope")}, {"rotate_gates", true}});
  add("cope-every-second", "cope", {{"every", std::int64_t{2}}, {"with", word("rope")}});
  add("rope-axial-normalised", "rope-axial",
      {{"coordinates", word("normalised")}, {"first", word("rows")}, {"layout", word("half")}});
  add("rope-axial-class-angles", "rope-axial", {{"class_angles", std::int64_t{1}}});
  add("rope-axial-axes", "rope-axial", {{"layout", word("axes")}});
  add("learned-axes", "learned",
      {{"class_rows", std::int64_t{1}},
       {"grid_rows", std::int64_t{5}},
       {"grid_columns", std::int64_t{7}},
       {"table", word("axes")}});
  add("relative-grid-as-trained", "relative-grid",
      {{"grid_rows", std::int64_t{5}}, {"grid_columns", std::int64_t{7}}, {"shared", true}});
  add("disentangled-c2p", "disentangled", {{"p2c", false}, {"norm", false}, {"buckets", std::int64_t{6}}}, false);
  return all;
}

// One case with random parameters, inputs and its whole map by the differentiable form.
class EveryEncoding : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    at::manual_seed(7);
    ModelShape shape = shape_of(4, 8, 2);
    shape.layers = 2;
    shape.causal = GetParam().causal;
    auto made = position::make_encoding(GetParam().name, GetParam().options, shape);
    if (!made.ok()) {  // an encoding of its own vectors a head
      shape.kv_heads = shape.heads;
      made = position::make_encoding(GetParam().name, GetParam().options, shape);
    }
    ASSERT_TRUE(made.ok()) << made.error().describe();
    encoding_ = *std::move(made);
    // TAPA's matrices multiply its angle: smaller ones keep float32's rounding of the cosine below the tolerance.
    const double deviation = GetParam().name == "tapa" ? 0.1 : 0.5;
    for (const position::Parameter& parameter : encoding_->parameters()) {
      *parameter.value = at::randn_like(*parameter.value) * deviation;
    }
    const Positions sequence = Positions::sequence(kShapeTokens);
    grid_ = !encoding_->accepts(sequence).ok();
    positions_ = grid_ ? Positions::grid(5, 7, 1) : sequence;
    causal_ = shape.causal && !grid_;
    ASSERT_TRUE(encoding_->accepts(positions_).ok());
    projections_ = random_projections(shape, 2, kShapeTokens);
  }

  Prepared prepared() const { return encoding_->prepare(encoding_->begin(positions_, 2), kLayer, projections_); }

  // Cells that a causal mask leaves, others 0.
  at::Tensor seen(const at::Tensor& tile, Range rows, Range columns) const {
    if (!causal_) {
      return tile;
    }
    const at::Tensor row = at::arange(rows.begin, rows.end).unsqueeze(1);
    return at::where(at::arange(columns.begin, columns.end) <= row, tile, at::zeros_like(tile));
  }

  void expect_slice(const at::Tensor& tile, const at::Tensor& whole, const Tile& where, const char* what) const {
    ASSERT_EQ(tile.defined(), whole.defined()) << what;
    if (!whole.defined()) {
      return;
    }
    const at::Tensor slice = whole.slice(1, where.heads.begin, where.heads.end)
                                 .slice(2, where.rows.begin, where.rows.end)
                                 .slice(3, where.columns.begin, where.columns.end);
    EXPECT_CLOSE(seen(tile, where.rows, where.columns), seen(slice, where.rows, where.columns), 2e-5) << what;
  }

  std::unique_ptr<position::PositionEncoding> encoding_;
  Positions positions_;
  position::Projections projections_;
  bool grid_ = false;
  bool causal_ = true;
};

TEST_P(EveryEncoding, tileIsASliceOfTheWholeMap) {
  for (const position::Parameter& parameter : encoding_->parameters()) {
    parameter.value->requires_grad_(true);
  }
  projections_.query.requires_grad_(true);
  const position::Wanted everything{true, true, true, false};
  const TileScores whole = whole_map(*encoding_, prepared(), kLayer, everything);
  const at::NoGradGuard inference;  // the fused loops, where there are any
  const Prepared tokens = prepared();
  std::mt19937 random(11);
  const auto range = [&random](std::int64_t size) {
    const auto begin = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(size));
    return Range{begin, begin + 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(size - begin))};
  };
  for (int n = 0; n < 20; ++n) {
    const Tile tile{kLayer, range(4), range(kShapeTokens), range(kShapeTokens)};
    const TileScores scores = encoding_->score(tokens, tile, everything);
    expect_slice(scores.logits, whole.logits, tile, "logits");
    expect_slice(scores.content, whole.content, tile, "content");
    expect_slice(scores.gates, whole.gates, tile, "gates");
    expect_slice(scores.positions, whole.positions, tile, "positions");
    expect_slice(encoding_->score(tokens, tile).logits, whole.logits, tile, "logits alone");
  }
}

TEST_P(EveryEncoding, tilesFromTheDiagonalLeftwardsCarryTheirSums) {
  const TileScores whole = whole_map(*encoding_, prepared(), kLayer);
  for (const bool inference : {true, false}) {
    const at::AutoGradMode mode(!inference);
    projections_.query.requires_grad_(!inference);
    const Prepared tokens = prepared();
    const Range rows{13, 29};
    at::Tensor carry;
    for (std::int64_t end = causal_ ? rows.end : kShapeTokens; end > 0; end -= 7) {
      const Tile tile{kLayer, {1, 4}, rows, {std::max<std::int64_t>(0, end - 7), end}};
      const TileScores scores = encoding_->score(tokens, tile, {}, carry);
      expect_slice(scores.logits, whole.logits, tile, "logits");
      carry = scores.carry;
    }
  }
}

TEST_P(EveryEncoding, aPrefixHasTheRowsOfTheWhole) {
  if (!causal_) {
    GTEST_SKIP() << "bidirectional";
  }
  const std::int64_t length = 20;
  const TileScores whole = whole_map(*encoding_, prepared(), kLayer);
  const at::Tensor embedded = encoding_->embed(encoding_->begin(positions_, 2));
  positions_ = positions_.slice({0, length});
  for (at::Tensor* part : {&projections_.query, &projections_.key, &projections_.value}) {
    *part = part->slice(2, 0, length);
  }
  projections_.hidden = projections_.hidden.slice(1, 0, length);
  const TileScores prefix = whole_map(*encoding_, prepared(), kLayer);
  expect_slice(prefix.logits, whole.logits, {kLayer, {0, 4}, {0, length}, {0, length}}, "logits");
  if (embedded.defined()) {
    EXPECT_CLOSE(encoding_->embed(encoding_->begin(positions_, 2)), embedded.slice(0, 0, length), 1e-5);
  }
}

// Σ of random weights times logits and embeddings.
at::Tensor weighed(const position::PositionEncoding& encoding, const Positions& positions,
                   const position::Projections& projections, const std::vector<at::Tensor>& weights) {
  const position::State state = encoding.begin(positions, projections.query.size(0));
  const at::Tensor logits = whole_map(encoding, encoding.prepare(state, kLayer, projections), kLayer).logits;
  at::Tensor sum = (logits * weights[0]).sum();
  const at::Tensor embedded = encoding.embed(state);
  return embedded.defined() ? sum + (embedded * weights[1]).sum() : sum;
}

TEST_P(EveryEncoding, gradientIsTheDerivative) {
  std::vector<at::Tensor*> inputs;
  for (const position::Parameter& parameter : encoding_->parameters()) {
    inputs.push_back(parameter.value);
  }
  inputs.insert(inputs.end(), {&projections_.query, &projections_.key, &projections_.value, &projections_.hidden});
  std::vector<at::Tensor> directions;
  for (at::Tensor* input : inputs) {
    *input = input->detach().to(at::kDouble).requires_grad_(true);
    directions.push_back(at::randn_like(*input).detach());
  }
  at::Tensor mask = at::randn({2, 4, kShapeTokens, kShapeTokens}, at::kDouble);
  const std::vector<at::Tensor> weights{causal_ ? causal_cells(mask) : mask,
                                        at::randn({kShapeTokens, 32}, at::kDouble)};
  const at::Tensor sum = weighed(*encoding_, positions_, projections_, weights);
  ASSERT_EQ(sum.scalar_type(), at::kDouble);
  if (!sum.requires_grad()) {
    GTEST_SKIP() << "nothing to train";
  }
  sum.backward();
  double analytic = 0;
  for (std::size_t n = 0; n < inputs.size(); ++n) {
    if (inputs[n]->grad().defined()) {
      analytic += (inputs[n]->grad() * directions[n]).sum().item<double>();
    }
  }
  const at::NoGradGuard inference;
  constexpr double kStep = 1e-6;
  std::vector<double> sums;
  for (const double step : {kStep, -2 * kStep}) {
    for (std::size_t n = 0; n < inputs.size(); ++n) {
      inputs[n]->add_(directions[n] * step);
    }
    sums.push_back(weighed(*encoding_, positions_, projections_, weights).item<double>());
  }
  const double numeric = (sums[0] - sums[1]) / (2 * kStep);
  EXPECT_NEAR(analytic / numeric, 1.0, 1e-5) << analytic << " and " << numeric;
}

TEST_P(EveryEncoding, settingsMakeTheSameEncodingAgain) {
  const Settings settings = encoding_->settings();
  auto again = position::make_encoding(GetParam().name, settings, encoding_->shape());
  ASSERT_TRUE(again.ok()) << again.error().describe();
  EXPECT_EQ((*again)->settings(), settings);
  for (const position::OptionDescription& option : encoding_->description().options) {
    // Lists that have no default are written where they are given: the longrope test of rope_test.cpp.
    EXPECT_TRUE(settings.has(option.name) || option.fallback.empty()) << option.name;
  }
  for (const auto& [name, value] : settings.values()) {
    const auto refused =
        position::make_encoding(GetParam().name, {{name, std::vector<double>{1, 2, 3}}}, encoding_->shape());
    EXPECT_FALSE(refused.ok()) << name << " took a list";
  }
}

// The names that a described one stands for: N is a number, * anything, {a,b} a choice; each layer may have its own.
std::regex described(std::string name) {
  name = std::regex_replace(name, std::regex(R"(\.)"), R"(\.)");
  name = std::regex_replace(name, std::regex(R"(\*)"), ".*");
  name = std::regex_replace(name, std::regex(R"(\bN\b)"), R"(\d+)");
  name = std::regex_replace(name, std::regex(R"(\{(\w+),(\w+)\})"), "($1|$2)");
  return std::regex(R"((layers\.\d+\.)?)" + name);
}

TEST_P(EveryEncoding, describesItself) {
  const position::Description& description = encoding_->description();
  EXPECT_EQ(description.name, GetParam().name);
  for (const std::string& text : {description.title, description.paper, description.equation}) {
    EXPECT_FALSE(text.empty());
  }
  for (const position::Parameter& parameter : encoding_->parameters()) {
    const auto same = [&](const position::ParameterDescription& row) {
      return std::regex_match(parameter.name, described(row.name));
    };
    EXPECT_TRUE(std::any_of(description.parameters.begin(), description.parameters.end(), same)) << parameter.name;
  }
  const auto unknown = position::make_encoding(GetParam().name, {{"no_such_option", true}}, encoding_->shape());
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().describe().find("no_such_option"), std::string::npos);
}

TEST_P(EveryEncoding, hasVectorsWhereItSaysSo) {
  const at::Tensor vectors = encoding_->vectors(encoding_->begin(positions_, 2), kLayer);
  ASSERT_EQ(vectors.defined(), encoding_->description().has_dot_product);
  if (vectors.defined()) {
    EXPECT_TRUE(vectors.size(0) == 1 || vectors.size(0) == 4);
    const at::Tensor cosines = position::dot_products(vectors, {0, kShapeTokens}, {0, kShapeTokens}, true);
    EXPECT_EQ(cosines.sizes(), at::IntArrayRef({vectors.size(0), kShapeTokens, kShapeTokens}));
    EXPECT_CLOSE(cosines.diagonal(0, 1, 2), at::ones({vectors.size(0), kShapeTokens}), 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryEncoding, testing::ValuesIn(cases()),
                         [](const auto& test) { return std::regex_replace(test.param.label, std::regex("-"), "_"); });

}  // namespace
}  // namespace locus::test
