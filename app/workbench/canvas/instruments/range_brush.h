// The range brush: the numbers that a curve or a histogram is made of, on rails in a corner of its plot; their values
// alone until the pointer or the keyboard comes to them.
#pragma once

#include "app/workbench/canvas/instruments/instrument.h"

namespace locus::workbench {

std::unique_ptr<Instrument> make_range_brush();

}  // namespace locus::workbench
