// The colour bar: its ends are handles, the wheel turns gamma or percentile, a double click takes the range from the
// data, the right button has the colour maps; behind it stands how the values that are shown are spread.
#pragma once

#include "app/workbench/canvas/instruments/instrument.h"

namespace locus::workbench {

std::unique_ptr<Instrument> make_color_bar();

}  // namespace locus::workbench
