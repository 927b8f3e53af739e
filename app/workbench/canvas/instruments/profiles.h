// Profiles (P): row and column of the pointed cell as curves along the map's right and upper side, all columns
// overlaid.
#pragma once

#include "app/workbench/canvas/instruments/instrument.h"

namespace locus::workbench {

std::unique_ptr<Instrument> make_profiles();

}  // namespace locus::workbench
