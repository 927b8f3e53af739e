// Tolerances from arithmetic: how far apart the same float32 numbers may lie where other kernels compute them, or the
// same ones in another order. Nothing here knows which CPU the test runs on.
#pragma once

#include <cmath>

namespace locus::test {

// The distance of neighbouring float32 numbers of this size: one result is right within half of it, two results of the
// same number lie at most one apart.
inline double ulp(double size) {
  constexpr int kDigits = 23;
  return size > 0 ? std::ldexp(1.0, std::ilogb(size) - kDigits) : 0;
}

// Two sums of the same `terms` products, in any order, whose partial sums stay below `size`: each of 2·terms additions
// is off by at most half an ulp of it, and independently of the others, so that they add up like √; four standard
// deviations are 4·√(2·terms)·ulp/√12 < 2·√terms·ulp.
inline double sums_differ(double terms, double size) {
  return 2 * std::sqrt(terms) * ulp(size);
}

// Outputs of a transformer of `depth` layers, relative to 1 + |output|. In each layer
//   a score up to `score` is a sum, rounded to its ulp: its weight e^score moves by as much, relatively, and the row's
//     sum with it, so a mean of values by as much of their spread (about 1 after a norm);
//   products have up to `terms` terms of normalised numbers, whose partial sums stay below 2;
// and what one layer adds the next ones hand on.
inline double outputs_differ(double depth, double score, double terms) {
  return depth * (2 * ulp(score) + sums_differ(terms, 1));
}

// The same where a change δ of a quantity of size 1 that scores are made of, such as a phase, moves them by
// `steepness`·δ times a sine: its own rounding, `rounding`, moves a layer's output by steepness·rounding; and what
// earlier layers add, ε of their states and about as much of such a quantity, comes out as ε of the states themselves
// and steepness·ε/√2 of the attention (the root mean square of a sine is 1/√2), so that each layer hands on 1 +
// steepness/√2 times what it takes.
inline double steep_outputs_differ(double depth, double score, double terms, double steepness, double rounding) {
  const double own = outputs_differ(1, score, terms) + steepness * rounding;
  double all = 0;
  for (int layer = 0; layer < depth; ++layer) {
    all = all * (1 + steepness / std::sqrt(2.0)) + own;
  }
  return all;
}

}  // namespace locus::test
