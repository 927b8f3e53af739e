// Correlations of two complex sequences at every lag at once, by fast Fourier transforms in float64:
//   c(Δ) = Σ_i Re( a_i · conj(b_{i−Δ}) ),  −lags ≤ Δ ≤ lags
// exact up to rounding (1e-13 of Σ|a||b| or so), in O(n log n) for n entries instead of O(n²).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace locus::analysis {

// A sequence of complex numbers as two of real ones; shorter than the transform, the rest is 0.
struct ComplexSpan {
  std::span<const double> real;
  std::span<const double> imaginary;
};

// Sums correlations of several couples of sequences. One thread at a time; copies share their tables.
class Correlator {
 public:
  // For sequences of at most `length` entries, for lags up to `lags` < length.
  Correlator(std::int64_t length, std::int64_t lags);

  void begin();  // forgets what was added
  void add(const ComplexSpan& a, const ComplexSpan& b);
  void finish();  // from here on at() holds
  // Σ over what was added of c(lag). Precondition: finish(), |lag| ≤ lags.
  double at(std::int64_t lag) const {
    return sum_real_[static_cast<std::size_t>(lag < 0 ? lag + static_cast<std::int64_t>(size_) : lag)];
  }

 private:
  // e^{−2πιk/2h} for k < h, at [h − 1 + k] for every power of two h below the size.
  struct Turns {
    std::vector<double> cos, sin;
  };
  // In place: natural order to bit-reversed, and back without the division by the size.
  void forward(std::vector<double>& real, std::vector<double>& imaginary) const;
  void backward(std::vector<double>& real, std::vector<double>& imaginary) const;

  std::size_t size_ = 1;
  std::shared_ptr<const Turns> turns_;
  std::vector<double> sum_real_, sum_imaginary_;
  std::vector<double> a_real_, a_imaginary_, b_real_, b_imaginary_;
};

}  // namespace locus::analysis
