// Random: the generator of every task and batch. A stream depends only on its keys, so batch n of a run is the same
// whatever was drawn before, and a resumed run equals one that never stopped. Unlike the distributions of the standard
// library, its numbers are the same on every platform.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

namespace locus::training {

class Random {
 public:
  // One stream for each list of keys (seed, step, …).
  explicit Random(std::initializer_list<std::uint64_t> keys) {
    for (const std::uint64_t key : keys) {
      state_ = mixed(state_ ^ mixed(key + kStep));
    }
  }

  std::uint64_t next() {
    state_ += kStep;
    return mixed(state_);
  }
  // Uniform in [0, bound), bound ≥ 1.
  std::int64_t below(std::int64_t bound) {
    // Rejection sampling; otherwise small values would be more frequent.
    const auto range = static_cast<std::uint64_t>(bound);
    const std::uint64_t limit = ~std::uint64_t{0} - ~std::uint64_t{0} % range;
    std::uint64_t value = next();
    while (value >= limit) {
      value = next();
    }
    return static_cast<std::int64_t>(value % range);
  }
  // Uniform in [low, high].
  std::int64_t between(std::int64_t low, std::int64_t high) { return low + below(high - low + 1); }
  // Uniform in [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  // An index with probability weights[index] / Σ weights.
  std::size_t weighted(std::span<const double> weights) {
    double total = 0;
    for (const double weight : weights) {
      total += weight;
    }
    double left = uniform() * total;
    for (std::size_t n = 0; n + 1 < weights.size(); ++n) {
      left -= weights[n];
      if (left < 0) {
        return n;
      }
    }
    return weights.size() - 1;
  }

 private:
  static constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15U;  // SplitMix64 (Steele, Lea, Flood 2014)
  static constexpr std::uint64_t mixed(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
  }

  std::uint64_t state_ = 0;
};

}  // namespace locus::training
