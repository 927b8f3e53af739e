// TAPA and RoPE at distances up to 12,000. Tolerances: 1e-4·(1 + |b|) in float32, 1e-9 in float64.
#include <gtest/gtest.h>

#include <numbers>

#include "core/analysis/theory.h"
#include "tests/support/encodings.h"
#include "tests/support/golden.h"

namespace locus::test {
namespace {

using position::Positions;

// Queries at m are tokens 0 … 33, keys at n tokens 34 … 67.
Positions pairs(const Golden& golden, double factor = 1) {
  return {at::cat({golden["m"], golden["n"]}).to(at::kDouble) * factor, 0};
}

at::Tensor tokens(const at::Tensor& first, const at::Tensor& second, at::ScalarType type) {
  return at::cat({first, second}).to(type).view({1, 1, 68, 64});
}

// The 34 scores of query p with key p, and their contents.
position::TileScores scores(const position::PositionEncoding& encoding, const Golden& golden, at::ScalarType type,
                            double factor = 1) {
  const at::Tensor q = golden["q"];
  const at::Tensor k = golden["k"];
  const auto prepared = prepare(encoding, pairs(golden, factor), tokens(q, q, type), tokens(k, k, type));
  position::TileScores result = encoding.score(prepared, {0, {0, 1}, {0, 34}, {34, 68}}, {.content = true});
  result.logits = result.logits[0][0].diagonal();
  result.content = result.content[0][0].diagonal();
  return result;
}

Settings options_of(const Golden& golden, const std::string& set) {
  return {{"alpha", golden.number(set + ".alpha")}, {"theta", golden.number(set + ".theta")}};
}

TEST(TapaLarge, float64) {
  const Golden golden("tapa_large");
  for (const std::string set : {"a", "b"}) {
    const auto tapa = encoding("tapa", options_of(golden, set), shape_of(1, 64));
    const position::TileScores got = scores(*tapa, golden, at::kDouble);
    EXPECT_CLOSE(got.logits, golden[set + ".logits_f64"], 1e-9);
    EXPECT_CLOSE(got.content, golden[set + ".amplitude_f64"], 1e-9);
  }
}

TEST(TapaLarge, float32) {
  const Golden golden("tapa_large");
  for (const std::string set : {"a", "b"}) {
    const auto tapa = encoding("tapa", options_of(golden, set), shape_of(1, 64));
    EXPECT_CLOSE(scores(*tapa, golden, at::kFloat).logits, golden[set + ".logits"], 1e-4);
  }
}

TEST(TapaLarge, float32OneCellAtATimeByTheFusedLoop) {
  const Golden golden("tapa_large");
  const at::Tensor q = golden["q"];
  const at::Tensor k = golden["k"];
  for (const std::string set : {"a", "b"}) {
    const auto tapa = encoding("tapa", options_of(golden, set), shape_of(1, 64));
    const auto prepared = prepare(*tapa, pairs(golden), tokens(q, q, at::kFloat), tokens(k, k, at::kFloat));
    for (std::int64_t p = 0; p < 34; ++p) {
      const at::Tensor got = tapa->score(prepared, {0, {0, 1}, {p, p + 1}, {34 + p, 35 + p}}).logits.flatten();
      EXPECT_CLOSE(got, golden[set + ".logits"].slice(0, p, p + 1), 1e-4) << p;
    }
  }
}

TEST(TapaLarge, ropeInBothConventions) {
  const Golden golden("tapa_large");
  const auto llama = encoding("rope", {}, shape_of(1, 64));
  EXPECT_CLOSE(scores(*llama, golden, at::kDouble).logits, golden["rope_llama_f64"], 1e-9);
  // The paper's angles are 2π(m − n)θ_d: the same encoding at positions 2π times as far apart.
  const auto paper = encoding("rope", {{"layout", std::string("interleaved")}}, shape_of(1, 64));
  EXPECT_CLOSE(scores(*paper, golden, at::kDouble, 2 * std::numbers::pi).logits, golden["rope_paper_f64"], 1e-9);
}

TEST(TapaLarge, meanCosineOfGaussianPhases) {
  const Golden golden("tapa_large");
  const at::Tensor distances = golden["distances"].to(at::kDouble);
  for (const std::string set : {"a", "b"}) {
    const auto width = static_cast<std::int64_t>(std::llround(64 * (1 - golden.number(set + ".theta"))));
    for (std::int64_t n = 0; n < distances.numel(); ++n) {
      const double want = golden[set + ".ecos_f64"][n].item<double>();
      const double got = analysis::tapa_mean_cosine(distances[n].item<double>(), golden.number(set + ".alpha"), width);
      EXPECT_NEAR(got / want, 1.0, 1e-6) << set << n;
    }
  }
}

}  // namespace
}  // namespace locus::test
