#include "app/workbench/work/text_pictures.h"

#include <algorithm>
#include <string_view>

namespace locus::workbench {

namespace {

constexpr std::string_view kMark = "<image>";

std::size_t marks_within(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = text.find(kMark); at != std::string_view::npos; at = text.find(kMark, at + kMark.size())) {
    ++count;
  }
  return count;
}

}  // namespace

std::size_t marks_before(const std::string& text, std::size_t byte) {
  std::size_t count = 0;
  for (std::size_t at = text.find(kMark); at != std::string::npos && at < byte; at = text.find(kMark, at + 1)) {
    ++count;
  }
  return count;
}

std::vector<std::filesystem::path> pictures_after(const std::string& before, const std::string& after,
                                                  const std::vector<std::filesystem::path>& pictures,
                                                  std::vector<std::filesystem::path>& removed) {
  const auto differs = std::mismatch(before.begin(), before.end(), after.begin(), after.end());
  const auto same = static_cast<std::size_t>(differs.first - before.begin());
  const std::size_t most = std::min(before.size(), after.size()) - same;
  std::size_t tail = 0;
  while (tail < most && before[before.size() - 1 - tail] == after[after.size() - 1 - tail]) {
    ++tail;
  }
  const std::size_t first = std::min(marks_within(std::string_view(before).substr(0, same)), pictures.size());
  const std::size_t last =
      std::min(marks_within(std::string_view(before).substr(before.size() - tail)), pictures.size() - first);
  const std::size_t marks = marks_within(after);
  const std::size_t wanted = marks > first + last ? marks - first - last : 0;
  std::vector<std::filesystem::path> next(pictures.begin(), pictures.begin() + static_cast<std::ptrdiff_t>(first));
  std::vector<std::filesystem::path> between(pictures.begin() + static_cast<std::ptrdiff_t>(first),
                                             pictures.end() - static_cast<std::ptrdiff_t>(last));
  while (between.size() > wanted) {
    removed.push_back(between.back());
    between.pop_back();
  }
  while (between.size() < wanted && !removed.empty()) {
    between.push_back(removed.back());
    removed.pop_back();
  }
  next.insert(next.end(), between.begin(), between.end());
  next.insert(next.end(), pictures.end() - static_cast<std::ptrdiff_t>(last), pictures.end());
  return next;
}

}  // namespace locus::workbench
