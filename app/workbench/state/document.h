// Document: the file of the session, its figures, and whether there are unsaved changes.
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

  // Target of Save; empty: Save asks for one.
  const std::filesystem::path& path() const { return path_; }
  // "first.locus.json", or "untitled".
  std::string name() const;
  // Records the content of that file (empty path: of a session without a file).
  void set_saved(std::filesystem::path path, const session::Session& session);
  // Whether the session differs from the recorded content.
  bool differs(const session::Session& session) const;

 private:
  std::vector<session::Bookmark> figures_;
  std::filesystem::path path_;
  std::string saved_;
};

// The list with its `index`-th figure moved to `to`; both exist.
std::vector<session::Bookmark> moved(std::vector<session::Bookmark> figures, std::size_t index, std::size_t to);

}  // namespace locus::workbench
