// The token lens (L): a magnifier at the pointer for large maps, 15 × 15 cells with the words of both axes.
#pragma once

#include "app/workbench/canvas/instruments/instrument.h"

namespace locus::workbench {

std::unique_ptr<Instrument> make_token_lens();

}  // namespace locus::workbench
