// The legend of a plot: a click on an entry hides its series, and shows it again.
#pragma once

#include "app/workbench/canvas/instruments/instrument.h"

namespace locus::workbench {

std::unique_ptr<Instrument> make_legend();

}  // namespace locus::workbench
