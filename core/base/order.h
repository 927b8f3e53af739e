// How far numbers are from standing in order.
#pragma once

#include <span>

namespace locus {

// The share of the n(n − 1)/2 pairs i < j with x_i > x_j: 0 in order, 1 in the opposite order; ties count as in order.
// 0 for fewer than two numbers. Takes O(n log n).
double reversed_pairs(std::span<const double> numbers);

}  // namespace locus
