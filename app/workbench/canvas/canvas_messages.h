// Texts the canvas shows instead of a figure or over one.
#pragma once

#include <string>

#include "app/workbench/state/studio.h"

namespace locus::workbench {

// The message in the middle: what is being computed, why there is no figure, or how to begin. `late`: the figure has
// been out of date for a while. Empty: the figure needs none.
std::string canvas_message(Studio& studio, bool late);
// A note at the lower edge if the figure is incomplete or of a previous input; empty otherwise.
std::string canvas_note(Studio& studio, bool late);

}  // namespace locus::workbench
