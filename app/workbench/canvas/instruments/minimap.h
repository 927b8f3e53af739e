// The minimap: while a map is zoomed, the whole of it small, and what is visible as a rectangle that is dragged.
#pragma once

#include "app/workbench/canvas/instruments/instrument.h"

namespace locus::workbench {

std::unique_ptr<Instrument> make_minimap();

}  // namespace locus::workbench
