// The difference of two means over the same parts, and how sure it is: what two curves of the same text are held
// against each other by. Parts are compared pair by pair, so that what is hard for both cancels.
#pragma once

#include <vector>

namespace locus::analysis {

// One part of what is measured: a sum, and the count that it is divided by (nats of a stretch of text, its bytes).
struct Part {
  double sum = 0;
  double count = 0;
};

// With its 95 % interval.
struct Difference {
  double value = 0;
  double low = 0;
  double high = 0;
};

// Σ first.sum / Σ first.count − Σ second.sum / Σ second.count. The interval is that of K parts drawn independently, to
// first order: ± t_{K−1}·√(K/(K−1)·Σ z²), z_k = (sum_k − ratio·count_k)/Σ count of the first less that of the second.
// With parts of equal counts it is the paired t interval. NaN for lists of different or no length, and where a part is
// NaN; a NaN interval for fewer than two parts.
Difference paired_difference(const std::vector<Part>& first, const std::vector<Part>& second);

}  // namespace locus::analysis
