// How the time of a run grows with its length.
#pragma once

#include <array>
#include <string>
#include <vector>

namespace locus::bench {

// a + b·(T/1000) + c·(T/1000)², in milliseconds.
struct Growth {
  std::array<double, 3> coefficients{};
  double worst = 0;  // the largest relative difference from a time that was measured
};

// Least squares of relative differences, or the longest run would decide alone, with no coefficient below 0: nothing
// takes less time the longer it is, and three terms that all grow can else be traded for each other by a little noise.
// One time a length, lengths ascending.
Growth fit_growth(const std::vector<double>& lengths, const std::vector<double>& times_ms);

// "21 + 590·(T/1000) + 33·(T/1000)² ms, within 4 %"; terms that are 0 are left out.
std::string to_text(const Growth& growth);

}  // namespace locus::bench
