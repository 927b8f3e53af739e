// Correlations by transforms against sums over all couples.
#include "core/analysis/correlation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace locus::test {
namespace {

using analysis::Correlator;

struct Sequence {
  std::vector<double> real, imaginary;
  analysis::ComplexSpan span() const { return {real, imaginary}; }
};

Sequence random_sequence(std::int64_t length, std::mt19937_64& random) {
  std::normal_distribution<double> draw;
  Sequence sequence;
  for (std::int64_t n = 0; n < length; ++n) {
    sequence.real.push_back(draw(random));
    sequence.imaginary.push_back(draw(random));
  }
  return sequence;
}

double direct(const Sequence& a, const Sequence& b, std::int64_t lag) {
  double sum = 0;
  const auto length = static_cast<std::int64_t>(a.real.size());
  for (std::int64_t i = 0; i < length; ++i) {
    const std::int64_t j = i - lag;
    if (j >= 0 && j < static_cast<std::int64_t>(b.real.size())) {
      const auto p = static_cast<std::size_t>(i);
      const auto q = static_cast<std::size_t>(j);
      sum += a.real[p] * b.real[q] + a.imaginary[p] * b.imaginary[q];
    }
  }
  return sum;
}

TEST(Correlation, everyLagIsTheSumOverAllCouples) {
  std::mt19937_64 random(3);
  for (const std::int64_t length : {1, 2, 3, 7, 8, 33, 100}) {
    for (const std::int64_t lags : {std::int64_t{0}, length / 2, length - 1}) {
      const Sequence a = random_sequence(length, random);
      const Sequence b = random_sequence(length, random);
      Correlator correlator(length, lags);
      correlator.begin();
      correlator.add(a.span(), b.span());
      correlator.finish();
      for (std::int64_t lag = -lags; lag <= lags; ++lag) {
        EXPECT_NEAR(correlator.at(lag), direct(a, b, lag), 1e-11) << length << " " << lag;
      }
    }
  }
}

TEST(Correlation, couplesOfDifferentLengthsAddUpAndAreForgotten) {
  std::mt19937_64 random(4);
  const Sequence a = random_sequence(20, random);
  const Sequence b = random_sequence(20, random);
  const Sequence c = random_sequence(11, random);
  const Sequence d = random_sequence(11, random);
  Correlator correlator(20, 19);
  for (int round = 0; round < 2; ++round) {
    correlator.begin();
    correlator.add(a.span(), b.span());
    correlator.add(c.span(), d.span());
    correlator.finish();
    for (const std::int64_t lag : {-19, -3, 0, 5, 19}) {
      EXPECT_NEAR(correlator.at(lag), direct(a, b, lag) + direct(c, d, lag), 1e-11) << lag;
    }
  }
}

TEST(Correlation, aLongWaveKeepsItsPrecision) {
  constexpr std::int64_t kLength = 1 << 17;
  Sequence wave;
  for (std::int64_t n = 0; n < kLength; ++n) {
    wave.real.push_back(std::cos(0.01 * static_cast<double>(n)));
    wave.imaginary.push_back(std::sin(0.01 * static_cast<double>(n)));
  }
  Correlator correlator(kLength, kLength - 1);
  correlator.begin();
  correlator.add(wave.span(), wave.span());
  correlator.finish();
  for (const std::int64_t lag : {std::int64_t{0}, std::int64_t{314}, std::int64_t{70000}, kLength - 1}) {
    const auto cells = static_cast<double>(kLength - lag);
    EXPECT_NEAR(correlator.at(lag) / cells, std::cos(0.01 * static_cast<double>(lag)), 1e-8) << lag;
  }
}

}  // namespace
}  // namespace locus::test
