#include "renderers/figure/titles.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "core/base/shown.h"

namespace locus::figure {
namespace {

constexpr std::string_view kLeftOut = "…";
constexpr std::string_view kBetween = " · ";
constexpr std::size_t kShortestName = 5;  // code points, with the ellipsis

std::vector<std::string> code_points(const std::string& text) {
  std::vector<std::string> list;
  for (const char byte : text) {
    if (continues_character(byte) && !list.empty()) {
      list.back() += byte;
    } else {
      list.emplace_back(1, byte);
    }
  }
  return list;
}

// At most `most` code points: the beginning and the end of the name.
std::string without_middle(const std::string& name, std::size_t most) {
  const std::vector<std::string> points = code_points(name);
  if (points.size() <= most) {
    return name;
  }
  const std::size_t tail = (most - 1) / 2;
  std::string text;
  for (std::size_t n = 0; n < most - 1 - tail; ++n) {
    text += points[n];
  }
  text += kLeftOut;
  for (std::size_t n = points.size() - tail; n < points.size(); ++n) {
    text += points[n];
  }
  return text;
}

// The title with every name at most `most` code points long. A name is looked for behind the one before it, so that of
// "rope − rope-long" the second is found.
std::string shortened(const std::string& title, const std::vector<std::string>& names, std::size_t most) {
  std::string text = title;
  std::size_t from = 0;
  for (const std::string& name : names) {
    const std::size_t at = name.empty() ? std::string::npos : text.find(name, from);
    if (at != std::string::npos) {
      const std::string less = without_middle(name, most);
      text.replace(at, name.size(), less);
      from = at + less.size();
    }
  }
  return text;
}

// Two lines, broken at the " · " that leaves the shorter of them longest.
std::optional<std::vector<std::string>> broken_between(const TextMetrics& metrics, const std::string& title,
                                                       double size, double max_width) {
  std::optional<std::vector<std::string>> best;
  double best_width = max_width;
  for (std::size_t at = title.find(kBetween); at != std::string::npos; at = title.find(kBetween, at + 1)) {
    const std::string before = title.substr(0, at);
    const std::string behind = title.substr(at + kBetween.size());
    const double width = std::max(metrics.width(before, size), metrics.width(behind, size));
    if (width <= best_width) {
      best = {before, behind};
      best_width = width;
    }
  }
  return best;
}

// A break may have come before or behind a dot, which then stands for nothing.
void take_hanging_dots(std::vector<std::string>& lines) {
  constexpr std::string_view kDot = "·";
  for (std::size_t n = 0; n < lines.size(); ++n) {
    std::string& line = lines[n];
    if (n + 1 < lines.size() && line.ends_with(std::string(" ").append(kDot))) {
      line.resize(line.size() - kDot.size() - 1);
    }
    if (n > 0 && line.starts_with(std::string(kDot) + " ")) {
      line.erase(0, kDot.size() + 1);
    }
  }
}

// The title as it is; none where something of it would be left out.
std::optional<std::vector<std::string>> fitted(const TextMetrics& metrics, const std::string& title, double size,
                                               double max_width, int max_lines) {
  if (metrics.width(title, size) <= max_width) {
    return std::vector<std::string>{title};
  }
  if (max_lines < 2) {
    return std::nullopt;
  }
  if (auto lines = broken_between(metrics, title, size, max_width)) {
    return lines;
  }
  std::vector<std::string> lines = balanced(metrics, title, size, max_width, max_lines);
  // Only what was elided ends in an ellipsis that the title does not have there.
  if (lines.empty() || (lines.back().ends_with(kLeftOut) && !title.ends_with(lines.back()))) {
    return std::nullopt;
  }
  take_hanging_dots(lines);
  return lines;
}

}  // namespace

std::vector<std::string> title_lines(const TextMetrics& metrics, const std::string& title,
                                     const std::vector<std::string>& names, double size, double max_width,
                                     int max_lines) {
  if (title.empty()) {
    return {};
  }
  std::size_t longest = kShortestName;
  for (const std::string& name : names) {
    longest = std::max(longest, code_points(name).size());
  }
  const auto with = [&](std::size_t most) {
    return fitted(metrics, shortened(title, names, most), size, max_width, max_lines);
  };
  if (auto lines = with(longest)) {
    return *std::move(lines);
  }
  auto best = with(kShortestName);
  std::size_t low = kShortestName;  // fits, if anything does
  std::size_t high = longest;
  while (best && low + 1 < high) {
    const std::size_t middle = (low + high) / 2;
    if (auto lines = with(middle)) {
      best = std::move(lines);
      low = middle;
    } else {
      high = middle;
    }
  }
  if (best) {
    return *std::move(best);
  }
  std::vector<std::string> lines =
      balanced(metrics, shortened(title, names, kShortestName), size, max_width, max_lines);
  take_hanging_dots(lines);
  return lines;
}

}  // namespace locus::figure
