#include "core/analysis/patch_stability.h"

#include <algorithm>
#include <cmath>

#include "core/attention/score_field.h"
#include "core/base/numbers.h"

namespace locus::analysis {

namespace {

constexpr double kRounding = 1e-6;  // of a place, in patches

struct Corner {
  std::int64_t x = 0;
  std::int64_t y = 0;
  double weight = 0;
};

// Whole places are those of one patch.
std::vector<Corner> corners_around(double x, double y) {
  const auto snapped = [](double at) { return std::abs(at - std::round(at)) < kRounding ? std::round(at) : at; };
  x = snapped(x);
  y = snapped(y);
  const double left = std::floor(x);
  const double top = std::floor(y);
  std::vector<Corner> corners;
  for (const double down : {0.0, 1.0}) {
    for (const double right : {0.0, 1.0}) {
      const double weight = (right > 0 ? x - left : 1 - (x - left)) * (down > 0 ? y - top : 1 - (y - top));
      if (weight > 0) {
        corners.push_back({static_cast<std::int64_t>(left + right), static_cast<std::int64_t>(top + down), weight});
      }
    }
  }
  return corners;
}

at::Tensor of_list(const std::vector<std::int64_t>& list) {
  return at::tensor(at::ArrayRef<std::int64_t>(list), at::kLong);
}

}  // namespace

PatchPlaces::PatchPlaces(std::int64_t rows, std::int64_t columns, const std::array<double, 6>& map)
    : rows_(rows), columns_(columns) {
  const double det = map[0] * map[4] - map[1] * map[3];
  const auto within = [](double at, std::int64_t count) {
    return at >= -kRounding && at <= static_cast<double>(count - 1) + kRounding;
  };
  const auto came_from_within = [&](const Corner& corner) {
    const double x = static_cast<double>(corner.x) - map[2];
    const double y = static_cast<double>(corner.y) - map[5];
    return within((map[4] * x - map[1] * y) / det, columns) && within((map[0] * y - map[3] * x) / det, rows);
  };
  std::vector<std::int64_t> patches;
  std::vector<std::int64_t> all_corners;
  std::vector<float> weights;
  for (std::int64_t n = 0; n < rows * columns; ++n) {
    const auto x = static_cast<double>(n % columns);
    const auto y = static_cast<double>(n / columns);
    const std::vector<Corner> corners =
        corners_around(map[0] * x + map[1] * y + map[2], map[3] * x + map[4] * y + map[5]);
    const bool counts = std::ranges::all_of(corners, [&](const Corner& corner) {
      return corner.x >= 0 && corner.x < columns && corner.y >= 0 && corner.y < rows && came_from_within(corner);
    });
    if (!counts) {
      continue;
    }
    patches.push_back(n);
    for (std::size_t k = 0; k < 4; ++k) {
      all_corners.push_back(k < corners.size() ? corners[k].y * columns + corners[k].x : 0);
      weights.push_back(k < corners.size() ? static_cast<float>(corners[k].weight) : 0.0F);
    }
  }
  patches_ = of_list(patches);
  corners_ = of_list(all_corners).view({count(), 4}).t().contiguous();
  weights_ = at::tensor(at::ArrayRef<float>(weights)).view({count(), 4}).t().contiguous();
}

at::Tensor PatchPlaces::undo(const at::Tensor& moved, std::int64_t axis) const {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(moved.dim()), 1);
  shape[static_cast<std::size_t>(axis)] = count();
  at::Tensor sum;
  for (std::int64_t k = 0; k < 4; ++k) {
    const at::Tensor part = moved.index_select(axis, corners_[k]) * weights_[k].view(shape);
    sum = sum.defined() ? sum + part : part;
  }
  return sum;
}

namespace {

// (P, P) weights of a head between patches.
Result<at::Tensor> patch_map(const attention::ScoreField& field, std::int64_t head, const at::Tensor& tokens,
                             const StopToken& stop) {
  LOCUS_TRY(Field map, field.map({attention::Quantity::kWeight, head, {}, {}}, stop));
  return at::from_blob(map.values.data(), {map.rows, map.columns}, at::kFloat)
      .index_select(0, tokens)
      .index_select(1, tokens);
}

at::Tensor rows_of_one(const at::Tensor& map) {
  return map / map.sum(1, true).clamp_min(1e-30);
}

}  // namespace

Result<double> patch_attention_change(const attention::ScoreField& plain, const attention::ScoreField& moved,
                                      const at::Tensor& tokens, const PatchPlaces& places, StopToken stop) {
  const at::NoGradGuard no_grad;
  const std::int64_t heads = plain.source().heads();
  if (moved.source().heads() != heads || moved.source().length() != plain.source().length()) {
    return bad_input("picture stability: expected " + std::to_string(heads) + " heads over " +
                     std::to_string(plain.source().length()) + " tokens, found " +
                     std::to_string(moved.source().heads()) + " over " + std::to_string(moved.source().length()));
  }
  if (places.count() < 2) {
    return kNaN;
  }
  double total = 0;
  for (std::int64_t head = 0; head < heads; ++head) {
    LOCUS_TRY(const at::Tensor before, patch_map(plain, head, tokens, stop));
    LOCUS_TRY(const at::Tensor after, patch_map(moved, head, tokens, stop));
    const at::Tensor mine =
        rows_of_one(before.index_select(0, places.patches()).index_select(1, places.patches()).to(at::kDouble));
    const at::Tensor theirs = rows_of_one(places.undo(places.undo(after, 0), 1).to(at::kDouble));
    total += (theirs - mine).abs().sum(1).mean().item<double>() / 2;
  }
  return total / static_cast<double>(heads);
}

double patch_state_change(const at::Tensor& plain, const at::Tensor& moved, const at::Tensor& tokens,
                          const PatchPlaces& places) {
  const at::NoGradGuard no_grad;
  if (places.count() < 2) {
    return kNaN;
  }
  const auto states = [&](const at::Tensor& all) { return all.to(at::kCPU, at::kFloat).index_select(0, tokens); };
  const at::Tensor before = states(plain).index_select(0, places.patches()).to(at::kDouble);
  const at::Tensor after = places.undo(states(moved), 0).to(at::kDouble);
  const double spread = (before - before.mean(0, true)).square().sum().item<double>();
  const double change = (after - before).square().sum().item<double>();
  return spread > 0 ? std::sqrt(change / spread) : change > 0 ? kNaN : 0;
}

}  // namespace locus::analysis
