// The heads of an atlas as points: which statistics, and what is drawn of each head.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/views/shared/measured/atlas_values.h"
#include "app/views/shared/plots/series.h"
#include "renderers/figure/figure.h"

namespace locus::views {

// (L·H) each; `size` without entries where none is asked for.
struct AtlasPoints {
  std::vector<HeadInterval> x, y, size;
};
inline std::size_t cached_bytes(const AtlasPoints& points) {
  return sizeof points + sizeof(HeadInterval) * (points.x.size() + points.y.size() + points.size.size());
}

// States which statistics do not tell the head from what it does with shuffled tokens: the left half of its disc is
// empty for that of the horizontal axis, the lower half for that of the vertical one, and both are for both.
figure::Points::Hollow hollow_of(const HeadInterval& x, const HeadInterval& y);

// "3 of 12 heads by x (left half empty), 9 of 12 by y (lower half empty)": of each statistic that has a null, how many
// heads are as with shuffled tokens; empty where none has.
std::string like_null_text(const AtlasPoints& heads, const std::string& x, const std::string& y, bool marks);

struct PointLook {
  bool intervals = true;   // as crosses
  figure::Interval sizes;  // of the statistic that is the size, over all columns
  std::optional<std::vector<std::size_t>>
      chosen;  // heads with names, beside which the others are pale; none: all alike
};
figure::Points points_of(const AtlasPoints& heads, const models::AtlasInfo& info, const PointLook& look);

// The head whose point is nearest to a place, measured in shares of the axes; −1 where none is within 3 %.
std::int64_t nearest_head(const AtlasPoints& heads, const figure::Interval& x, const figure::Interval& y, double at_x,
                          double at_y);

// A place of the panel, by its two statistics.
struct PointPlace {
  double x = 0;
  double y = 0;
};
// The heads within a closed loop, which may cross itself, in ascending order.
std::vector<std::size_t> heads_within(const AtlasPoints& heads, const std::vector<PointPlace>& loop);

// "largest induction score: head 1.1, 0.85 [0.83, 0.87], of shuffled tokens 0.050; as with shuffled tokens: 3 of 12
// heads by weight on the previous token, 9 of 12 by induction score". A head that is as with shuffled tokens is not
// named. Empty without numbers.
std::string strongest_line(const AtlasPoints& heads, std::int64_t count, const std::string& x, const std::string& y);

}  // namespace locus::views
