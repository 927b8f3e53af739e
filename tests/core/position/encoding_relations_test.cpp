// What one encoding has to do with another, with shifts and with far positions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <tuple>

#include "core/position/disentangled.h"
#include "core/position/randpe.h"
#include "tests/support/encodings.h"
#include "tests/support/golden.h"

namespace locus::test {
namespace {

using position::Positions;

constexpr std::int64_t kTokens = 24;

// The largest change of the logits of three layers when all ids move by `offset`.
double change_by_shift(const std::string& name, const Settings& options, double offset) {
  at::manual_seed(3);
  position::ModelShape shape = shape_of(4, 8);
  shape.layers = 3;
  const auto encoding = test::encoding(name, options, shape);
  for (const position::Parameter& parameter : encoding->parameters()) {
    *parameter.value = at::randn_like(*parameter.value);
  }
  double change = 0;
  for (std::int64_t layer = 0; layer < 3; ++layer) {
    const position::Projections projections = random_projections(shape, 1, kTokens);
    const auto logits = [&](double start) {
      const position::State state = encoding->begin(Positions::sequence(kTokens, start), 1);
      return causal_cells(whole_map(*encoding, encoding->prepare(state, layer, projections), layer).logits);
    };
    change = std::max(change, deviation(logits(offset), logits(0)));
  }
  return change;
}

TEST(EncodingRelations, relativeEncodingsAreInvariantUnderShifts) {
  const std::vector<std::pair<std::string, Settings>> relative{
      {"rope", {}},
      {"rope", {{"layout", std::string("interleaved")}, {"scaling", std::string("ntk")}, {"factor", 4.0}}},
      {"xpos", {}},
      {"randpe", {}},
      {"alibi", {}},
      {"t5", {}},
      {"kerple-log", {}},
      {"kerple-power", {}},
      {"relative", {}},
      {"relative-capped", {{"length", std::int64_t{5}}}},
      {"relative-state", {{"extent", std::int64_t{9}}}},
      {"tapa", {}},
      {"pope", {}},
      {"repo", {}},
      {"grape", {}},
      {"grape", {{"form", std::string("contextual")}}},
      {"grape", {{"form", std::string("additive")}, {"gated", std::string("both")}}},
      {"path", {}},
      {"selective", {}},
      {"stick-breaking", {}},
      {"dape", {}},
      {"cope", {{"with", std::string("rope")}}}};
  for (const auto& [name, options] : relative) {
    EXPECT_LE(change_by_shift(name, options, 37), 1e-4) << name;
    EXPECT_LE(change_by_shift(name, options, 100000), 1e-4) << name;
  }
}

TEST(EncodingRelations, fireChangesWithTheQueryAndDynamicNtkWithTheLength) {
  EXPECT_GT(change_by_shift("fire", {{"length", std::int64_t{4}}}, 37), 1e-2);
  EXPECT_GT(change_by_shift("rope", {{"scaling", std::string("dynamic")}, {"factor", 2.0}}, 200), 1e-3);
  EXPECT_GT(change_by_shift("relative-state", {{"growth", 0.1}}, 37), 1e-2);
}

// p̂ of the last form of GRAPE is turned by the position itself.
TEST(EncodingRelations, grapesPathsAreNotRelative) {
  EXPECT_GT(change_by_shift("grape", {{"form", std::string("path")}}, 37), 1e-2);
}

// Before training the frequencies are RoPE's, in both forms that have them; equal steps of a clock are positions.
TEST(EncodingRelations, grapeBeginsAsRopeThatTurnsTheOtherWay) {
  const position::ModelShape shape = shape_of(4, 8, 2);
  const position::Projections projections = random_projections(shape, 1, kTokens);
  const auto logits = [&](const position::PositionEncoding& encoding) {
    const position::State state = encoding.begin(Positions::sequence(kTokens), 1);
    return causal_cells(whole_map(encoding, encoding.prepare(state, 0, projections)).logits);
  };
  const Settings swapped{{"layout", std::string("swapped")}};
  EXPECT_CLOSE(logits(*encoding("grape", {}, shape)), logits(*encoding("rope", swapped, shape)), 1e-5);
  const auto clock = encoding("grape", {{"form", std::string("contextual")}}, shape);
  parameter(*clock, "layers.0.clock_bias").fill_(16 * std::log(3.0));  // steps of σ(ln 3) = ¾
  Settings slower = swapped;
  slower.set("scaling", std::string("linear"));
  slower.set("factor", 4.0 / 3);
  EXPECT_CLOSE(logits(*clock), logits(*encoding("rope", slower, shape)), 1e-5);
}

// TAPE's Table 3: 12 layers of 12 heads at 1,024 tokens, 165.69 G multiply-accumulates with FIRE, 160.46 with RoPE.
TEST(EncodingRelations, fireCostsWhatTapesTableSays) {
  position::ModelShape shape = shape_of(12, 64);
  shape.layers = 12;
  const auto fire = encoding("fire", {}, shape);
  double added = 0;
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    added += fire->macs(layer, 1024);
  }
  EXPECT_NEAR(added * 1e-9, 165.69 - 160.46, 0.01);
}

// Counted from the shapes of what is multiplied.
TEST(EncodingRelations, tablesOfDistancesCostTheirProductsWithEveryQuery) {
  const position::ModelShape shape = shape_of(4, 8, 2);  // trained on 64 tokens
  for (const std::string name : {"relative", "relative-capped"}) {
    EXPECT_EQ(encoding(name, {}, shape)->macs(0, 24), 24 * 24 * 4 * 8) << name;
    EXPECT_EQ(encoding(name, {}, shape)->macs(0, 100), 100 * 64 * 4 * 8) << name;
  }
  const auto mixing = encoding("relative-state", {{"states", std::int64_t{5}}}, shape);
  EXPECT_EQ(mixing->macs(0, 24), 24 * 4 * 5 * static_cast<double>(shape.width + 24));
  EXPECT_EQ(mixing->macs(0, 100), 100 * 4 * 5 * static_cast<double>(shape.width + 64));
  const Settings table{{"buckets", std::int64_t{8}}, {"max_distance", std::int64_t{16}}};
  const double rows = 16;  // of the table; T = 100 reaches all
  const double met = 100 * rows * 4 * 8;
  EXPECT_EQ(encoding("disentangled", table, shape)->macs(0, 100),
            2 * met + rows * static_cast<double>(shape.width) * (2 * 8 + 4 * 8));
  Settings one = table;
  one.set("p2c", false);
  EXPECT_EQ(encoding("disentangled", one, shape)->macs(0, 100), met + rows * static_cast<double>(shape.width) * 2 * 8);
}

// A logarithm gives far keys few rows: those that a walk over all cells meets, and what lies between them.
TEST(EncodingRelations, disentangledRowsThatNoDistanceReachesCostNothing) {
  const position::ModelShape shape = shape_of(4, 8, 2);
  const std::int64_t tokens = 20;
  const Settings table{{"buckets", std::int64_t{16}}, {"max_distance", std::int64_t{64}}};
  position::DisentangledOptions options;
  options.buckets = 16;
  options.max_distance = 64;
  std::int64_t first = 2 * options.span();
  std::int64_t last = -1;
  for (std::int64_t query = 0; query < tokens; ++query) {
    for (std::int64_t key = 0; key < tokens; ++key) {
      const at::Tensor distance = at::full({1}, static_cast<double>(query - key), at::kDouble);
      const std::int64_t row = position::disentangled_rows(distance, options)[0].item<std::int64_t>();
      first = std::min(first, row);
      last = std::max(last, row);
    }
  }
  ASSERT_LT(last - first + 1, 2 * options.span());
  double products = 0;
  for (std::int64_t row = first; row <= last; ++row) {
    for (std::int64_t head = 0; head < 4; ++head) {
      products += 2 * static_cast<double>(tokens) * 8;                          // every query, and every key
      products += static_cast<double>(shape.width) * (head % 2 == 0 ? 16 : 8);  // Pq; and Pk of two heads at once
    }
  }
  EXPECT_EQ(encoding("disentangled", table, shape)->macs(0, tokens), products);
}

// Gates that are not the logits' own products, and Shaw's vectors beside positions.
TEST(EncodingRelations, copeCostsItsGatesAndItsTables) {
  position::ModelShape shape = shape_of(4, 8, 2);
  shape.layers = 2;
  const double tokens = 24;
  const double width = 4 * 8;
  const auto cost = [&](Settings options, std::int64_t layer = 0) {
    options.set("p_max", std::int64_t{15});
    return encoding("cope", options, shape)->macs(layer, 24);
  };
  const double positions = tokens * 16 * width;
  const double gates = tokens * tokens * width;
  EXPECT_EQ(cost({}), positions);
  EXPECT_EQ(cost({{"gates", std::string("value")}}), positions + gates);
  EXPECT_EQ(cost({{"with", std::string("rope")}}), positions + gates);
  EXPECT_EQ(cost({{"with", std::string("rope")}, {"rotate_gates", true}}), positions);
  const Settings shaw{{"with", std::string("relative")}, {"relative_length", std::int64_t{10}}};
  EXPECT_EQ(cost(shaw), positions + tokens * 10 * width);
  Settings sparse = shaw;
  sparse.set("every", std::int64_t{2});
  EXPECT_EQ(cost(sparse, 1), tokens * 10 * width);
}

TEST(EncodingRelations, copeWithOpenGatesCountsTokens) {
  at::manual_seed(5);
  const std::int64_t p_max = 9;
  const auto cope = encoding("cope", {{"p_max", p_max}, {"gates", std::string("value")}}, shape_of(2, 8));
  const auto shaw = encoding("relative-capped", {{"length", p_max}, {"per_layer", false}}, shape_of(2, 8));
  at::Tensor& vectors = parameter(*cope, "position_embedding");
  vectors = at::randn_like(vectors);
  // A key at distance Δ has position Δ + 1. Shaw's term is divided by √D, CoPE's is not.
  parameter(*shaw, "position_embedding") = vectors.slice(1, 1).transpose(0, 1).contiguous() * std::sqrt(8.0);
  position::Projections projections = random_projections(shape_of(2, 8), 1, kTokens);
  projections.query = projections.query.abs();
  projections.value.fill_(1000);  // q·v is large and positive: every gate is 1
  const position::State state = cope->begin(Positions::sequence(kTokens), 1);
  const auto got = whole_map(*cope, cope->prepare(state, 0, projections), 0, {.gates = true, .positions = true});
  const auto want = whole_map(*shaw, shaw->prepare(state, 0, projections));
  EXPECT_CLOSE(causal_cells(got.gates), causal_cells(at::ones({1, 2, kTokens, kTokens})), 0.0);
  EXPECT_CLOSE(causal_cells(got.logits), causal_cells(want.logits), 1e-5);
  const at::Tensor distance = at::arange(kTokens).unsqueeze(1) - at::arange(kTokens);
  const at::Tensor count = (distance + 1).clamp_max(p_max).to(at::kFloat).expand({1, 2, kTokens, kTokens});
  EXPECT_CLOSE(causal_cells(got.positions), causal_cells(count), 0.0);
}

TEST(EncodingRelations, copeWithClosedGatesIsPlainAttention) {
  const auto cope = encoding("cope", {{"gates", std::string("value")}}, shape_of(2, 8));
  const auto plain = encoding("none", {}, shape_of(2, 8));
  at::Tensor& vectors = parameter(*cope, "position_embedding");
  vectors = at::randn_like(vectors);
  vectors.select(1, 0).zero_();  // e[0] is all that closed gates leave
  position::Projections projections = random_projections(shape_of(2, 8), 1, kTokens);
  projections.query = projections.query.abs();
  projections.value.fill_(-1000);
  const position::State state = cope->begin(Positions::sequence(kTokens), 1);
  EXPECT_CLOSE(causal_cells(whole_map(*cope, cope->prepare(state, 0, projections)).logits),
               causal_cells(whole_map(*plain, plain->prepare(state, 0, projections)).logits), 1e-6);
}

TEST(EncodingRelations, copeSkipsLayers) {
  position::ModelShape shape = shape_of(2, 8);
  shape.layers = 4;
  const auto cope = encoding("cope", {{"every", std::int64_t{3}}}, shape);
  at::Tensor& vectors = parameter(*cope, "position_embedding");
  vectors = at::randn_like(vectors);
  const position::Projections projections = random_projections(shape, 1, kTokens);
  const position::State state = cope->begin(Positions::sequence(kTokens), 1);
  for (std::int64_t layer = 0; layer < 4; ++layer) {
    const auto scores =
        whole_map(*cope, cope->prepare(state, layer, projections), layer, {.content = true, .gates = true});
    EXPECT_EQ(scores.gates.defined(), layer % 3 == 0) << layer;
    EXPECT_EQ(deviation(causal_cells(scores.logits), causal_cells(scores.content)) > 0.1, layer % 3 == 0) << layer;
  }
}

TEST(EncodingRelations, tapaWithoutPhaseIsPlainAttentionOfItsAmplitude) {
  const auto tapa = encoding("tapa", {}, shape_of(2, 8));
  const auto plain = encoding("none", {}, shape_of(2, 4));
  position::Projections projections = random_projections(shape_of(2, 8), 1, kTokens);
  projections.key.slice(-1, 4).zero_();  // φ ≡ 0
  const Positions positions = Positions::sequence(kTokens);
  const auto whole = whole_map(*tapa, prepare(*tapa, positions, projections.query, projections.key));
  const auto amplitude =
      whole_map(*plain, prepare(*plain, positions, projections.query.slice(-1, 0, 4), projections.key.slice(-1, 0, 4)));
  EXPECT_CLOSE(whole.logits, amplitude.logits, 1e-6);
}

// Eq. 9 and 10 with the matrices of Eq. 13 are Eq. 12; with others, what a sum over channels gives.
TEST(EncodingRelations, tapasGeneralPhaseBeginsAsTheQuadraticOne) {
  const Settings options{{"theta", 0.25}, {"alpha", 0.3}};
  Settings general = options;
  general.set("phase", std::string("general"));
  const auto quadratic = encoding("tapa", options, shape_of(2, 8));
  const auto trained = encoding("tapa", general, shape_of(2, 8));
  const position::Projections projections = random_projections(shape_of(2, 8), 1, kTokens);
  const Positions positions = Positions::sequence(kTokens);
  const auto map = [&](const position::PositionEncoding& one) {
    return whole_map(one, prepare(one, positions, projections.query, projections.key)).logits;
  };
  EXPECT_CLOSE(map(*trained), map(*quadratic), 1e-5);
  for (const position::Parameter& parameter : trained->parameters()) {
    *parameter.value = at::randn_like(*parameter.value) * 0.4;
  }
  const at::Tensor logits = map(*trained);
  const auto parameters = trained->parameters();
  const auto form = [&](const at::Tensor& matrices, std::int64_t head, std::int64_t i, std::int64_t j) {
    double sum = 0;
    for (std::int64_t a = 0; a < 8; ++a) {
      for (std::int64_t b = 0; b < 8; ++b) {
        sum += projections.query[0][head][i][a].item<double>() * matrices[head][a][b].item<double>() *
               projections.key[0][head][j][b].item<double>();
      }
    }
    return sum;
  };
  for (const auto& [head, i, j] : {std::tuple{0, 3, 3}, std::tuple{1, 5, 2}, std::tuple{1, 11, 0}}) {
    const double angle = 2 * std::numbers::pi * (i == j ? 0 : std::pow(i - j, 0.3));
    const double expected =
        form(*parameters[0].value, head, i, j) * std::cos(angle * form(*parameters[1].value, head, i, j));
    EXPECT_NEAR(logits[0][head][i][j].item<double>(), expected, 1e-4);
  }
}

TEST(EncodingRelations, tapaAtDistanceZeroIsItsAmplitude) {
  const auto tapa = encoding("tapa", {}, shape_of(2, 8));
  const position::Projections projections = random_projections(shape_of(2, 8), 1, kTokens);
  const auto scores = whole_map(*tapa, prepare(*tapa, Positions::sequence(kTokens), projections.query, projections.key),
                                0, {.content = true});
  EXPECT_CLOSE(scores.logits.diagonal(0, 2, 3), scores.content.diagonal(0, 2, 3), 1e-6);
  EXPECT_GT(deviation(scores.logits, scores.content), 0.1);
}

TEST(EncodingRelations, xposReachesTokens131072Apart) {
  const auto xpos = encoding("xpos", {}, shape_of(1, 8));
  const std::int64_t length = 131072;
  const at::Tensor query = at::randn({1, 1, length, 8});
  const at::Tensor key = at::randn({1, 1, length, 8});
  const position::Tile row{0, {0, 1}, {length - 1, length}, {0, length}};
  const at::Tensor got = xpos->score(prepare(*xpos, Positions::sequence(length), query, key), row).logits;
  const position::Prepared exact =
      prepare(*xpos, Positions::sequence(length), query.to(at::kDouble), key.to(at::kDouble));
  EXPECT_CLOSE(got, xpos->score(exact, row).logits, 1e-4);
  EXPECT_GT(got.slice(-1, length - 100).abs().max().item<float>(), 0.1F);
}

TEST(EncodingRelations, randpeTrainsOnSortedSamples) {
  const auto randpe = encoding("randpe", {{"length_max", std::int64_t{100}}}, shape_of(2, 8));
  const auto drawn = [&](std::int64_t length, std::uint64_t seed) {
    const auto groups = randpe->training_positions(Positions::sequence(length), {0, 3}, seed);
    EXPECT_TRUE(groups.ok() && groups->size() == 1 && groups->front().sequences == 3);
    return groups->front().positions.ids;
  };
  const at::Tensor ids = drawn(40, 1);
  EXPECT_EQ(ids.numel(), 40);
  EXPECT_TRUE((ids.slice(0, 1) > ids.slice(0, 0, -1)).all().item<bool>());
  EXPECT_GE(ids.min().item<double>(), 0);
  EXPECT_LT(ids.max().item<double>(), 100);
  EXPECT_TRUE(drawn(40, 1).equal(ids));
  EXPECT_FALSE(drawn(40, 2).equal(ids));
  EXPECT_TRUE(drawn(100, 3).equal(at::arange(100, at::kDouble)));
  EXPECT_FALSE(randpe->training_positions(Positions::sequence(101), {0, 1}, 1).ok());
  EXPECT_FALSE(randpe->training_positions(Positions::grid(2, 2), {0, 1}, 1).ok());
}

// Evaluation draws as training does, by a seed of its own that the configuration keeps.
TEST(EncodingRelations, randpeDrawsPositionsInEvaluationOnRequest) {
  const auto with = [](std::int64_t seed, const std::string& evaluation = "drawn") {
    return encoding("randpe", {{"length_max", std::int64_t{100}}, {"evaluation", evaluation}, {"seed", seed}},
                    shape_of(2, 8));
  };
  const Positions natural = Positions::sequence(40);
  EXPECT_TRUE(encoding("randpe", {}, shape_of(2, 8))->evaluation_positions(natural).ids.equal(natural.ids));
  EXPECT_TRUE(with(7, "natural")->evaluation_positions(natural).ids.equal(natural.ids));
  const auto drawn = with(7);
  const at::Tensor ids = drawn->evaluation_positions(natural).ids;
  EXPECT_TRUE(ids.equal(drawn->training_positions(natural, {0, 1}, 7)->front().positions.ids));
  EXPECT_TRUE(ids.equal(with(7)->evaluation_positions(natural).ids));
  EXPECT_FALSE(ids.equal(with(8)->evaluation_positions(natural).ids));
  EXPECT_TRUE((ids.slice(0, 1) > ids.slice(0, 0, -1)).all().item<bool>());
  EXPECT_LT(ids[-1].item<double>(), 100);
  EXPECT_FALSE(ids.equal(natural.ids));
  EXPECT_TRUE(drawn->evaluation_positions(Positions::sequence(40, 5)).ids.equal(ids + 5));
  EXPECT_TRUE(drawn->evaluation_positions(Positions::sequence(100)).ids.equal(at::arange(100, at::kDouble)));
  EXPECT_TRUE(drawn->accepts(Positions::sequence(100)).ok());
  EXPECT_NE(drawn->accepts(Positions::sequence(101)).error().message.find("length_max"), std::string::npos);
  EXPECT_TRUE(with(7, "natural")->accepts(Positions::sequence(101)).ok());
  EXPECT_EQ(drawn->settings().text("evaluation", "").value(), "drawn");
  EXPECT_EQ(drawn->settings().integer("seed", 0).value(), 7);
  EXPECT_EQ(drawn->evaluation_positions(Positions::sequence(0)).ids.numel(), 0);
}

TEST(EncodingRelations, kerpleParametersStayAbove1Percent) {
  const auto kerple = encoding("kerple-log", {}, shape_of(2, 8));
  for (const position::Parameter& parameter : kerple->parameters()) {
    parameter.value->fill_(-3);
  }
  const at::Tensor zero = at::zeros({1, 2, kTokens, 8});
  const at::Tensor logits = whole_map(*kerple, prepare(*kerple, Positions::sequence(kTokens), zero, zero)).logits;
  EXPECT_NEAR(logits[0][0][10][0].item<double>(), -0.01 * std::log1p(0.1), 1e-8);
}

// Eq. in §3 of the ALiBi paper where queries see what follows too (as encoders do): −m_h·|i − j|, m = 2^(−4), 2^(−8).
TEST(EncodingRelations, alibiPenalisesWhatFollowsAsWhatPrecedes) {
  position::ModelShape shape = shape_of(2, 8);
  shape.causal = false;
  const auto alibi = encoding("alibi", {}, shape);
  const at::Tensor zero = at::zeros({1, 2, kTokens, 8});
  const at::Tensor logits = whole_map(*alibi, prepare(*alibi, Positions::sequence(kTokens), zero, zero)).logits;
  for (const auto& [i, j] : {std::pair{3, 10}, std::pair{10, 3}, std::pair{0, 23}, std::pair{7, 7}}) {
    EXPECT_NEAR(logits[0][0][i][j].item<double>(), -std::abs(i - j) / 16.0, 1e-7) << i << ", " << j;
    EXPECT_NEAR(logits[0][1][i][j].item<double>(), -std::abs(i - j) / 256.0, 1e-8) << i << ", " << j;
  }
}

}  // namespace
}  // namespace locus::test
