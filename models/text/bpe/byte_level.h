// Bytes as entries of a vocabulary: GPT-2's spelling, the names of single bytes, and a tokenizer.json of such entries.
//
// GPT-2 spells every byte as a printable character, so that a vocabulary of byte strings is readable JSON ("Ġthe" is
// " the"). Bytes ! … ~, ¡ … ¬ and ® … ÿ stand for themselves; the other 68 are U+0100 … U+0143 in order.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace locus::text {

// Bytes in byte-level spelling.
std::string to_byte_level(std::string_view bytes);
// The bytes of an entry in byte-level spelling; none when one of its characters is not in that spelling.
std::optional<std::string> from_byte_level(std::string_view entry);

// "<0x0A>", the name of a byte's token in vocabularies with byte fallback, and back; none for any other text.
std::string byte_name(std::uint8_t byte);
std::optional<std::uint8_t> byte_of_name(std::string_view name);

// Whether text is split into words by GPT-2's pattern before merges, or taken whole.
enum class Segmentation { kWords, kWhole };

// The text of a tokenizer.json of a byte-level BPE. `entries`: the vocabulary in the order of ids, in byte-level
// spelling; `merges`: pairs of entries, the first to be joined first.
std::string byte_level_tokenizer_json(std::span<const std::string> entries,
                                      std::span<const std::pair<std::string, std::string>> merges,
                                      Segmentation segmentation);

}  // namespace locus::text
