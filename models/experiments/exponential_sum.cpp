#include "models/experiments/exponential_sum.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/attention/lane_kernels.h"
#include "core/base/numbers.h"

namespace locus::models {

ExponentialSum exponential_sum(const float* row, std::int64_t count) {
  using attention::kLanes;
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  constexpr std::int64_t kColumns = 64;
  const attention::LaneKernels& kernels = attention::lane_kernels();
  alignas(64) std::array<float, kLanes> lanes;
  lanes.fill(kNone);
  const std::int64_t whole = count / kLanes * kLanes;
  kernels.maximum(row, whole / kLanes, lanes.data());
  const float largest = std::max(*std::max_element(lanes.begin(), lanes.end()),
                                 whole < count ? *std::max_element(row + whole, row + count) : kNone);
  const auto none = static_cast<float>(kNaN);
  if (!std::isfinite(largest)) {
    const bool numbers = std::none_of(row, row + count, [](float x) { return std::isnan(x); });
    return {numbers ? largest : none, kNaN};
  }
  alignas(64) std::array<float, kLanes> shift;
  shift.fill(largest);
  alignas(64) std::array<float, kColumns * kLanes> part;
  double sum = 0;
  for (std::int64_t begin = 0; begin < count; begin += kColumns * kLanes) {
    const std::int64_t own = std::min(kColumns * kLanes, count - begin);
    const std::int64_t columns = (own + kLanes - 1) / kLanes;
    std::copy_n(row + begin, own, part.begin());
    std::fill_n(part.begin() + own, columns * kLanes - own, kNone);
    kernels.exponentiate(part.data(), columns, shift.data());
    lanes.fill(0);
    kernels.sum(part.data(), columns, lanes.data());
    for (const float lane : lanes) {
      sum += static_cast<double>(lane);
    }
  }
  return {std::isnan(sum) ? none : largest, sum};
}

}  // namespace locus::models
