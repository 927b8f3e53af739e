#include "app/views/heads/atlas_points.h"

#include <algorithm>
#include <cmath>

namespace locus::views {

namespace {

constexpr double kSmallest = 5;  // diameters in px
constexpr double kLargest = 20;
constexpr double kAlike = 11;  // where no statistic chooses them; an empty half is seen

float size_at(const HeadInterval& value, const figure::Interval& range) {
  const double share = range.high > range.low ? (value.mean - range.low) / (range.high - range.low) : 0.5;
  return static_cast<float>(std::isnan(share) ? kSmallest : kSmallest + (kLargest - kSmallest) * share);
}

}  // namespace

figure::Points::Hollow hollow_of(const HeadInterval& x, const HeadInterval& y) {
  using figure::Points;
  const bool both = x.like_null() && y.like_null();
  return both            ? Points::kRing
         : x.like_null() ? Points::kLeftEmpty
         : y.like_null() ? Points::kLowerEmpty
                         : Points::kDisc;
}

std::string like_null_text(const AtlasPoints& heads, const std::string& x, const std::string& y, bool marks) {
  std::string text;
  const auto add = [&](const std::vector<HeadInterval>& list, const std::string& name, const char* mark) {
    if (const auto compared = std::ranges::count_if(list, &HeadInterval::has_null); compared > 0) {
      text += (text.empty() ? "" : ", ") + std::to_string(std::ranges::count_if(list, &HeadInterval::like_null)) +
              " of " + std::to_string(compared) + (text.empty() ? " heads by " : " by ") + meaning_of(name) +
              (marks ? mark : "");
    }
  };
  add(heads.x, x, " (left half empty)");
  if (x != y) {
    add(heads.y, y, " (lower half empty)");
  }
  return text;
}

figure::Points points_of(const AtlasPoints& heads, const models::AtlasInfo& info, const PointLook& look) {
  figure::Points points;
  points.x = numbers_of(heads.x, &HeadInterval::mean);
  points.y = numbers_of(heads.y, &HeadInterval::mean);
  if (look.intervals) {
    points.x_low = numbers_of(heads.x, &HeadInterval::low);
    points.x_high = numbers_of(heads.x, &HeadInterval::high);
    points.y_low = numbers_of(heads.y, &HeadInterval::low);
    points.y_high = numbers_of(heads.y, &HeadInterval::high);
  }
  points.scale.colormap = "viridis";
  points.scale.whole = true;
  points.scale.high = static_cast<float>(std::max<std::int64_t>(info.layers - 1, 1));
  const std::size_t count = heads.x.size();
  for (std::size_t n = 0; n < count; ++n) {
    const std::int64_t layer = static_cast<std::int64_t>(n) / info.heads;
    points.values.push_back(static_cast<float>(layer));
    points.hollow.push_back(hollow_of(heads.x[n], heads.y[n]));
    points.sizes_px.push_back(n < heads.size.size() ? size_at(heads.size[n], look.sizes) : static_cast<float>(kAlike));
  }
  if (look.chosen) {
    points.faint.assign(count, 1);
    points.names.resize(count);
    for (const std::size_t n : *look.chosen) {
      points.faint[n] = 0;
      points.names[n] = head_name_at(n, info.heads);
    }
  }
  return points;
}

std::int64_t nearest_head(const AtlasPoints& heads, const figure::Interval& x, const figure::Interval& y, double at_x,
                          double at_y) {
  double best = 0.03;
  std::int64_t found = -1;
  for (std::size_t n = 0; n < heads.x.size(); ++n) {
    const double apart =
        std::hypot((heads.x[n].mean - at_x) / (x.high - x.low), (heads.y[n].mean - at_y) / (y.high - y.low));
    if (apart < best) {
      best = apart;
      found = static_cast<std::int64_t>(n);
    }
  }
  return found;
}

namespace {

// How often the loop goes around a place; 0: it is outside.
int turns_around(const std::vector<PointPlace>& loop, double x, double y) {
  int turns = 0;
  for (std::size_t n = 0; n < loop.size(); ++n) {
    const PointPlace& from = loop[n];
    const PointPlace& to = loop[(n + 1) % loop.size()];
    // On which side of the line the place lies.
    const double side = (to.x - from.x) * (y - from.y) - (x - from.x) * (to.y - from.y);
    if (from.y <= y && to.y > y && side > 0) {
      ++turns;
    } else if (from.y > y && to.y <= y && side < 0) {
      --turns;
    }
  }
  return turns;
}

}  // namespace

std::vector<std::size_t> heads_within(const AtlasPoints& heads, const std::vector<PointPlace>& loop) {
  std::vector<std::size_t> inside;
  for (std::size_t n = 0; n < heads.x.size(); ++n) {
    if (turns_around(loop, heads.x[n].mean, heads.y[n].mean) != 0) {
      inside.push_back(n);
    }
  }
  return inside;
}

std::string strongest_line(const AtlasPoints& heads, std::int64_t count, const std::string& x, const std::string& y) {
  std::size_t best = heads.y.size();
  bool any = false;
  for (std::size_t n = 0; n < heads.y.size(); ++n) {
    const HeadInterval& at = heads.y[n];
    any = any || !std::isnan(at.mean);
    if (!std::isnan(at.mean) && !at.like_null() && (best == heads.y.size() || at.mean > heads.y[best].mean)) {
      best = n;
    }
  }
  if (!any) {
    return {};
  }
  std::string line;
  if (best == heads.y.size()) {
    line = "no head's " + std::string(meaning_of(y)) + " is other than with shuffled tokens";
  } else {
    const HeadInterval& at = heads.y[best];
    line = "largest " + std::string(meaning_of(y)) + ": head " + head_name_at(best, count) + ", " +
           with_interval(at.mean, at.low, at.high) +
           (at.has_null() ? ", of shuffled tokens " + short_number(at.null) : "");
  }
  const std::string alike = like_null_text(heads, x, y, false);
  return line + (alike.empty() ? "" : "; as with shuffled tokens: " + alike);
}

}  // namespace locus::views
