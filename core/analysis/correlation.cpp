#include "core/analysis/correlation.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/analysis/kernel.h"
#include "core/base/numbers.h"

namespace locus::analysis {

namespace {

void fill(std::span<const double> from, std::vector<double>& to) {
  const auto end = std::copy(from.begin(), from.end(), to.begin());
  std::fill(end, to.end(), 0.0);
}

}  // namespace

Correlator::Correlator(std::int64_t length, std::int64_t lags) {
  while (static_cast<std::int64_t>(size_) < length + lags) {
    size_ *= 2;
  }
  auto turns = std::make_shared<Turns>();
  for (std::size_t half = 1; half < size_; half *= 2) {
    for (std::size_t k = 0; k < half; ++k) {
      const double angle = -std::numbers::pi * static_cast<double>(k) / static_cast<double>(half);
      turns->cos.push_back(std::cos(angle));
      turns->sin.push_back(std::sin(angle));
    }
  }
  turns_ = std::move(turns);
  for (std::vector<double>* each : {&sum_real_, &sum_imaginary_, &a_real_, &a_imaginary_, &b_real_, &b_imaginary_}) {
    each->assign(size_, 0.0);
  }
}

void Correlator::begin() {
  std::fill(sum_real_.begin(), sum_real_.end(), 0.0);
  std::fill(sum_imaginary_.begin(), sum_imaginary_.end(), 0.0);
}

void Correlator::add(const ComplexSpan& a, const ComplexSpan& b) {
  fill(a.real, a_real_);
  fill(a.imaginary, a_imaginary_);
  fill(b.real, b_real_);
  fill(b.imaginary, b_imaginary_);
  forward(a_real_, a_imaginary_);
  forward(b_real_, b_imaginary_);
  for (std::size_t n = 0; n < size_; ++n) {  // a·conj(b)
    sum_real_[n] += a_real_[n] * b_real_[n] + a_imaginary_[n] * b_imaginary_[n];
    sum_imaginary_[n] += a_imaginary_[n] * b_real_[n] - a_real_[n] * b_imaginary_[n];
  }
}

void Correlator::finish() {
  backward(sum_real_, sum_imaginary_);
  const double share = 1.0 / static_cast<double>(size_);
  for (double& each : sum_real_) {
    each *= share;
  }
}

void Correlator::forward(std::vector<double>& real, std::vector<double>& imaginary) const {
  for (std::size_t half = size_ / 2; half > 0; half /= 2) {
    const double* const cos = turns_->cos.data() + (half - 1);
    const double* const sin = turns_->sin.data() + (half - 1);
    for (std::size_t block = 0; block < size_; block += 2 * half) {
      double* const r0 = real.data() + block;
      double* const i0 = imaginary.data() + block;
      double* const r1 = r0 + half;
      double* const i1 = i0 + half;
      for (std::size_t k = 0; k < half; ++k) {
        const double r = r0[k] - r1[k];
        const double i = i0[k] - i1[k];
        r0[k] += r1[k];
        i0[k] += i1[k];
        r1[k] = r * cos[k] - i * sin[k];
        i1[k] = i * cos[k] + r * sin[k];
      }
    }
  }
}

void Correlator::backward(std::vector<double>& real, std::vector<double>& imaginary) const {
  for (std::size_t half = 1; half < size_; half *= 2) {
    const double* const cos = turns_->cos.data() + (half - 1);
    const double* const sin = turns_->sin.data() + (half - 1);
    for (std::size_t block = 0; block < size_; block += 2 * half) {
      double* const r0 = real.data() + block;
      double* const i0 = imaginary.data() + block;
      double* const r1 = r0 + half;
      double* const i1 = i0 + half;
      for (std::size_t k = 0; k < half; ++k) {
        const double r = r1[k] * cos[k] + i1[k] * sin[k];
        const double i = i1[k] * cos[k] - r1[k] * sin[k];
        r1[k] = r0[k] - r;
        i1[k] = i0[k] - i;
        r0[k] += r;
        i0[k] += i;
      }
    }
  }
}

double explained_by_kernel(const std::vector<double>& kernel, const std::vector<double>& measured,
                           const std::vector<double>& count, double& shift) {
  const std::size_t size = std::min({kernel.size(), measured.size(), count.size()});
  const auto sum = [&](const auto& of) {
    double total = 0;
    for (std::size_t n = 0; n < size; ++n) {
      total += count[n] > 0 && std::isfinite(measured[n]) && std::isfinite(kernel[n]) ? count[n] * of(n) : 0.0;
    }
    return total;
  };
  const double cells = sum([](std::size_t) { return 1.0; });
  const double mean = sum([&](std::size_t n) { return measured[n]; }) / cells;
  shift = sum([&](std::size_t n) { return measured[n] - kernel[n]; }) / cells;
  const double around = sum([&](std::size_t n) { return (measured[n] - mean) * (measured[n] - mean); });
  const double missed = sum([&](std::size_t n) {
    const double miss = measured[n] - kernel[n] - shift;
    return miss * miss;
  });
  return around > 0 ? 1 - missed / around : kNaN;
}

}  // namespace locus::analysis
