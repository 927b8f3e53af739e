#include "core/analysis/expected_range.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace locus::analysis {

double t_quantile(std::int64_t freedom) {
  constexpr std::array<double, 10> kFew{12.7062, 4.3027, 3.1824, 2.7764, 2.5706,
                                        2.4469,  2.3646, 2.3060, 2.2622, 2.2281};
  const std::int64_t last = static_cast<std::int64_t>(kFew.size());
  if (freedom <= last) {
    return kFew[static_cast<std::size_t>(std::max<std::int64_t>(freedom, 1)) - 1];
  }
  constexpr double kNormal = 1.959964;  // and the first terms of the expansion around it
  const double v = static_cast<double>(freedom);
  const double z3 = std::pow(kNormal, 3);
  const double z5 = std::pow(kNormal, 5);
  const double z7 = std::pow(kNormal, 7);
  return kNormal + (z3 + kNormal) / (4 * v) + (5 * z5 + 16 * z3 + 3 * kNormal) / (96 * v * v) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * kNormal) / (384 * v * v * v);
}

std::pair<Field, Field> expected_range(const std::vector<Field>& samples) {
  std::pair<Field, Field> range{samples.front(), samples.front()};
  const double count = static_cast<double>(samples.size());
  const double reach = t_quantile(static_cast<std::int64_t>(samples.size()) - 1) * std::sqrt(1 + 1 / count);
  for (std::size_t cell = 0; cell < samples.front().values.size(); ++cell) {
    double mean = 0;
    for (const Field& sample : samples) {
      mean += static_cast<double>(sample.values[cell]) / count;
    }
    double squares = 0;
    for (const Field& sample : samples) {
      squares += std::pow(static_cast<double>(sample.values[cell]) - mean, 2);
    }
    const double deviation = std::sqrt(squares / (count - 1));
    range.first.values[cell] = static_cast<float>(mean - reach * deviation);
    range.second.values[cell] = static_cast<float>(mean + reach * deviation);
  }
  return range;
}

}  // namespace locus::analysis
