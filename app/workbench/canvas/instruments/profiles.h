// Profiles (P): row and column of the pointed cell, of the pinned one and of those that are kept (Shift+P) as curves
// above each map and to its right, all columns overlaid. The maps leave them room.
#pragma once

#include "app/workbench/canvas/instruments/instrument.h"

namespace locus::workbench {

std::unique_ptr<Instrument> make_profiles();

}  // namespace locus::workbench
