#include "app/workbench/state/session_actions.h"

#include <utility>

#include "app/figures/view_input.h"
#include "app/workbench/state/studio.h"

namespace locus::workbench {

session::Session SessionActions::session() const {
  return {studio_.checkpoints().entries(), studio_.input(), follower_.state_of_input(), document_.figures()};
}

void SessionActions::restore(const session::Session& session, const std::filesystem::path& file) {
  studio_.columns().clear();
  studio_.inputs().drop_generation();
  history_.clear();
  document_.set_figures(session.bookmarks);
  follower_.forget();
  history_.set(session.state);
  studio_.inputs().live().put(session.input);
  Q_EMIT studio_.state_changed();
  for (const session::CheckpointEntry& entry : session.checkpoints) {
    studio_.columns().open(entry);
  }
  set_saved(file);
}

session::Bookmark SessionActions::present(const std::string& name) const {
  return {name, follower_.state_of_input(), studio_.input(), studio_.checkpoints().shown_entries(), {}};
}

void SessionActions::add_bookmark(const std::string& name) {
  std::vector<session::Bookmark> figures = document_.figures();
  figures.push_back(present(name));
  set_bookmarks(std::move(figures));
}

void SessionActions::set_bookmarks(std::vector<session::Bookmark> figures) {
  Step before{studio_.state(), {}, {}, document_.figures()};
  document_.set_figures(std::move(figures));
  studio_.record(std::move(before));
}

void SessionActions::show(const session::Bookmark& bookmark) {
  Step back{studio_.state(), {}, {}, {}};
  Step step{bookmark.state, bookmark.input, {}, {}};
  if (bookmark.columns.empty() && !bookmark.state.unlinked.empty()) {
    back.columns = studio_.checkpoints().shown_entries();
    step.columns = back.columns;
    session::assign_unlinked_heads(step.state, *step.columns);
  }
  if (bookmark.input) {
    back.input = studio_.input();
  }
  if (!bookmark.columns.empty()) {
    back.columns = studio_.checkpoints().shown_entries();
    step.columns = bookmark.columns;
  }
  history_.push(std::move(back));
  studio_.apply(step);
}

}  // namespace locus::workbench
