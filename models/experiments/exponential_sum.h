// Σ exp of a row of logits.
#pragma once

#include <cstdint>

namespace locus::models {

// log Σ exp(x) = log(sum) + largest. Of a row with a NaN, both are NaN; where the largest is infinite, `sum` is NaN.
struct ExponentialSum {
  float largest = 0;
  double sum = 0;  // Σ exp(x − largest)
};

// Every 4,096 numbers are summed in float32, and their sums in float64. Precondition: count > 0.
ExponentialSum exponential_sum(const float* row, std::int64_t count);

}  // namespace locus::models
