// What the studio asks before a long run, and the shorter run that is offered instead.
#include <algorithm>

#include "app/workbench/state/studio.h"

namespace locus::workbench {

std::optional<Question> Studio::question() const {
  std::optional<Question> all;
  for (const Checkpoint& each : checkpoints().all()) {
    if (!each.entry.shown || !each.question) {
      continue;
    }
    if (!all) {
      all = *each.question;
      continue;
    }
    const Question& other = *each.question;
    all->tokens = std::max(all->tokens, other.tokens);
    all->estimate.time_ms += other.estimate.time_ms;
    all->estimate.memory_mb += other.estimate.memory_mb;
    all->first = std::min(all->first, other.first);
  }
  return all;
}

void Studio::run_first() {
  std::int64_t tokens = 0;
  std::int64_t bytes = 0;
  for (const Checkpoint& each : checkpoints().all()) {
    if (each.entry.shown && each.question && each.question->first > 0 && !each.entry.text) {
      tokens = tokens == 0 ? each.question->first : std::min(tokens, each.question->first);
      bytes = bytes == 0 ? each.question->first_bytes : std::min(bytes, each.question->first_bytes);
    }
  }
  columns_.shorten_own_texts();
  models::Input shorter = input();
  if (shorter.text && bytes > 0) {
    shorter.text->resize(std::min(shorter.text->size(), static_cast<std::size_t>(bytes)));
  } else if (shorter.ids && tokens > 0) {
    shorter.ids->resize(std::min(shorter.ids->size(), static_cast<std::size_t>(tokens)));
  }
  if (!(shorter == input())) {
    set_input(shorter);
  }
}

}  // namespace locus::workbench
