// The series reader: over curves and histograms a line at the pointer, or where the keyboard has moved it, with the
// value of every series there.
#pragma once

#include "app/workbench/canvas/instruments/instrument.h"

namespace locus::workbench {

std::unique_ptr<Instrument> make_series_reader();

}  // namespace locus::workbench
