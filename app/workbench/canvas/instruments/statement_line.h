// The statement at the canvas's upper left: what the view shows, with its numbers; a click copies it.
#pragma once

#include "app/workbench/canvas/instruments/instrument.h"

namespace locus::workbench {

std::unique_ptr<Instrument> make_statement_line();

}  // namespace locus::workbench
