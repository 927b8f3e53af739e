// Limits of a painted figure, which whoever chooses sizes checks before a figure is drawn.
#pragma once

namespace locus::paper {

struct Limits {
  double low;
  double high;
  constexpr bool hold(double value) const { return value >= low && value <= high; }  // false for NaN
};

inline constexpr Limits kWidthMm{10, 2000};
inline constexpr Limits kHeightMm{10, 2000};
inline constexpr Limits kDpi{36, 2400};  // of PNG
inline constexpr Limits kTextPt{3, 72};  // of labels

}  // namespace locus::paper
