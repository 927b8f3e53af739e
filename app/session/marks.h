// Marks: what a person leaves on maps: cells whose row and column stay as profiles, and measures between two cells. The
// canvas draws them over the figure; a figure on paper has them where that is asked for.
#pragma once

#include <cstddef>
#include <vector>

#include "renderers/figure/figure.h"

namespace locus::session {

// A cell of a map as its axes count: of a map of tokens, the key and the query.
struct MarkedCell {
  double x = 0;
  double y = 0;

  friend bool operator==(const MarkedCell&, const MarkedCell&) = default;
};

struct Measure {
  std::size_t panel = 0;
  MarkedCell from;
  MarkedCell to;

  friend bool operator==(const Measure&, const Measure&) = default;
};

struct Marks {
  std::vector<MarkedCell> profiles;  // of every panel
  std::vector<Measure> measures;

  bool empty() const { return profiles.empty() && measures.empty(); }
  friend bool operator==(const Marks&, const Marks&) = default;
};

// At most so many of each: the oldest go.
inline constexpr std::size_t kMaxProfiles = 4;
inline constexpr std::size_t kMaxMeasures = 8;

// A profile of that cell, or none where there is one.
Marks with_profile(Marks marks, const MarkedCell& cell);
Marks with_measure(Marks marks, const Measure& measure);

// The figure with its marks: a line for each measure, named in the legend by what it says, and below the maps a panel
// for each, with the rows of the marked cells as curves.
figure::Figure with_marks(figure::Figure figure, const Marks& marks);

}  // namespace locus::session
