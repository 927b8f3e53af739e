// Helpers that the sources of FusedScores share.
#pragma once

#include <array>
#include <limits>
#include <numeric>
#include <vector>

#include "core/attention/fused_scores.h"

namespace locus::attention {

using Lanes = std::array<float, kLanes>;

// Exponentials of values that are logarithms already.
inline constexpr Lanes kNoShift{};

inline ChunkWanted wanted_for(Quantity quantity) {
  ChunkWanted wanted;
  wanted.logits = quantity == Quantity::kWeight || quantity == Quantity::kLogit || quantity == Quantity::kContribution;
  wanted.content = quantity == Quantity::kContent || quantity == Quantity::kContribution;
  wanted.gates = quantity == Quantity::kGate;
  wanted.positions = quantity == Quantity::kPosition;
  return wanted;
}

inline std::vector<std::int64_t> tokens_of(Range rows) {
  std::vector<std::int64_t> tokens(static_cast<std::size_t>(rows.size()));
  std::iota(tokens.begin(), tokens.end(), rows.begin);
  return tokens;
}

// The values of a quantity where a chunk of `scores` left them; weights as logarithms, given the rows' log Σ exp.
inline float* values_of(RowScores& scores, Quantity quantity, const float* sums, std::int64_t columns) {
  switch (quantity) {
    case Quantity::kContent:
      return scores.content();
    case Quantity::kGate:
      return scores.gates();
    case Quantity::kPosition:
      return scores.positions();
    case Quantity::kContribution:
      lane_kernels().subtract(scores.logits(), scores.content(), columns);
      break;
    case Quantity::kWeight:
      lane_kernels().add_row(scores.logits(), columns, sums, -1.0F);
      break;
    case Quantity::kLogit:
    case Quantity::kC2p:
    case Quantity::kP2c:
    case Quantity::kImplied:
    case Quantity::kDeviation:
    case Quantity::kCarried:
      break;
  }
  return scores.logits();
}

// Running sums or maxima of a few pixel rows.
class PixelRows {
 public:
  void begin(std::int64_t pixels, bool mean) {
    values_.assign(static_cast<std::size_t>(pixels), mean ? 0.0 : -std::numeric_limits<double>::infinity());
    counts_.assign(static_cast<std::size_t>(pixels), 0);
    mean_ = mean;
  }
  void take(std::int64_t pixel, float value, std::int64_t count) {
    const auto n = static_cast<std::size_t>(pixel);
    const auto exact = static_cast<double>(value);
    values_[n] = mean_ ? values_[n] + exact : (exact > values_[n] ? exact : values_[n]);
    counts_[n] += count;
  }
  // Calls write(pixel, value) for pixels with a visible cell.
  template <class Write>
  void finish(const Write& write) const {
    for (std::size_t n = 0; n < values_.size(); ++n) {
      if (counts_[n] > 0) {
        write(static_cast<std::int64_t>(n), mean_ ? values_[n] / static_cast<double>(counts_[n]) : values_[n]);
      }
    }
  }

 private:
  std::vector<double> values_;
  std::vector<std::int64_t> counts_;
  bool mean_ = true;
};

// Buffers of one thread.
struct FusedScores::Scratch {
  RowScores scores;
  alignas(64) Lanes sums{};
  LaneBuffer mean;  // kMeanHead: columns × 64
  LaneBuffer few;   // sampled columns × 64
  PixelRows pixels;
};

}  // namespace locus::attention
