// What the Studio does for a checkpoint that the user opens, beside opening it.
#include <algorithm>

#include "app/workbench/state/studio.h"
#include "app/workbench/widgets/qt_text.h"

namespace locus::workbench {

int Studio::open(const session::CheckpointEntry& entry) {
  const int id = columns_.open(entry);
  if (const Checkpoint* checkpoint = checkpoints().find(id); checkpoint != nullptr && !checkpoint->trace) {
    opened_.insert(id);
  }
  return id;
}

// An encoder–decoder whose decoder has read nothing but its start has a map of one cell there: its encoder, which has
// read the text, is what is there to be seen. A session says its side itself.
void Studio::choose_side() {
  for (auto id = opened_.begin(); id != opened_.end();) {
    const Checkpoint* checkpoint = checkpoints().find(*id);
    if (checkpoint != nullptr && !checkpoint->trace) {
      ++id;
      continue;
    }
    id = opened_.erase(id);
    const auto shown = checkpoints().shown();
    const bool bare = std::all_of(shown.begin(), shown.end(), [](const Checkpoint* each) {
      return each->trace->length() == 1 || each->trace->side(models::Side::kEncoder) == nullptr;
    });
    if (checkpoint != nullptr && checkpoint->trace->side(models::Side::kEncoder) != nullptr && bare &&
        state().side == models::Side::kDecoder) {
      session::ViewState on_encoder = state();
      on_encoder.side = models::Side::kEncoder;
      amend(on_encoder);
      Q_EMIT noticed(qt(checkpoint->name) +
                     QStringLiteral(": the encoder's self-attention, since its decoder has read one token; Side shows "
                                    "the others, and the decoder's text is typed below"));
    }
  }
}

}  // namespace locus::workbench
