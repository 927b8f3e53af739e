#include "app/workbench/work/text_pictures.h"

#include <algorithm>
#include <string_view>

namespace locus::workbench {

namespace {

std::size_t marks_within(std::string_view text, std::string_view mark) {
  std::size_t count = 0;
  for (std::size_t at = text.find(mark); at != std::string_view::npos; at = text.find(mark, at + mark.size())) {
    ++count;
  }
  return count;
}

}  // namespace

std::size_t marks_before(const std::string& text, std::size_t byte, std::string_view mark) {
  std::size_t count = 0;
  for (std::size_t at = text.find(mark); at != std::string::npos && at < byte; at = text.find(mark, at + 1)) {
    ++count;
  }
  return count;
}

std::vector<std::filesystem::path> pictures_after(const std::string& before, const std::string& after,
                                                  const std::vector<std::filesystem::path>& pictures,
                                                  std::vector<std::filesystem::path>& removed, std::string_view mark) {
  const auto differs = std::mismatch(before.begin(), before.end(), after.begin(), after.end());
  const auto same = static_cast<std::size_t>(differs.first - before.begin());
  const std::size_t most = std::min(before.size(), after.size()) - same;
  std::size_t tail = 0;
  while (tail < most && before[before.size() - 1 - tail] == after[after.size() - 1 - tail]) {
    ++tail;
  }
  const std::size_t first = std::min(marks_within(std::string_view(before).substr(0, same), mark), pictures.size());
  const std::size_t last =
      std::min(marks_within(std::string_view(before).substr(before.size() - tail), mark), pictures.size() - first);
  const std::size_t marks = marks_within(after, mark);
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
