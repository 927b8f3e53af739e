#include "app/workbench/state/column_actions.h"

#include <algorithm>

#include "app/workbench/state/studio.h"
#include "app/workbench/widgets/qt_text.h"

namespace locus::workbench {

void ColumnActions::record_columns() {
  studio_.record({studio_.state(), {}, studio_.checkpoints().shown_entries(), {}});
}

int ColumnActions::open(const session::CheckpointEntry& entry) {
  const int id = studio_.columns().open(entry);
  if (const Checkpoint* checkpoint = studio_.checkpoints().find(id); checkpoint != nullptr && !checkpoint->trace) {
    opened_.insert(id);
  }
  return id;
}

void ColumnActions::remove(int id) {
  studio_.inputs().drop_generation();
  studio_.columns().remove(id);
}

int ColumnActions::open_beside(const session::CheckpointEntry& entry) {
  record_columns();
  const int id = studio_.columns().open(entry);
  studio_.columns().set_own_head(id, entry.own);  // it may have been open
  return id;
}

void ColumnActions::change_edits(int id, const models::Edits& edits, bool undoable) {
  if (undoable && studio_.checkpoints().find(id) != nullptr &&
      !(studio_.checkpoints().find(id)->entry.edits == edits)) {
    record_columns();
  }
  studio_.columns().change_edits(id, edits);
}

void ColumnActions::set_own_head(std::size_t column, const std::optional<views::HeadRef>& head) {
  const auto shown = studio_.checkpoints().shown();
  if (column >= shown.size()) {
    return;
  }
  record_columns();
  studio_.columns().set_own_head(shown[column]->id, head);
  studio_.amend(studio_.state());  // clamped: a column that is linked again may have fewer layers
}

void ColumnActions::reset_view(const session::ViewState& fresh) {
  record_columns();
  for (const Checkpoint* column : studio_.checkpoints().shown()) {
    studio_.columns().set_own_head(column->id, std::nullopt);
  }
  studio_.amend(fresh);
}

void ColumnActions::choose_side() {
  for (auto id = opened_.begin(); id != opened_.end();) {
    const Checkpoint* checkpoint = studio_.checkpoints().find(*id);
    if (checkpoint != nullptr && !checkpoint->trace) {
      ++id;
      continue;
    }
    id = opened_.erase(id);
    const auto shown = studio_.checkpoints().shown();
    const bool bare = std::all_of(shown.begin(), shown.end(), [](const Checkpoint* each) {
      return each->trace->length() == 1 || each->trace->side(models::Side::kEncoder) == nullptr;
    });
    if (checkpoint != nullptr && checkpoint->trace->side(models::Side::kEncoder) != nullptr && bare &&
        studio_.state().side == models::Side::kDecoder) {
      session::ViewState on_encoder = studio_.state();
      on_encoder.side = models::Side::kEncoder;
      studio_.amend(on_encoder);
      Q_EMIT studio_.noticed(
          qt(checkpoint->name) +
          QStringLiteral(": the encoder's self-attention, since its decoder has read one token; Side shows "
                         "the others, and the decoder's text is typed below"));
    }
  }
}

}  // namespace locus::workbench
