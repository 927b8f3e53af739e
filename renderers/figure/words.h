// Words: the tokens of a text that belong together, whether a token is a word with its space or a single byte.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/range.h"

namespace locus::figure {

// Whether a line may be broken before token n ≥ 1: between words. A space that is a token of its own stays with the
// word before it.
bool begins_word(const std::vector<std::string>& tokens, std::size_t n);

// Whether a line ends behind the token.
bool ends_line(const std::string& token);

// The words of the tokens in `cells`, in order; together they are all of them.
std::vector<Range> words_of(const std::vector<std::string>& tokens, Range cells);

// The words that the tokens in `cells`, not empty, are part of, with what of them is beside.
Range whole_words(const std::vector<std::string>& tokens, Range cells);

// A token as it is read: for bytes written as <0xE7> the character that they are part of, with the number of the part
// where it is not all of it, "第²"; what makes no character, and what is no byte, as it is written.
std::string name_of(const std::vector<std::string>& tokens, std::size_t n);

// These tokens as text: marks of a space become spaces, and the ends have none.
std::string text_of(const std::vector<std::string>& tokens, Range cells);

}  // namespace locus::figure
