#include "tests/bench/growth.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/numbers.h"

namespace locus::bench {

namespace {

using Vector = std::array<double, 3>;

// Whether each term takes part.
using Terms = std::array<bool, 3>;

Vector terms_at(double length) {
  const double thousands = length / 1000;
  return {1, thousands, thousands * thousands};
}

// Solves the normal equations by elimination; terms that take no part are 0.
Vector solve(std::array<Vector, 3> system, Vector right, const Terms& used) {
  for (std::size_t n = 0; n < 3; ++n) {
    if (!used[n]) {
      system[n] = {};
      right[n] = 0;
      for (Vector& row : system) {
        row[n] = 0;
      }
      system[n][n] = 1;
    }
  }
  for (std::size_t n = 0; n < 3; ++n) {
    std::size_t pivot = n;
    for (std::size_t row = n + 1; row < 3; ++row) {
      pivot = std::abs(system[row][n]) > std::abs(system[pivot][n]) ? row : pivot;
    }
    std::swap(system[n], system[pivot]);
    std::swap(right[n], right[pivot]);
    for (std::size_t row = 0; row < 3; ++row) {
      const double factor = row == n || system[n][n] == 0 ? 0 : system[row][n] / system[n][n];
      for (std::size_t column = n; column < 3; ++column) {
        system[row][column] -= factor * system[n][column];
      }
      right[row] -= factor * right[n];
    }
  }
  Vector solution{};
  for (std::size_t n = 0; n < 3; ++n) {
    solution[n] = system[n][n] == 0 ? 0 : right[n] / system[n][n];
  }
  return solution;
}

}  // namespace

Growth fit_growth(const std::vector<double>& lengths, const std::vector<double>& times_ms) {
  std::array<Vector, 3> system{};
  Vector right{};
  for (std::size_t n = 0; n < lengths.size(); ++n) {
    const Vector terms = terms_at(lengths[n]);
    for (std::size_t row = 0; row < 3; ++row) {
      for (std::size_t column = 0; column < 3; ++column) {
        system[row][column] += terms[row] * terms[column] / (times_ms[n] * times_ms[n]);
      }
      right[row] += terms[row] / times_ms[n];
    }
  }
  // The best of all subsets of terms whose coefficients are not negative.
  Growth best;
  double least = std::numeric_limits<double>::infinity();
  for (unsigned subset = 1; subset < 8; ++subset) {
    const Terms used{(subset & 1U) != 0, (subset & 2U) != 0, (subset & 4U) != 0};
    const Vector found = solve(system, right, used);
    double squares = 0;
    double worst = 0;
    for (std::size_t n = 0; n < lengths.size(); ++n) {
      const Vector terms = terms_at(lengths[n]);
      const double fitted = found[0] * terms[0] + found[1] * terms[1] + found[2] * terms[2];
      const double difference = fitted / times_ms[n] - 1;
      squares += difference * difference;
      worst = std::max(worst, std::abs(difference));
    }
    if (*std::min_element(found.begin(), found.end()) >= 0 && squares < least) {
      least = squares;
      best = {found, worst};
    }
  }
  return best;
}

std::string to_text(const Growth& growth) {
  constexpr std::array<const char*, 3> kUnits{"", "·(T/1000)", "·(T/1000)²"};
  std::string text;
  for (std::size_t n = 0; n < 3; ++n) {
    if (growth.coefficients[n] > 0) {
      text += (text.empty() ? "" : " + ") + general_text(growth.coefficients[n], 3) + kUnits[n];
    }
  }
  return (text.empty() ? "0" : text) + " ms, within " + std::to_string(std::lround(std::ceil(100 * growth.worst))) +
         " %";
}

}  // namespace locus::bench
