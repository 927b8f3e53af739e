// Sums and products of sizes that a file names: nothing where the result does not fit 63 bits. Every size that is read
// from a file and calculated with goes through these two, before anything is allocated or indexed by it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>

namespace locus {

// a + b + …; 0 of nothing.
constexpr std::optional<std::int64_t> checked_sum(std::initializer_list<std::int64_t> terms) {
  std::int64_t total = 0;
  for (const std::int64_t term : terms) {
    if (__builtin_add_overflow(total, term, &total)) {
      return std::nullopt;
    }
  }
  return total;
}

// a · b · …; 1 of nothing. A product that overflows on the way is none, even where a later factor is 0.
constexpr std::optional<std::int64_t> checked_product(std::initializer_list<std::int64_t> factors) {
  std::int64_t total = 1;
  for (const std::int64_t factor : factors) {
    if (__builtin_mul_overflow(total, factor, &total)) {
      return std::nullopt;
    }
  }
  return total;
}

}  // namespace locus
