// Maps and states over a grid of patches: synthetic encodings whose answers are known, and a brute-force twin.
#include "core/analysis/patch_stability.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <numbers>
#include <vector>

#include "core/attention/score_field.h"

namespace locus::analysis {
namespace {

constexpr std::int64_t kRows = 5;
constexpr std::int64_t kColumns = 6;
constexpr std::int64_t kPatches = kRows * kColumns;
constexpr std::int64_t kPrefix = 2;  // a class token and a register
constexpr std::int64_t kTokens = kPrefix + kPatches;
constexpr std::int64_t kHeads = 3;

using Map = std::array<double, 6>;

at::Tensor patch_tokens() {
  return at::arange(kPrefix, kTokens, at::kLong);
}

// Rows that sum to 1 over all tokens, of the weight that `of` gives a patch i to a patch j.
attention::ScoreField field_of(const std::function<double(std::int64_t head, std::int64_t i, std::int64_t j)>& of) {
  at::Tensor weights = at::full({kHeads, kTokens, kTokens}, 0.3, at::kDouble);
  auto at = weights.accessor<double, 3>();
  for (std::int64_t h = 0; h < kHeads; ++h) {
    for (std::int64_t i = 0; i < kPatches; ++i) {
      for (std::int64_t j = 0; j < kPatches; ++j) {
        at[h][kPrefix + i][kPrefix + j] = of(h, i, j);
      }
    }
  }
  weights = (weights / weights.sum(2, true)).to(at::kFloat);
  return {std::make_shared<attention::StoredScores>(
              std::map<attention::Quantity, at::Tensor>{{attention::Quantity::kWeight, weights}}),
          attention::Mask{false}};
}

double change_of(const attention::ScoreField& plain, const attention::ScoreField& moved, const Map& map) {
  const auto change = patch_attention_change(plain, moved, patch_tokens(), PatchPlaces(kRows, kColumns, map));
  EXPECT_TRUE(change.ok());
  return change.ok() ? *change : -1;
}

// Weights that depend on where j is seen from i alone, as of a convolution, whatever the picture shows.
double by_offset(std::int64_t head, std::int64_t i, std::int64_t j) {
  const auto right = static_cast<double>(j % kColumns - i % kColumns);
  const auto down = static_cast<double>(j / kColumns - i / kColumns);
  return std::exp(-0.3 * std::hypot(right - static_cast<double>(head), down + 0.5));
}
// Weights that depend on the place of j alone, as of learned positions.
double by_place(std::int64_t head, std::int64_t /*i*/, std::int64_t j) {
  return 1 + static_cast<double>((7 * j + 3 * head) % 11);
}

TEST(PatchStability, AConvolutionIsEquivariantToWholePatches) {
  const attention::ScoreField field = field_of(by_offset);
  for (const Map& map :
       {Map{1, 0, 1, 0, 1, 0}, Map{1, 0, -2, 0, 1, 0}, Map{1, 0, 1, 0, 1, -1}, Map{1, 0, 0, 0, 1, 3}}) {
    EXPECT_LT(change_of(field, field, map), 1e-6);
  }
  // Between two patches the map is smeared.
  EXPECT_GT(change_of(field, field, {1, 0, 0.5, 0, 1, 0}), 1e-3);
  // It is not equivariant to a turn, nor to a mirror, since its heads look aside.
  EXPECT_GT(change_of(field, field, {-1, 0, kColumns - 1, 0, 1, 0}), 0.05);
}

TEST(PatchStability, LearnedPlacesAreNot) {
  const attention::ScoreField field = field_of(by_place);
  EXPECT_LT(change_of(field, field, {1, 0, 0, 0, 1, 0}), 1e-7);
  // One patch to the right: columns 0 … 4 are seen in both; the row over them is g(j) against g(j + 1).
  double total = 0;
  for (std::int64_t head = 0; head < kHeads; ++head) {
    double before = 0;
    double after = 0;
    for (std::int64_t j = 0; j < kPatches; ++j) {
      before += j % kColumns < kColumns - 1 ? by_place(head, 0, j) : 0;
      after += j % kColumns < kColumns - 1 ? by_place(head, 0, j + 1) : 0;
    }
    for (std::int64_t j = 0; j < kPatches; ++j) {
      total += j % kColumns < kColumns - 1
                   ? std::abs(by_place(head, 0, j + 1) / after - by_place(head, 0, j) / before) / 2
                   : 0;
    }
  }
  EXPECT_NEAR(change_of(field, field, {1, 0, 1, 0, 1, 0}), total / kHeads, 1e-6);
  EXPECT_GT(total / kHeads, 0.1);
}

// What a patch shows decides, and the picture has moved: nothing changes.
TEST(PatchStability, ContentMovesWithThePicture) {
  const auto shown = [](std::int64_t row, std::int64_t column) {
    return 1 + static_cast<double>((5 * (row + 10) + 3 * (column + 10)) % 13);
  };
  const auto of_picture = [&](std::int64_t right, std::int64_t down) {
    return field_of([&, right, down](std::int64_t head, std::int64_t i, std::int64_t j) {
      return shown(j / kColumns - down, j % kColumns - right) *
             (1 + static_cast<double>(head) * shown(i / kColumns - down, i % kColumns - right));
    });
  };
  EXPECT_LT(change_of(of_picture(0, 0), of_picture(2, -1), {1, 0, 2, 0, 1, -1}), 1e-6);
  EXPECT_GT(change_of(of_picture(0, 0), of_picture(2, -1), {1, 0, 0, 0, 1, 0}), 0.05);
}

struct Corner {
  std::int64_t patch;
  double weight;
};
// By the definition: the four patches around a place, none of weight 0.
std::vector<Corner> around(double x, double y) {
  std::vector<Corner> corners;
  for (std::int64_t row = -40; row < 40; ++row) {
    for (std::int64_t column = -40; column < 40; ++column) {
      const double weight = std::max(0.0, 1 - std::abs(x - static_cast<double>(column))) *
                            std::max(0.0, 1 - std::abs(y - static_cast<double>(row)));
      const bool inside = row >= 0 && row < kRows && column >= 0 && column < kColumns;
      if (weight > 1e-6) {
        corners.push_back({inside ? row * kColumns + column : -1, weight});
      }
    }
  }
  return corners;
}

TEST(PatchStability, IsTheDefinition) {
  const auto one = [](std::int64_t h, std::int64_t i, std::int64_t j) {
    return 1 + static_cast<double>((13 * i + 7 * j + 5 * h) % 17);
  };
  const auto two = [](std::int64_t h, std::int64_t i, std::int64_t j) {
    return 1 + static_cast<double>((11 * i + 3 * j + 2 * h) % 19);
  };
  const attention::ScoreField plain = field_of(one);
  const attention::ScoreField moved = field_of(two);
  const at::Tensor states = at::sin(at::arange(kTokens * 4, at::kFloat)).view({kTokens, 4});
  const at::Tensor others = at::cos(at::arange(kTokens * 4, at::kFloat) * 0.7).view({kTokens, 4});
  const double c = std::cos(0.3);
  const double s = std::sin(0.3);
  for (const Map& map : {Map{1, 0, 0.375, 0, 1, 0}, Map{1, 0, -0.5, 0, 1, 0.25}, Map{c, -s, 0.6, s, c, -0.9},
                         Map{1.25, 0, -0.6, 0, 1.25, -0.5}, Map{0.8, 0, 0.5, 0, 0.8, 0.4}}) {
    std::vector<std::int64_t> seen;
    std::vector<std::vector<Corner>> places;
    const double det = map[0] * map[4] - map[1] * map[3];
    for (std::int64_t n = 0; n < kPatches; ++n) {
      const auto x = static_cast<double>(n % kColumns);
      const auto y = static_cast<double>(n / kColumns);
      const auto corners = around(map[0] * x + map[1] * y + map[2], map[3] * x + map[4] * y + map[5]);
      bool counts = true;
      for (const Corner& corner : corners) {
        const double dx = static_cast<double>(corner.patch % kColumns) - map[2];
        const double dy = static_cast<double>(corner.patch / kColumns) - map[5];
        const double from_x = (map[4] * dx - map[1] * dy) / det;
        const double from_y = (map[0] * dy - map[3] * dx) / det;
        counts = counts && corner.patch >= 0 && from_x > -1e-6 && from_x < kColumns - 1 + 1e-6 && from_y > -1e-6 &&
                 from_y < kRows - 1 + 1e-6;
      }
      if (counts) {
        seen.push_back(n);
        places.push_back(corners);
      }
    }
    ASSERT_GE(seen.size(), 2U);
    const PatchPlaces got(kRows, kColumns, map);
    ASSERT_EQ(got.count(), static_cast<std::int64_t>(seen.size()));
    double total = 0;
    for (std::int64_t h = 0; h < kHeads; ++h) {
      // Rows as the model has them: of weight 1 over all tokens, before they are interpolated.
      const auto weight = [&](const auto& of, std::int64_t i, std::int64_t j) {
        double sum = 0.3 * kPrefix;
        for (std::int64_t k = 0; k < kPatches; ++k) {
          sum += of(h, i, k);
        }
        return of(h, i, j) / sum;
      };
      for (std::size_t i = 0; i < seen.size(); ++i) {
        std::vector<double> before;
        std::vector<double> after;
        double before_sum = 0;
        double after_sum = 0;
        for (std::size_t j = 0; j < seen.size(); ++j) {
          before.push_back(weight(one, seen[i], seen[j]));
          after.push_back(0);
          for (const Corner& a : places[i]) {
            for (const Corner& b : places[j]) {
              after.back() += a.weight * b.weight * weight(two, a.patch, b.patch);
            }
          }
          before_sum += before.back();
          after_sum += after.back();
        }
        for (std::size_t j = 0; j < seen.size(); ++j) {
          total += std::abs(after[j] / after_sum - before[j] / before_sum) / 2 / static_cast<double>(seen.size());
        }
      }
    }
    EXPECT_NEAR(change_of(plain, moved, map), total / kHeads, 1e-6);

    double change = 0;
    double spread = 0;
    for (std::int64_t channel = 0; channel < 4; ++channel) {
      double mean = 0;
      for (const std::int64_t n : seen) {
        mean += states[kPrefix + n][channel].item<double>() / static_cast<double>(seen.size());
      }
      for (std::size_t i = 0; i < seen.size(); ++i) {
        double after = 0;
        for (const Corner& a : places[i]) {
          after += a.weight * others[kPrefix + a.patch][channel].item<double>();
        }
        const double before = states[kPrefix + seen[i]][channel].item<double>();
        change += (after - before) * (after - before);
        spread += (before - mean) * (before - mean);
      }
    }
    EXPECT_NEAR(patch_state_change(states, others, patch_tokens(), got), std::sqrt(change / spread), 1e-5);
  }
}

TEST(PatchStability, WithoutTwoPatchesThereIsNoNumber) {
  const attention::ScoreField field = field_of(by_place);
  EXPECT_TRUE(std::isnan(change_of(field, field, {1, 0, 40, 0, 1, 0})));
  EXPECT_TRUE(std::isnan(patch_state_change(at::zeros({kTokens, 2}), at::zeros({kTokens, 2}), patch_tokens(),
                                            PatchPlaces(kRows, kColumns, {1, 0, 0, 0, 1, 9}))));
  EXPECT_EQ(patch_state_change(at::zeros({kTokens, 2}), at::zeros({kTokens, 2}), patch_tokens(),
                               PatchPlaces(kRows, kColumns, {1, 0, 0, 0, 1, 0})),
            0);
}

}  // namespace
}  // namespace locus::analysis
