// How a group of numbers is quantised to integers of one step.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace locus::products {

// What the numbers are multiplied with to become integers, and their step back. Both 0: all are 0.
struct GroupStep {
  float step = 0;
  float inverse = 0;
};

// The step of integers −largest … largest. `bits`: those of the group's largest |x|, which are in the order of the
// numbers; what is not finite is above. Returns the step NaN then, and 0 where it would be denormal.
inline GroupStep group_step(std::uint32_t bits, float largest) {
  constexpr std::uint32_t kInfinity = 0x7F800000;
  if (bits >= kInfinity) {
    return {std::numeric_limits<float>::quiet_NaN(), 0};
  }
  const auto size = std::bit_cast<float>(bits);
  const float step = size / largest;
  return step >= std::numeric_limits<float>::min() ? GroupStep{step, largest / size} : GroupStep{};
}

}  // namespace locus::products
