// The head navigator: a square for each head, coloured by what it does, which a click or the arrows choose.
#pragma once

#include "app/workbench/canvas/instruments/instrument.h"

namespace locus::workbench {

std::unique_ptr<Instrument> make_head_navigator();

}  // namespace locus::workbench
