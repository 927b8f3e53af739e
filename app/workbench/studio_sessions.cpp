// What the Studio gives to sessions and takes from them.
#include <algorithm>

#include "app/workbench/studio.h"

namespace locus::workbench {

Session Studio::session() const {
  Session session;
  for (const Checkpoint& each : checkpoints_) {
    session.checkpoints.push_back(each.entry);
  }
  session.input = input_;
  session.state = state_;
  session.bookmarks = bookmarks_;
  return session;
}

void Studio::restore(const Session& session) {
  while (!checkpoints_.empty()) {
    remove(checkpoints_.back().id);
  }
  worker_.drop(kGenerate);
  debounce_.stop();  // of the text before
  past_.clear();
  future_.clear();
  bookmarks_ = session.bookmarks;
  state_ = session.state;
  input_ = session.input;
  Q_EMIT input_changed();
  Q_EMIT state_changed();
  since_input_.start();
  measuring_ = true;
  for (const CheckpointEntry& entry : session.checkpoints) {
    open(entry);
  }
}

void Studio::add_bookmark(const std::string& name) {
  Bookmark bookmark{name, state_, input_};
  for (const Checkpoint& each : checkpoints_) {
    if (each.entry.shown) {
      bookmark.columns.push_back(each.entry);
    }
  }
  bookmarks_.push_back(std::move(bookmark));
  Q_EMIT state_changed();
}

void Studio::show(const Bookmark& bookmark) {
  const ViewState before = state_;
  if (!bookmark.columns.empty()) {
    for (Checkpoint& each : checkpoints_) {
      each.entry.shown = false;  // those that are wanted are shown again below
    }
  }
  if (bookmark.input && !(*bookmark.input == input_)) {
    set_input(*bookmark.input);
  }
  std::vector<int> order;
  for (const CheckpointEntry& entry : bookmark.columns) {
    CheckpointEntry shown = entry;
    shown.shown = true;
    order.push_back(open(shown));
  }
  const auto place = [&](const Checkpoint& each) { return std::find(order.begin(), order.end(), each.id); };
  std::stable_sort(checkpoints_.begin(), checkpoints_.end(),
                   [&](const Checkpoint& a, const Checkpoint& b) { return place(a) < place(b); });
  Q_EMIT checkpoints_changed();
  Q_EMIT runs_changed();
  change(before);  // the step that undo() comes back to
  const bool waiting = std::any_of(checkpoints_.begin(), checkpoints_.end(), [](const Checkpoint& each) {
    return each.entry.shown && (each.opening || each.running);
  });
  // What runs now may have layers that the present columns have not: it is clamped when it is there.
  state_ = waiting ? bookmark.state : clamped(bookmark.state);
  Q_EMIT state_changed();
  request_figure();
  request_cells();
}

}  // namespace locus::workbench
