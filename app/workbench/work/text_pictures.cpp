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

std::size_t runs_of(const std::vector<std::int64_t>& ids, std::int64_t placeholder) {
  std::size_t runs = 0;
  for (std::size_t n = 0; n < ids.size(); ++n) {
    runs += ids[n] == placeholder && (n == 0 || ids[n - 1] != placeholder) ? 1 : 0;
  }
  return runs;
}

std::size_t count_of(const std::vector<std::int64_t>& ids, std::int64_t placeholder) {
  return static_cast<std::size_t>(std::count(ids.begin(), ids.end(), placeholder));
}

// A text whose words are ids, and whose marks are placeholders or, with `runs`, runs of them.
std::string text_of_ids(const std::vector<std::int64_t>& ids, std::int64_t placeholder, bool runs) {
  std::string text;
  for (std::size_t n = 0; n < ids.size(); ++n) {
    if (ids[n] != placeholder) {
      text += std::to_string(ids[n]) + ' ';
    } else if (!runs || n == 0 || ids[n - 1] != placeholder) {
      text += kImageMark;
    }
  }
  return text;
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

std::optional<MarkedIds> single_marks(const std::vector<std::int64_t>& ids, std::size_t caret, std::int64_t placeholder,
                                      std::size_t files) {
  const bool single = count_of(ids, placeholder) == files;
  if (!single && runs_of(ids, placeholder) != files) {
    return std::nullopt;
  }
  MarkedIds marked;
  for (std::size_t n = 0; n < ids.size(); ++n) {
    if (n == caret) {
      marked.caret = marked.ids.size();
    }
    if (single || ids[n] != placeholder || n == 0 || ids[n - 1] != placeholder) {
      marked.ids.push_back(ids[n]);
    }
  }
  marked.caret = caret < ids.size() ? marked.caret : marked.ids.size();
  const auto before = marked.ids.begin() + static_cast<std::ptrdiff_t>(marked.caret);
  marked.place = static_cast<std::size_t>(std::count(marked.ids.begin(), before, placeholder));
  return marked;
}

std::vector<std::filesystem::path> files_of_ids(const std::vector<std::int64_t>& before,
                                                const std::vector<std::int64_t>& after, std::int64_t placeholder,
                                                const std::vector<std::filesystem::path>& files,
                                                std::vector<std::filesystem::path>& removed) {
  const bool single = count_of(before, placeholder) == files.size();
  if (!single && runs_of(before, placeholder) != files.size()) {
    return files;
  }
  return pictures_after(text_of_ids(before, placeholder, !single), text_of_ids(after, placeholder, !single), files,
                        removed, kImageMark);
}

}  // namespace locus::workbench
