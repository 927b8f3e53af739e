#include "app/workbench/state/live_edit.h"

#include <algorithm>
#include <utility>

namespace locus::workbench {

namespace {

constexpr int kPatienceMs = 300;  // that a run and its figure may take to their end before what is newer stops them

}  // namespace

models::Edits with_edit(models::Edits edits, const models::Edit& edit) {
  const auto same = std::find_if(edits.begin(), edits.end(), [&](const models::Edit& each) {
    return each == edit ||
           (edit.kind == models::EditKind::kShift && each.kind == edit.kind && each.tokens == edit.tokens);
  });
  if (same == edits.end()) {
    edits.push_back(edit);
  } else if (edit.kind == models::EditKind::kShift) {
    same->by += edit.by;
  }
  std::erase_if(edits, [](const models::Edit& each) { return each.kind == models::EditKind::kShift && each.by == 0; });
  return edits;
}

LiveEdit::LiveEdit(Studio& studio, QObject* parent) : QObject(parent), studio_(studio) {
  patience_.setSingleShot(true);
  patience_.setInterval(kPatienceMs);
  connect(&patience_, &QTimer::timeout, this, &LiveEdit::apply);
  // Not from within the loop over checkpoints that the change of a figure may come from: this may open one more.
  connect(&studio_, &Studio::figure_changed, this, &LiveEdit::apply_next, Qt::QueuedConnection);
}

void LiveEdit::begin(int id) {
  id_ = id;
  column_ = studio_.checkpoints().edited(id);
  begun_ = false;
  const Checkpoint* checkpoint = studio_.checkpoints().find(column_ == 0 ? id_ : column_);
  before_ = checkpoint == nullptr ? models::Edits() : checkpoint->entry.edits;
}

void LiveEdit::show(const models::Edit& edit) {
  next_ = with_edit(before_, edit);
  if (!patience_.isActive()) {
    patience_.start();
  }
  if (studio_.settled()) {
    apply();
  }
}

void LiveEdit::end() {
  apply();
}

void LiveEdit::make(int id, const models::Edit& edit) {
  begin(id);
  show(edit);
  end();
}

void LiveEdit::apply_next() {
  if (next_) {
    apply();
  }
}

void LiveEdit::apply() {
  patience_.stop();
  const auto edits = std::exchange(next_, std::nullopt);
  const Checkpoint* checkpoint = studio_.checkpoints().find(id_);
  if (!edits || checkpoint == nullptr) {
    return;
  }
  const bool first = !std::exchange(begun_, true);
  if (studio_.checkpoints().find(column_) != nullptr) {
    studio_.column_actions().change_edits(column_, *edits, first);
  } else if (!edits->empty()) {
    session::CheckpointEntry entry = checkpoint->entry;
    entry.shown = true;
    entry.edits = *edits;
    column_ = studio_.column_actions().open_beside(entry);
  }
}

}  // namespace locus::workbench
