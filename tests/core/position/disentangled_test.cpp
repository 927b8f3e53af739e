// DeBERTa's buckets and parts against their definitions, cell by cell.
#include "core/position/disentangled.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/encodings.h"
#include "tests/support/golden.h"

namespace locus::test {
namespace {

using position::DisentangledOptions;

DisentangledOptions options_of(std::int64_t buckets, std::int64_t longest) {
  DisentangledOptions options;
  options.buckets = buckets;
  options.max_distance = longest;
  return options;
}

std::int64_t row_of(std::int64_t distance, const DisentangledOptions& options) {
  return position::disentangled_rows(at::tensor({static_cast<double>(distance)}, at::kDouble), options)
      .item<std::int64_t>();
}

TEST(Disentangled, NearDistancesHaveARowEachAndFarOnesShare) {
  const DisentangledOptions options = options_of(256, 512);
  for (std::int64_t distance = -128; distance <= 128; ++distance) {
    EXPECT_EQ(row_of(distance, options), 256 + distance);
  }
  EXPECT_EQ(row_of(129, options), 256 + 129);
  EXPECT_EQ(row_of(510, options), 256 + 255);
  EXPECT_EQ(row_of(511, options), 256 + 255);  // M − 1: the last one, whatever logarithms round to
  EXPECT_EQ(row_of(-511, options), 256 - 255);
  EXPECT_EQ(row_of(512, options), 511);
  EXPECT_EQ(row_of(-100000, options), 0);
  EXPECT_EQ(row_of(100000, options), 511);
}

TEST(Disentangled, TheLastDistanceIsTheLastBucketForAnySizes) {
  for (std::int64_t buckets = 4; buckets <= 128; buckets += 2) {
    for (std::int64_t longest = buckets + 3; longest < 700; longest += 37) {
      EXPECT_EQ(row_of(longest - 1, options_of(buckets, longest)), buckets + buckets - 1) << buckets << " " << longest;
    }
  }
}

TEST(Disentangled, WithoutBucketsEveryDistanceHasItsRow) {
  const DisentangledOptions options = options_of(0, 6);
  EXPECT_EQ(row_of(5, options), 11);
  EXPECT_EQ(row_of(-6, options), 0);
  EXPECT_EQ(row_of(-9, options), 0);
  EXPECT_EQ(row_of(9, options), 11);
}

TEST(Disentangled, LogitsAreTheSumOfThreeProducts) {
  constexpr std::int64_t kTokens = 21;
  const position::ModelShape shape = shape_of(2, 8);
  const Settings settings{{"buckets", std::int64_t{8}}, {"max_distance", std::int64_t{16}}};
  const auto made = encoding("disentangled", settings, shape);
  for (const position::Parameter& parameter : made->parameters()) {
    *parameter.value = at::randn(parameter.value->sizes());
  }
  const auto value = [&](const std::string& name) { return parameter(*made, name).to(at::kDouble); };
  const at::Tensor table =
      at::layer_norm(value("relative_embedding"), {16}, value("norm.weight"), value("norm.bias"), 1e-7);
  const auto rows = [&](const std::string& name) {
    return at::linear(table, value("layers.0." + name + ".weight"), value("layers.0." + name + ".bias"))
        .view({16, 2, 8});
  };
  const at::Tensor keys = rows("position_key");
  const at::Tensor queries = rows("position_query");
  const at::Tensor q = at::randn({1, 2, kTokens, 8});
  const at::Tensor k = at::randn({1, 2, kTokens, 8});
  const position::Prepared prepared = prepare(*made, position::Positions::sequence(kTokens), q, k);
  position::Wanted wanted;
  wanted.terms = wanted.content = true;
  const position::TileScores scores = whole_map(*made, prepared, 0, wanted);
  ASSERT_EQ(scores.terms.size(), 3U);
  const double scale = 1 / std::sqrt(8.0 * 3);
  const auto dot = [&](const at::Tensor& a, const at::Tensor& b) {
    return (a.to(at::kDouble) * b.to(at::kDouble)).sum().item<double>() * scale;
  };
  for (std::int64_t h = 0; h < 2; ++h) {
    for (std::int64_t i = 0; i < kTokens; ++i) {
      for (std::int64_t j = 0; j < kTokens; ++j) {
        const std::int64_t row = row_of(i - j, options_of(8, 16));
        const double parts[3] = {dot(q[0][h][i], k[0][h][j]), dot(q[0][h][i], keys[row][h]),
                                 dot(k[0][h][j], queries[row][h])};
        for (std::size_t n = 0; n < 3; ++n) {
          ASSERT_NEAR(scores.terms[n].second[0][h][i][j].item<double>(), parts[n], 1e-4) << scores.terms[n].first;
        }
        ASSERT_NEAR(scores.logits[0][h][i][j].item<double>(), parts[0] + parts[1] + parts[2], 2e-4);
      }
    }
  }
}

}  // namespace
}  // namespace locus::test
