// The 95 % prediction range of one more sample, which an effect is compared with.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/field.h"

namespace locus::analysis {

// t that 97.5 % of Student's distribution of ν ≥ 1 degrees of freedom lie below, within 1e-3.
double t_quantile(std::int64_t freedom);

// The range, cell by cell, that one more sample lies in with 95 % if samples are normal: m ± t_{n−1}·s·√(1 + 1/n) of
// their mean m and standard deviation s. At least two samples of one shape: lowest and highest values.
std::pair<Field, Field> expected_range(const std::vector<Field>& samples);

}  // namespace locus::analysis
