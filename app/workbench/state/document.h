// Document: the file of the session, its figures, and whether there is something that the file does not have.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "app/session/session.h"

namespace locus::workbench {

class Document {
 public:
  const std::vector<session::Bookmark>& figures() const { return figures_; }
  void set_figures(std::vector<session::Bookmark> figures) { figures_ = std::move(figures); }

  // Where Save writes to; empty: it asks.
  const std::filesystem::path& path() const { return path_; }
  // "first.locus.json", or "untitled".
  std::string name() const;
  // What that file holds; with an empty path, what a session without a file begins with.
  void set_saved(std::filesystem::path path, const session::Session& session);
  // Whether the session differs from what set_saved() was told.
  bool differs(const session::Session& session) const;

 private:
  std::vector<session::Bookmark> figures_;
  std::filesystem::path path_;
  std::string saved_;
};

// The list with its `index`-th figure moved to `to`; both exist.
std::vector<session::Bookmark> moved(std::vector<session::Bookmark> figures, std::size_t index, std::size_t to);

}  // namespace locus::workbench
