#include "app/workbench/state/document.h"

#include <algorithm>
#include <utility>

namespace locus::workbench {

std::string Document::name() const {
  return path_.empty() ? "untitled" : path_.filename().string();
}

void Document::set_saved(std::filesystem::path path, const session::Session& session) {
  path_ = std::move(path);
  saved_ = to_json(session, "/");
}

bool Document::differs(const session::Session& session) const {
  return to_json(session, "/") != saved_;
}

std::vector<session::Bookmark> moved(std::vector<session::Bookmark> figures, std::size_t index, std::size_t to) {
  const auto begin = figures.begin();
  const auto at = [&](std::size_t n) { return begin + static_cast<std::ptrdiff_t>(n); };
  if (index < to) {
    std::rotate(at(index), at(index + 1), at(to + 1));
  } else {
    std::rotate(at(to), at(index), at(index + 1));
  }
  return figures;
}

}  // namespace locus::workbench
