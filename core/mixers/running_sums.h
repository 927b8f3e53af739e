// Sums of log decays, or of steps, over the tokens before.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <mutex>

#include "core/mixers/token_rows.h"

namespace locus::mixers {

// c_t = Σ_{s ≤ t} g_s of each of W heads or channels, in float64. Kept for every 64th token once one behind it was asked
// for. Several threads may ask.
class RunningSums {
 public:
  explicit RunningSums(TokenRows numbers) : numbers_(std::move(numbers)) {}

  // Sums of these tokens, in the shape of TokenRows::of().
  at::Tensor of(Range tokens, Range some) const;
  const TokenRows& numbers() const { return numbers_; }
  // The sums of the first `count` tokens' numbers, then those of `later`; what is known of the first ones stays so.
  std::shared_ptr<const RunningSums> continued(std::int64_t count, const RunningSums& later) const;

 private:
  // (n, W), n > `chunk`: sums before the tokens 0, 64, 128 ….
  at::Tensor starts(std::int64_t chunk) const;

  TokenRows numbers_;
  mutable std::mutex mutex_;
  mutable at::Tensor starts_;
};

}  // namespace locus::mixers
