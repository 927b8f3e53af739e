// CoPE against the authors' repository (default, nodiv, sepkey, valgates, npos4, coperel), the paper's Listing 1, and
// its variants of App. C. Tolerance 1e-4·(1 + |b|).
#include "core/position/cope/cope.h"

#include <gtest/gtest.h>

#include "tests/support/encodings.h"
#include "tests/support/golden.h"

namespace locus::test {
namespace {

constexpr double kCopeTolerance = 1e-4;

struct Attended {
  at::Tensor positions;  // (3, 9, 9)
  at::Tensor attention;  // (3, 9, 9)
  at::Tensor output;     // (3, 9, 8)
};

Attended run(const Golden& golden, const std::string& variant, Settings options) {
  const at::Tensor& embedding = golden[variant + ".pos_emb"];
  options.set("p_max", embedding.size(2) - 1);
  const auto cope = encoding("cope", options, shape_of(3, 8));
  parameter(*cope, "position_embedding") = embedding[0];
  position::Projections projections;
  projections.query = golden["query"].unsqueeze(0);
  projections.key = golden["key"].unsqueeze(0);
  projections.value = golden["val"].unsqueeze(0);
  if (variant == "sepkey") {
    parameter(*cope, "layers.0.gate_key.weight") = at::eye(24);
    projections.hidden = golden["key_cope"].transpose(0, 1).reshape({1, 9, 24});
  }
  if (golden.has(variant + ".rel_emb")) {
    parameter(*cope, "relative_embedding") = golden[variant + ".rel_emb"][0].flip(1).transpose(0, 1);
  }
  const position::State state = cope->begin(position::Positions::sequence(9), 1);
  const position::Prepared prepared = cope->prepare(state, 0, projections);
  const position::TileScores scores = whole_map(*cope, prepared, 0, {.positions = true});
  const at::Tensor attention = causal_softmax(scores.logits);
  return {scores.positions[0], attention[0], at::matmul(attention, projections.value)[0]};
}

void expect_golden(const Golden& golden, const std::string& variant, const Settings& options) {
  SCOPED_TRACE(variant);
  const Attended got = run(golden, variant, options);
  EXPECT_CLOSE(got.attention, golden[variant + ".attn"], kCopeTolerance);
  EXPECT_CLOSE(got.output, golden[variant + ".out"], kCopeTolerance);
}

TEST(Cope, repositoryVariants) {
  const Golden golden("cope");
  const Settings divided{{"scale_positions", true}};
  expect_golden(golden, "default", divided);
  expect_golden(golden, "nodiv", {});
  expect_golden(golden, "npos4", divided);
  expect_golden(golden, "npos4_nodiv", {});
  expect_golden(golden, "sepkey", {{"scale_positions", true}, {"gates", std::string("sep-key")}});
  expect_golden(golden, "valgates", {{"scale_positions", true}, {"gates", std::string("value")}});
  expect_golden(golden, "coperel",
                {{"scale_positions", true}, {"with", std::string("relative")}, {"relative_length", std::int64_t{9}}});
}

TEST(Cope, listingOneOfThePaper) {
  const Golden golden("cope");
  for (const std::string variant : {"default", "npos4"}) {
    SCOPED_TRACE(variant);
    const Attended got = run(golden, variant, {});
    EXPECT_CLOSE(causal_cells(got.positions), causal_cells(golden["paper_" + variant + ".pos"]), kCopeTolerance);
    EXPECT_CLOSE(got.attention, golden["paper_" + variant + ".attn"], kCopeTolerance);
    EXPECT_CLOSE(got.output, golden["paper_" + variant + ".out"], kCopeTolerance);
  }
}

class CopeVariant {
 public:
  explicit CopeVariant(const Settings& options) : cope_(encoding("cope", options, shape_of(2, 8))) {}

  at::Tensor& operator[](const std::string& name) { return parameter(*cope_, name); }
  position::TileScores scores() const {
    const position::Prepared prepared =
        prepare(*cope_, position::Positions::sequence(21), golden_["q"].unsqueeze(0), golden_["k"].unsqueeze(0));
    return whole_map(*cope_, prepared, 0, {true, true, true});
  }
  const Golden& golden() const { return golden_; }

 private:
  Golden golden_{"cope_variants"};
  std::unique_ptr<position::PositionEncoding> cope_;
};

void expect_variant(const CopeVariant& variant, const std::string& name) {
  const position::TileScores scores = variant.scores();
  EXPECT_CLOSE(causal_cells(scores.logits[0]), variant.golden()[name + ".logits"], kCopeTolerance);
  EXPECT_CLOSE(causal_softmax(scores.logits)[0], variant.golden()[name + ".attn"], kCopeTolerance);
}

TEST(Cope, networkOfThePosition) {
  CopeVariant variant({{"form", std::string("mlp")}});
  const Golden& golden = variant.golden();
  variant["mlp.0.weight"] = golden["mlp.w1"];
  variant["mlp.0.bias"] = golden["mlp.b1"];
  variant["mlp.2.weight"] = golden["mlp.w2"];
  variant["mlp.2.bias"] = golden["mlp.b2"];
  expect_variant(variant, "mlp");
  const position::TileScores scores = variant.scores();
  EXPECT_CLOSE(causal_cells(scores.content[0]), golden["content"], kCopeTolerance);
  EXPECT_CLOSE(causal_cells(scores.gates[0]), golden["gates"], kCopeTolerance);
  EXPECT_CLOSE(causal_cells(scores.positions[0]), golden["positions"], kCopeTolerance);
}

TEST(Cope, slopesOnThePosition) {
  expect_variant(CopeVariant({{"form", std::string("alibi")}}), "alibi_fixed");
  CopeVariant learned({{"form", std::string("alibi")}, {"slopes", std::string("learned")}});
  learned["layers.0.slopes"] = learned.golden()["alibi_learned.m"];
  expect_variant(learned, "alibi_learned");
}

TEST(Cope, contentFromRotatedQueriesAndKeys) {
  CopeVariant variant({{"with", std::string("rope")}, {"p_max", std::int64_t{7}}});
  variant["position_embedding"] = variant.golden()["rope.pos_emb"];
  expect_variant(variant, "rope");
  EXPECT_CLOSE(causal_cells(variant.scores().content[0]), variant.golden()["rope.content"], kCopeTolerance);
}

}  // namespace
}  // namespace locus::test
