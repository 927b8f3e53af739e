#include "app/views/heads/atlas_points.h"

#include <algorithm>
#include <cmath>

namespace locus::views {

namespace {

constexpr double kSmallest = 5;  // diameters in px
constexpr double kLargest = 20;
constexpr double kAlike = 9;  // where no statistic chooses them

float size_at(const HeadInterval& value, const figure::Interval& range) {
  const double share = range.high > range.low ? (value.mean - range.low) / (range.high - range.low) : 0.5;
  return static_cast<float>(std::isnan(share) ? kSmallest : kSmallest + (kLargest - kSmallest) * share);
}

}  // namespace

bool is_hollow(const HeadInterval& x, const HeadInterval& y) {
  const bool known = !std::isnan(x.null) || !std::isnan(y.null);
  return known && (std::isnan(x.null) || x.like_null()) && (std::isnan(y.null) || y.like_null());
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
    points.values.push_back(static_cast<float>(static_cast<std::int64_t>(n) / info.heads));
    points.hollow.push_back(is_hollow(heads.x[n], heads.y[n]) ? 1 : 0);
    points.sizes_px.push_back(n < heads.size.size() ? size_at(heads.size[n], look.sizes) : static_cast<float>(kAlike));
  }
  if (!look.chosen.empty()) {
    points.faint.assign(count, 1);
    points.names.resize(count);
    for (const std::size_t n : look.chosen) {
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

std::string strongest_line(const AtlasPoints& heads, std::int64_t count, const std::string& y) {
  std::size_t best = heads.y.size();
  std::int64_t hollow = 0;
  for (std::size_t n = 0; n < heads.y.size(); ++n) {
    hollow += is_hollow(heads.x[n], heads.y[n]) ? 1 : 0;
    if (!std::isnan(heads.y[n].mean) && (best == heads.y.size() || heads.y[n].mean > heads.y[best].mean)) {
      best = n;
    }
  }
  if (best == heads.y.size()) {
    return {};
  }
  const HeadInterval& at = heads.y[best];
  return "largest " + std::string(meaning_of(y)) + ": head " + head_name_at(best, count) + ", " +
         with_interval(at.mean, at.low, at.high) +
         (std::isnan(at.null) ? "" : ", of shuffled tokens " + short_number(at.null)) + "; " + std::to_string(hollow) +
         " of " + std::to_string(heads.y.size()) + " heads are as with shuffled tokens";
}

}  // namespace locus::views
