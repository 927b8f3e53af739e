// How far an encoding takes a key to be: every definition against an independent computation, and why others have none.
#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "core/position/list.h"
#include "core/position/tape/tape.h"
#include "tests/support/encodings.h"
#include "tests/support/golden.h"
#include "tests/support/llama.h"

namespace locus::test {
namespace {

using position::Positions;
using position::Prepared;
using position::State;
using position::Tile;

constexpr std::int64_t kDistanceTokens = 24;

// The keys 0 … query of one head in layer 0.
Tile row_of_head(std::int64_t head, std::int64_t query) {
  return {0, {head, head + 1}, {query, query + 1}, {0, query + 1}};
}

Prepared at_positions(const Positions& positions) {
  Prepared prepared;
  prepared.positions = positions;
  return prepared;
}

struct Given {
  std::unique_ptr<position::PositionEncoding> encoding;
  State state;
  Prepared prepared;
  position::Projections projections;

  at::Tensor row(std::int64_t head, std::int64_t query) const {
    const auto found = encoding->distances(state, prepared, row_of_head(head, query));
    EXPECT_TRUE(found.ok()) << (found.ok() ? "" : found.error().describe());
    return found.ok() ? *found : at::empty({0}, at::kDouble);
  }
};

// Random parameters, and tokens at these ids.
Given given(const std::string& name, const Settings& options, const position::ModelShape& shape,
            at::Tensor ids = at::arange(kDistanceTokens, at::kDouble)) {
  at::manual_seed(4);
  Given made{encoding(name, options, shape), {}, {}, random_projections(shape, 1, kDistanceTokens)};
  randomise(*made.encoding, 0.4, 9);
  made.state = made.encoding->begin({std::move(ids), 0}, 1);
  made.prepared = made.encoding->prepare(made.state, 0, made.projections);
  return made;
}

TEST(Distances, EveryEncodingDefinesOneOrSaysWhyItHasNone) {
  for (const position::Entry& entry : position::encodings()) {
    const position::Description& about = entry.description;
    EXPECT_NE(about.distance.empty(), about.no_distance.empty()) << about.name;
    const Given made = [&] { return takes_sequences(about.name) ? given(about.name, {}, shape_of(2, 8)) : Given{}; }();
    if (made.encoding == nullptr) {
      EXPECT_TRUE(about.distance.empty()) << about.name;
      continue;
    }
    const auto found = made.encoding->distances(made.state, made.prepared, row_of_head(1, 9));
    ASSERT_EQ(found.ok(), !about.distance.empty()) << about.name;
    if (found.ok()) {
      EXPECT_EQ(found->sizes(), at::IntArrayRef({10})) << about.name;
      EXPECT_EQ(found->scalar_type(), at::kDouble) << about.name;
    } else {
      EXPECT_EQ(found.error().code, ErrorCode::kUnsupported) << about.name;
      EXPECT_NE(found.error().message.find(about.no_distance), std::string::npos) << found.error().message;
    }
  }
}

TEST(Distances, OfIndicesAreThoseOfThePositionIds) {
  const at::Tensor ids = at::arange(kDistanceTokens, at::kDouble) * 1.5 + 7;
  for (const std::string name : {"rope", "xpos", "alibi", "kerple-log", "kerple-power", "pope", "grape", "randpe"}) {
    const Given made = given(name, {}, shape_of(2, 8), ids);
    EXPECT_CLOSE(made.row(1, 20), (20 - at::arange(21, at::kDouble)) * 1.5, 1e-12) << name;
  }
  const auto components = encoding("rope", {{"sections", std::vector<double>{2, 1, 1}}}, shape_of(2, 8));
  const Positions vectors{at::zeros({kDistanceTokens, 3}, at::kDouble), 0};
  const auto found = components->distances({vectors, {}}, at_positions(vectors), row_of_head(0, 9));
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.error().message.find("several components"), std::string::npos);
}

TEST(Distances, EndWithShawsTable) {
  const std::int64_t length = 6;
  const at::Tensor apart = 20 - at::arange(21, at::kDouble);
  const at::Tensor plain = given("relative", {{"length", length}}, shape_of(2, 8)).row(0, 20);
  const at::Tensor capped = given("relative-capped", {{"length", length}}, shape_of(2, 8)).row(0, 20);
  const at::Tensor mixed = given("relative-state", {{"extent", length}}, shape_of(2, 8)).row(0, 20);
  EXPECT_CLOSE(capped, apart.clamp_max(5), 0.0);
  for (std::int64_t key = 0; key <= 20; ++key) {
    const double own = plain[key].item<double>();
    EXPECT_TRUE(20 - key > 5 ? std::isnan(own) : own == static_cast<double>(20 - key)) << key;
    EXPECT_EQ(std::isnan(mixed[key].item<double>()), 20 - key > 5) << key;
    EXPECT_TRUE(20 - key > 5 || mixed[key].item<double>() == own) << key;
  }
}

TEST(Distances, OfCopeAreSumsOfGates) {
  const Given made = given("cope", {{"p_max", std::int64_t{6}}}, shape_of(4, 8, 2));
  for (const auto& [head, query] : {std::pair{0, 23}, std::pair{3, 11}}) {
    const at::Tensor found = made.row(head, query);
    double sum = 0;
    for (std::int64_t key = query; key >= 0; --key) {
      const at::Tensor product =
          (made.projections.query[0][head][query] * made.projections.key[0][head / 2][key]).sum() / std::sqrt(8.0);
      sum += 1 / (1 + std::exp(-product.item<double>()));
      EXPECT_NEAR(found[key].item<double>(), std::min(sum, 6.0), 1e-4) << head << " " << query << " " << key;
    }
  }
  position::ModelShape shape = shape_of(2, 8);
  shape.layers = 2;
  const auto sparse = encoding("cope", {{"every", std::int64_t{2}}}, shape);
  Tile second = row_of_head(0, 5);
  second.layer = 1;
  EXPECT_EQ(sparse->distances(made.state, made.prepared, second).error().code, ErrorCode::kUnsupported);
}

TEST(Distances, OfTapaAreTheTurnsOfItsCosine) {
  const Settings options{{"theta", 0.25}, {"alpha", 0.3}};
  const Given made = given("tapa", options, shape_of(2, 8));
  for (const auto& [head, query] : {std::pair{0, 23}, std::pair{1, 7}}) {
    const at::Tensor found = made.row(head, query);
    for (std::int64_t key = 0; key <= query; ++key) {
      double phase = 0;
      for (std::int64_t c = 2; c < 8; ++c) {
        phase += made.projections.query[0][head][query][c].item<double>() *
                 made.projections.key[0][head][key][c].item<double>() / std::sqrt(6.0);
      }
      const double turns = key == query ? 0 : std::pow(query - key, 0.3) * phase;
      EXPECT_NEAR(found[key].item<double>(), turns, 1e-4 * (1 + std::abs(turns)));
    }
  }
  for (const std::string phase : {"linear", "general"}) {
    Settings other = options;
    other.set("phase", phase);
    const Given turned = given("tapa", other, shape_of(2, 8));
    const auto scores = turned.encoding->score(turned.prepared, row_of_head(1, 15), {.content = true});
    const at::Tensor cosine = (turned.row(1, 15) * (2 * std::numbers::pi)).cos().to(at::kFloat);
    EXPECT_CLOSE(scores.logits.flatten(), scores.content.flatten() * cosine, 2e-3) << phase;
  }
}

TEST(Distances, OfVectorsAreTheLengthsOfTheirDifferences) {
  for (const auto& [name, options] : std::vector<std::pair<std::string, Settings>>{
           {"seqpe", {}}, {"learned", {}}, {"sinusoidal", {}}, {"randpe", {{"over", std::string("sinusoidal")}}}}) {
    const Given made = given(name, options, shape_of(2, 8));
    const at::Tensor table = made.state.table.to(at::kDouble);  // (T, X)
    ASSERT_EQ(table.size(0), kDistanceTokens) << name;
    const at::Tensor found = made.row(1, 17);
    for (std::int64_t key = 0; key <= 17; ++key) {
      double square = 0;
      for (std::int64_t c = 0; c < table.size(1); ++c) {
        const double apart = table[17][c].item<double>() - table[key][c].item<double>();
        square += apart * apart;
      }
      EXPECT_NEAR(found[key].item<double>(), std::sqrt(square), 1e-5 * (1 + std::sqrt(square))) << name << " " << key;
    }
    EXPECT_EQ(made.encoding->distances({made.state.positions, {}}, made.prepared, row_of_head(1, 17)).error().code,
              ErrorCode::kUnsupported);
  }
}

TEST(Distances, OfLearnedPositionsAreTheirDifferences) {
  for (const auto& [name, options] : std::vector<std::pair<std::string, Settings>>{
           {"repo", {}}, {"grape", {{"form", std::string("contextual")}, {"per_head", true}}}}) {
    const Given made = given(name, options, shape_of(2, 8));
    const at::Tensor places = made.encoding->learned_positions(made.prepared)[0][1].flatten().to(at::kDouble);
    EXPECT_CLOSE(made.row(1, 12), places[12] - places.slice(0, 0, 13), 1e-9) << name;
    EXPECT_FALSE(made.encoding->description().distance.empty());
    EXPECT_NE(made.encoding->description().distance, position::kIndexDistance);
  }
  const Given path = given("grape", {{"form", std::string("path")}}, shape_of(2, 8));
  EXPECT_NE(path.encoding->distances(path.state, path.prepared, row_of_head(0, 3)).error().message.find("gates"),
            std::string::npos);
}

// Σ_m ‖e_im e_jmᵀ − R(d·θ_m)‖² at one distance.
double mismatch(const at::Tensor& query, const at::Tensor& key, double distance) {  // (M, 2, 2) each
  double sum = 0;
  for (std::int64_t m = 0; m < query.size(0); ++m) {
    const double angle = distance * std::pow(10000.0, -2.0 * static_cast<double>(m) / 8);
    const double rotation[2][2] = {{std::cos(angle), std::sin(angle)}, {-std::sin(angle), std::cos(angle)}};
    for (std::int64_t a = 0; a < 2; ++a) {
      for (std::int64_t b = 0; b < 2; ++b) {
        double product = 0;
        for (std::int64_t r = 0; r < 2; ++r) {
          product += query[m][a][r].item<double>() * key[m][b][r].item<double>();
        }
        sum += (product - rotation[a][b]) * (product - rotation[a][b]);
      }
    }
  }
  return sum;
}

TEST(Distances, OfTapeAreThoseOfTheNearestRotations) {
  position::ModelShape shape = shape_of(4, 8);
  shape.layers = 3;
  const auto tape = encoding("tape", {}, shape);
  randomise(*tape, 0.3, 7);
  const at::Tensor ids = at::randint(50, {1, kDistanceTokens}, at::detail::createCPUGenerator(3), at::kLong);
  const LlamaRun run = run_llama(random_llama(shape, 5), *tape, ids, Positions::sequence(kDistanceTokens));
  const Prepared prepared = at_positions(Positions::sequence(kDistanceTokens));
  std::int64_t elsewhere = 0;
  for (std::size_t layer = 0; layer < 3; ++layer) {
    const State& state = run.layers[layer].entering;
    for (const auto& [head, query] : {std::pair{0, 23}, std::pair{2, 13}}) {
      const auto found = tape->distances(state, prepared, row_of_head(head, query));
      ASSERT_TRUE(found.ok()) << found.error().describe();
      const at::Tensor e = state.table[0][head].to(at::kDouble);  // (T, M, 2, 2)
      for (std::int64_t key = 0; key <= query; ++key) {
        const double own = (*found)[key].item<double>();
        if (layer == 0) {
          EXPECT_EQ(own, static_cast<double>(query - key));
          continue;
        }
        double best = std::numeric_limits<double>::infinity();
        for (std::int64_t step = -8 * query; step <= 8 * query; ++step) {
          best = std::min(best, mismatch(e[query], e[key], static_cast<double>(step) / 8));
        }
        EXPECT_LE(std::abs(own), query);
        EXPECT_EQ(own * 8, std::round(own * 8));
        EXPECT_NEAR(mismatch(e[query], e[key], own), best, 1e-6 * (1 + best)) << layer << " " << head << " " << key;
        elsewhere += own != static_cast<double>(query - key) ? 1 : 0;
      }
    }
  }
  EXPECT_GT(elsewhere, 10);
  for (const Settings& other : {Settings{{"start", std::string("fourier")}},
                                Settings{{"rows", std::int64_t{1}}, {"columns", std::int64_t{4}}}}) {
    const auto none = encoding("tape", other, shape);
    const State state = none->begin(Positions::sequence(kDistanceTokens), 1);
    EXPECT_EQ(none->distances(state, prepared, row_of_head(0, 5)).error().code, ErrorCode::kUnsupported);
  }
  const Prepared far = at_positions({at::tensor({0.0, 200000.0}, at::kDouble), 0});
  EXPECT_EQ(tape->distances(tape->begin(far.positions, 1), far, row_of_head(0, 1)).error().code, ErrorCode::kTooLarge);
}

}  // namespace
}  // namespace locus::test
