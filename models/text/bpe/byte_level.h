// GPT-2's spelling of bytes: every byte has a printable character, so that a vocabulary of byte strings is a JSON of
// readable text ("Ġthe" is " the"). Bytes ! … ~, ¡ … ¬ and ® … ÿ stand for themselves; the other 68 are U+0100 …
// U+0143 in order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace locus::text {

// The bytes as a byte-level vocabulary spells them.
std::string to_byte_level(std::string_view bytes);

// The bytes that a vocabulary entry spells; none when a character of it stands for no byte.
std::optional<std::string> from_byte_level(std::string_view entry);

}  // namespace locus::text
