// The chunks of a PNG, without libpng, which prints what it finds wrong: whether they are whole, and the texts in them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace locus::paper {

// From the signature to IEND, each chunk's length and CRC, and the sizes of IHDR. Errors: kBadInput saying where the
// file ends too early or is damaged.
Status check_png(std::string_view bytes);

// The first text of that keyword (tEXt, zTXt, iTXt) in UTF-8, at most 64 MB; none where there is none, or a damaged
// one.
std::optional<std::string> text_of_png(std::string_view bytes, std::string_view keyword);

}  // namespace locus::paper
