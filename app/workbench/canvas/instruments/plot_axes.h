// The axes of plots: the wheel over one zooms along it alone, a drag over it chooses a part, a click makes it
// logarithmic or says why not, a double click shows all of it.
#pragma once

#include "app/workbench/canvas/instruments/instrument.h"

namespace locus::workbench {

std::unique_ptr<Instrument> make_plot_axes();

}  // namespace locus::workbench
