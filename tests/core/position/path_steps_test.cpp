// What stands between a key and a query in PaTH, against products of its matrices H_t that are multiplied out here, and
// against scores without one token's change. Tolerance 1e-9 in float64.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/position/path.h"
#include "tests/support/encodings.h"
#include "tests/support/golden.h"

namespace locus::test {
namespace {

constexpr std::int64_t kStepTokens = 23;
constexpr std::int64_t kStepHeads = 4;
constexpr std::int64_t kStepWidth = 6;
constexpr double kStepTolerance = 1e-9;

struct PathTwin {
  std::unique_ptr<position::PositionEncoding> encoding;
  position::Prepared prepared;

  const position::Path& path() const { return dynamic_cast<const position::Path&>(*encoding); }
  // (D) float64 w_t of a head.
  at::Tensor direction(std::int64_t head, std::int64_t token) const {
    return path().reflections(prepared, 0, {head, head + 1}, {token, token + 1}).direction.flatten();
  }
  // (D, D) float64 H_t of a head.
  at::Tensor reflection(std::int64_t head, std::int64_t token) const {
    const auto own = path().reflections(prepared, 0, {head, head + 1}, {token, token + 1});
    const at::Tensor w = own.direction.view({kStepWidth, 1});
    return at::eye(kStepWidth, at::kDouble) - at::matmul(w, w.t()) * own.strength.item<double>();
  }
  // (D, D) P_ij = H_{j+1} … H_i.
  at::Tensor product(std::int64_t head, std::int64_t query, std::int64_t key) const {
    at::Tensor all = at::eye(kStepWidth, at::kDouble);
    for (std::int64_t t = key + 1; t <= query; ++t) {
      all = at::matmul(all, reflection(head, t));
    }
    return all;
  }
  at::Tensor query(std::int64_t head, std::int64_t token) const { return prepared.query[0][head][token]; }
  at::Tensor key(std::int64_t head, std::int64_t token) const { return prepared.key[0][head / 2][token]; }
};

PathTwin path_twin() {
  at::manual_seed(3);
  position::ModelShape shape = shape_of(kStepHeads, kStepWidth, 2);
  PathTwin made;
  made.encoding = encoding("path", {{"rank", std::int64_t{3}}, {"taps", std::int64_t{2}}}, shape);
  for (const position::Parameter& parameter : made.encoding->parameters()) {
    *parameter.value = at::randn_like(*parameter.value, at::kDouble);
  }
  const position::Projections projections = random_projections(shape, 1, kStepTokens, at::kDouble);
  made.prepared =
      made.encoding->prepare(made.encoding->begin(position::Positions::sequence(kStepTokens), 1), 0, projections);
  return made;
}

double cosine_between(const at::Tensor& a, const at::Tensor& b) {
  return (a.dot(b) / (a.norm() * b.norm())).item<double>();
}

TEST(PathSteps, CarriedKeysAreThoseOfTheProducts) {
  const PathTwin turned_keys = path_twin();
  const at::Tensor all =
      turned_keys.path().carried(turned_keys.prepared, {0, {0, kStepHeads}, {0, kStepTokens}, {0, kStepTokens}});
  for (std::int64_t head = 0; head < kStepHeads; ++head) {
    for (std::int64_t query = 0; query < kStepTokens; ++query) {
      for (std::int64_t key = 0; key <= query; ++key) {
        const at::Tensor own = turned_keys.key(head, key);
        const double want = cosine_between(at::matmul(turned_keys.product(head, query, key).t(), own), own);
        EXPECT_NEAR(all[0][head][query][key].item<double>(), want, kStepTolerance)
            << head << " " << query << " " << key;
      }
    }
  }
  // A tile is a part of the map, whether it meets the diagonal or not.
  for (const auto& [rows, columns] : {std::pair(Range{9, 17}, Range{2, 5}), std::pair(Range{4, 11}, Range{6, 9}),
                                      std::pair(Range{0, 3}, Range{1, 20})}) {
    const at::Tensor tile = turned_keys.path().carried(turned_keys.prepared, {0, {1, 3}, rows, columns});
    for (std::int64_t query = rows.begin; query < rows.end; ++query) {
      for (std::int64_t key = columns.begin; key <= query && key < columns.end; ++key) {
        EXPECT_NEAR(tile[0][1][query - rows.begin][key - columns.begin].item<double>(),
                    all[0][2][query][key].item<double>(), kStepTolerance)
            << query << " " << key;
      }
    }
  }
}

TEST(PathSteps, AKeyOfZerosHasNoDirection) {
  PathTwin made = path_twin();
  made.prepared.key = made.prepared.key.clone();
  made.prepared.key[0][0][7].zero_();
  const at::Tensor map = made.path().carried(made.prepared, {0, {0, 1}, {7, 12}, {7, 8}});
  EXPECT_EQ(map.abs().max().item<double>(), 0);
  EXPECT_EQ(made.path().steps(made.prepared, 0, 0, 11, 7).carried.back(), 0);
}

TEST(PathSteps, EachStepIsWhatIsLostWithoutIt) {
  const PathTwin made = path_twin();
  for (const auto& [head, query, key] : {std::tuple(0, 22, 0), std::tuple(3, 15, 11), std::tuple(1, 6, 6)}) {
    SCOPED_TRACE(std::to_string(head) + " " + std::to_string(query) + " " + std::to_string(key));
    const position::TransformSteps steps = made.path().steps(made.prepared, 0, head, query, key);
    const auto count = static_cast<std::size_t>(query - key + 1);
    for (const auto* list : {&steps.strength, &steps.change, &steps.carried, &steps.deviation, &steps.determinant}) {
      ASSERT_EQ(list->size(), count);
    }
    const at::Tensor asked = made.query(head, query);
    const at::Tensor own = made.key(head, key);
    const auto logit_of = [&](const position::Prepared& prepared) {
      return whole_map(*made.encoding, prepared).logits[0][head][query][key].item<double>();
    };
    EXPECT_NEAR(steps.logit, logit_of(made.prepared), kStepTolerance);
    EXPECT_NEAR(steps.content, own.dot(asked).item<double>() / std::sqrt(static_cast<double>(kStepWidth)),
                kStepTolerance);
    EXPECT_TRUE(std::isnan(steps.strength[0]));
    EXPECT_EQ(steps.change[0], 0);
    EXPECT_EQ(steps.carried[0], 1);
    EXPECT_EQ(steps.deviation[0], 0);
    EXPECT_EQ(steps.determinant[0], 1);
    for (std::int64_t token = key + 1; token <= query; ++token) {
      const auto n = static_cast<std::size_t>(token - key);
      position::Prepared without = made.prepared;
      without.gate_key = without.gate_key.clone();
      without.gate_key[0][head / 2][token][kStepWidth] = -std::numeric_limits<double>::infinity();  // β = 0
      EXPECT_NEAR(steps.change[n], steps.logit - logit_of(without), kStepTolerance) << token;
      const at::Tensor product = made.product(head, token, key);
      EXPECT_NEAR(steps.deviation[n], (product - at::eye(kStepWidth, at::kDouble)).norm().item<double>(),
                  kStepTolerance);
      EXPECT_NEAR(steps.determinant[n], at::linalg_det(product).item<double>(), kStepTolerance) << token;
      EXPECT_NEAR(steps.carried[n], cosine_between(at::matmul(product.t(), own), own), kStepTolerance) << token;
      const at::Tensor reflection = made.reflection(head, token);
      const double length = made.direction(head, token).square().sum().item<double>();  // a little below 1
      EXPECT_NEAR(steps.strength[n] * length, static_cast<double>(kStepWidth) - reflection.trace().item<double>(),
                  kStepTolerance)
          << token;
    }
  }
}

// ‖β w wᵀ‖ = β·|w|², of a w that is a little shorter than 1.
TEST(PathSteps, OneStepDeviatesByItsStrength) {
  const PathTwin made = path_twin();
  const position::TransformSteps steps = made.path().steps(made.prepared, 0, 2, 9, 8);
  EXPECT_NEAR(steps.deviation[1], steps.strength[1], 1e-5);
}

}  // namespace
}  // namespace locus::test
