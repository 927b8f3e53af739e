// The length that a model was trained on, beside the texts it reads: where it lies on axes of tokens and of distances,
// and what is said of a text that is longer.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "app/views/shared/view.h"

namespace locus::views {

// How far a run goes beyond its model's trained length. Positions count, not tokens: ids that start later, or were
// moved, are beyond it sooner.
struct BeyondTrained {
  std::int64_t trained = 0;  // positions that were seen in training; 0: unknown, or an image's
  std::int64_t tokens = 0;   // of the run, whose positions are trained or larger
  std::int64_t first = -1;   // of them, where they are the last tokens of the run: −1: none, or among the others

  friend bool operator==(const BeyondTrained&, const BeyondTrained&) = default;
};
BeyondTrained beyond_trained(const models::Trace& trace);

// "44 of 300 tokens stand beyond the trained length of 256"; empty for a run that does not.
std::string beyond_text(const models::Trace& trace);

// Lines where the trained length ends on the axes of a map of tokens, and a note; nothing for a run that is shorter.
void mark_trained_length(const models::Trace& trace, figure::Panel& panel);
// A line where it ends on an axis x of distances in tokens, for every trained length of the columns that it shows.
void mark_trained_distance(std::span<const Column> columns, figure::Panel& panel);

}  // namespace locus::views
