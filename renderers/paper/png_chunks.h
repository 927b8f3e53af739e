// Whether the chunks of a PNG are whole: libpng prints what it finds wrong, so that it is asked for whole files alone.
#pragma once

#include <string_view>

#include "core/base/result.h"

namespace locus::paper {

// From the signature to IEND, each chunk's length and CRC, and the sizes of IHDR. Errors: kBadInput saying where the
// file ends too early or is damaged.
Status check_png(std::string_view bytes);

}  // namespace locus::paper
