// SessionActions: the session as a whole: saving and restoring it, and its figures.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "app/session/history.h"
#include "app/session/session.h"
#include "app/workbench/state/document.h"
#include "app/workbench/state/state_follower.h"

namespace locus::workbench {

class Studio;

class SessionActions {
 public:
  SessionActions(Studio& studio, History& history, StateFollower& follower)
      : studio_(studio), history_(history), follower_(follower) {}

  const Document& document() const { return document_; }
  Document& document() { return document_; }

  session::Session session() const;
  // Replaces everything by another session, stored in `file` (empty: in none). The present one and its history are
  // lost.
  void restore(const session::Session& session, const std::filesystem::path& file = {});
  // Records that the present session is stored in that file.
  void set_saved(const std::filesystem::path& file) { document_.set_saved(file, session()); }
  bool has_changes() const { return document_.differs(session()); }

  // The present state, input and columns as a figure.
  session::Bookmark present(const std::string& name) const;
  void add_bookmark(const std::string& name);
  // Replaces the list of figures; undo() restores the one before.
  void set_bookmarks(std::vector<session::Bookmark> figures);
  // Shows a figure: its view, and its input and columns if it has them. undo() restores what was shown before.
  void show(const session::Bookmark& bookmark);

 private:
  Studio& studio_;
  History& history_;
  StateFollower& follower_;
  Document document_;
};

}  // namespace locus::workbench
