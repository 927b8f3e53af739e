// Character classes and normal forms used by tokenizers, from ICU.
#pragma once

#include <string>

#include "models/text/mapped_text.h"

namespace locus::text {

bool is_white_space(char32_t code);      // the White_Space property
bool is_punctuation(char32_t code);      // general categories P*, and all of ASCII's punctuation ($ + < = > ^ ` | ~)
bool is_numeric(char32_t code);          // general categories N*
bool is_word(char32_t code);             // \w: alphabetic, mark, decimal number, connector punctuation, join control
bool is_mark(char32_t code);             // general categories M*
bool is_nonspacing_mark(char32_t code);  // general category Mn
bool is_control(char32_t code);          // BERT's: categories Cc, Cf, Co, Cs without tab, newline and carriage return
bool is_cjk(char32_t code);              // BERT's blocks of CJK ideographs

// Appends the lower case of one character, regardless of its neighbours.
void append_lower(std::string& text, char32_t code);

enum class NormalForm { kNfc, kNfd, kNfkc, kNfkd };

// Unicode's normal form of the valid characters; bytes outside any character stay. Runs of more than 4096 bytes of
// combining characters are normalised in parts (sorting them costs the square of their length).
MappedText normalized(const MappedText& text, NormalForm form);

}  // namespace locus::text
