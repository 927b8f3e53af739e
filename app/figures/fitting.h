// The parts of a session that belong to a figure: what none of its columns has is no part of it.
#pragma once

#include <vector>

#include "app/session/session.h"
#include "app/views/shared/view.h"

namespace locus::session {

// Leaves out of the state and the input what these columns cannot have: a side, or what a decoder has read, where none
// is an encoder–decoder's; an input where all are traces, which bring theirs; options of other views; partners that do
// not hold. `columns`: the decoder's side of encoder–decoders.
void fit_to(const std::vector<views::Column>& columns, const views::View& view, Session& session);

}  // namespace locus::session
