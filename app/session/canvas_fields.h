// The fields of a view's state that are chosen on the canvas beyond places of maps: what is seen of plots, marks, and
// the matrix of heads. Each is in files only where something is chosen.
#pragma once

#include "app/session/state_fields.h"

namespace locus::session {

StateFields canvas_fields();

}  // namespace locus::session
