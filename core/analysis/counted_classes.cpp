#include "core/analysis/counted_classes.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/numbers.h"

namespace locus::analysis {

namespace {

constexpr std::int64_t kCellsOfABlock = std::int64_t{1} << 20;
constexpr double kNoVariance = 1e-12;  // of a sum of squares: what rounding leaves of a variance of 0

bool holds(const TokenClass& of, std::int64_t token) {
  return token >= 0 && token < std::ssize(of.holds) && of.holds[static_cast<std::size_t>(token)];
}

}  // namespace

ClassSums::ClassSums(const std::vector<TokenClass>& classes) : classes_(classes), lines_(classes.size() + 1) {}

void ClassSums::add(const Field& positions) {
  const auto first_query = static_cast<std::int64_t>(positions.row_axis.first);
  const auto first_key = static_cast<std::int64_t>(positions.column_axis.first);
  const std::size_t count = std::min<std::size_t>(classes_.size(), kMaxTokenClasses);
  for (std::int64_t r = 0; r < positions.rows; ++r) {
    const std::int64_t query = first_query + r;
    std::array<double, kMaxTokenClasses + 1> between{};  // tokens of each class from the key to the query
    for (std::int64_t key = query; key >= first_key; --key) {
      for (std::size_t n = 0; n < count; ++n) {
        between[n] += holds(classes_[n], key) ? 1 : 0;
      }
      between[count] += 1;
      if (key - first_key >= positions.columns || !std::isfinite(positions.at(r, key - first_key))) {
        continue;
      }
      const auto position = static_cast<double>(positions.at(r, key - first_key));
      cells_ += 1;
      y_ += position;
      yy_ += position * position;
      for (std::size_t n = 0; n <= count; ++n) {
        Line& line = lines_[n];
        line.x += between[n];
        line.xx += between[n] * between[n];
        line.xy += between[n] * position;
      }
    }
  }
}

double ClassSums::r_squared(const Line& line, double cells, double y, double yy) {
  const double across = cells * line.xx - line.x * line.x;
  const double up = cells * yy - y * y;
  const double both = cells * line.xy - line.x * y;
  const bool varies = across > kNoVariance * cells * line.xx && up > kNoVariance * cells * yy;
  return cells < 3 || !varies ? kNaN : std::min(both * both / (across * up), 1.0);
}

std::vector<CountedClass> ClassSums::result(std::int64_t length) const {
  std::vector<CountedClass> list;
  for (std::size_t n = 0; n < classes_.size(); ++n) {
    CountedClass& each = list.emplace_back(CountedClass{classes_[n].name, 0, r_squared(lines_[n], cells_, y_, yy_)});
    for (std::int64_t token = 0; token < length; ++token) {
      each.count += holds(classes_[n], token) ? 1 : 0;
    }
  }
  list.push_back({"all tokens", length, r_squared(lines_.back(), cells_, y_, yy_)});
  return list;
}

Result<CountedClasses> counted_classes(const std::vector<TokenClass>& classes, std::int64_t length,
                                       const PositionsOf& positions, const StopToken& stop) {
  if (length < 1 || std::ssize(classes) > kMaxTokenClasses) {
    return bad_input("counted classes: expected a token or more and at most " + std::to_string(kMaxTokenClasses) +
                     " classes, found " + std::to_string(length) + " and " + std::to_string(classes.size()));
  }
  ClassSums sums(classes);
  CountedClasses counted;
  const double cells = static_cast<double>(length) * (static_cast<double>(length) + 1) / 2;
  counted.every =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(cells / static_cast<double>(kMaxCountedCells))));
  const std::int64_t rows_a_block = counted.every > 1 ? 1 : std::max<std::int64_t>(1, kCellsOfABlock / length);
  const std::int64_t step = std::max(counted.every, rows_a_block);
  for (std::int64_t end = length; end > 0; end -= step) {
    if (stop.stop_requested()) {
      return cancelled();
    }
    LOCUS_TRY(const Field block, positions({std::max<std::int64_t>(0, end - rows_a_block), end}));
    sums.add(block);
  }
  counted.classes = sums.result(length);
  return counted;
}

}  // namespace locus::analysis
