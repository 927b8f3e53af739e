// Previews tile by tile, of every encoding: a cell of the preview is that cell of the map.
#include <gtest/gtest.h>

#include <cmath>

#include "core/attention/fused_scores.h"
#include "core/attention/score_field.h"
#include "core/position/list.h"
#include "tests/support/encodings.h"

namespace locus {
namespace {

using attention::Mask;
using attention::Quantity;

TEST(Preview, CapsLogitsAsTheMapDoes) {
  const at::NoGradGuard no_grad;
  constexpr std::int64_t kLength = 60;
  constexpr std::int64_t kSide = 12;
  constexpr double kCap = 0.7;
  int tiled = 0;
  for (const position::Entry& entry : position::encodings()) {
    const std::string& name = entry.description.name;
    if (!test::takes_sequences(name)) {
      continue;
    }
    SCOPED_TRACE(name);
    at::manual_seed(6);
    const position::ModelShape shape = test::shape_of(2, 8);
    const std::shared_ptr<const position::PositionEncoding> encoding = test::encoding(name, {}, shape);
    const position::Projections projections = test::random_projections(shape, 1, kLength);
    const Mask mask;
    const position::Prepared prepared =
        encoding->prepare(encoding->begin(position::Positions::sequence(kLength), 1), 0, projections);
    const at::Tensor sums =
        attention::attend_whole_map({*encoding, prepared, 0, projections.value, {}, mask, kCap}).log_sum_exp;
    const auto source =
        std::make_shared<const attention::ComputedScores>(encoding, 0, prepared, sums, at::Tensor(), kCap);
    const attention::ScoreField field(source, mask);
    for (const Quantity quantity : {Quantity::kWeight, Quantity::kLogit}) {
      const auto preview = field.preview({quantity, 1, {}, {}}, kSide, kSide);
      if (!preview.ok()) {
        EXPECT_TRUE(encoding->follows_between()) << preview.error().describe();
        continue;
      }
      tiled += source->fused(mask) == nullptr ? 1 : 0;
      const auto map = field.map({quantity, 1, {}, {}});
      ASSERT_TRUE(map.ok());
      for (std::int64_t y = 0; y < kSide; ++y) {
        for (std::int64_t x = 0; x <= y; ++x) {
          const float want = map->at((y + 1) * kLength / kSide - 1, x * kLength / kSide);
          EXPECT_NEAR(preview->at(y, x), want, 2e-5 * (1 + std::abs(want))) << describe(quantity) << y << ", " << x;
          EXPECT_LE(quantity == Quantity::kLogit ? std::abs(want) : 0, kCap + 1e-6);
        }
      }
    }
  }
  EXPECT_GT(tiled, 0) << "no encoding is sampled tile by tile";
}

// What follows the whole grid, or which tokens are no patches, is not read off gathered ones.
TEST(Preview, PatchesAreThoseOfTheirGrid) {
  const at::NoGradGuard no_grad;
  constexpr std::int64_t kSide = 10;
  const position::Positions positions = position::Positions::grid(6, 9, 2);
  const std::int64_t length = positions.size();
  int sampled = 0;
  for (const position::Entry& entry : position::encodings()) {
    const std::string& name = entry.description.name;
    at::manual_seed(7);
    position::ModelShape shape = test::shape_of(2, 8);
    shape.causal = false;
    if (!position::make_encoding(name, {}, shape).ok()) {
      continue;
    }
    const std::shared_ptr<const position::PositionEncoding> encoding = test::encoding(name, {}, shape);
    if (!encoding->accepts(positions).ok()) {
      continue;
    }
    SCOPED_TRACE(name);
    const position::Projections projections = test::random_projections(shape, 1, length);
    const Mask mask{false, 0, 0};
    const position::Prepared prepared = encoding->prepare(encoding->begin(positions, 1), 0, projections);
    const at::Tensor sums =
        attention::attend_whole_map({*encoding, prepared, 0, projections.value, {}, mask, 0}).log_sum_exp;
    const auto source = std::make_shared<const attention::ComputedScores>(encoding, 0, prepared, sums, at::Tensor(), 0);
    const attention::ScoreField field(source, mask);
    const auto preview = field.preview({Quantity::kLogit, 1, {}, {}}, kSide, kSide);
    if (!preview.ok()) {
      EXPECT_EQ(preview.error().code, ErrorCode::kUnsupported);  // then the exact map is shown
      EXPECT_FALSE(encoding->is_dot_product());
      continue;
    }
    ++sampled;
    const auto map = field.map({Quantity::kLogit, 1, {}, {}});
    ASSERT_TRUE(map.ok());
    for (std::int64_t y = 0; y < kSide; ++y) {
      for (std::int64_t x = 0; x < kSide; ++x) {
        const float want = map->at((y + 1) * length / kSide - 1, x * length / kSide);
        EXPECT_NEAR(preview->at(y, x), want, 2e-5 * (1 + std::abs(want))) << y << ", " << x;
      }
    }
  }
  EXPECT_GT(sampled, 2);
}

}  // namespace
}  // namespace locus
