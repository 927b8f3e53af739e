// Tokens in their text: what a token says where it stands, and where a text, a number or a pair of numbers is found.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/api/model.h"

namespace locus::workbench {

// A token with what is before and behind it, whole characters, at most `around` bytes on each side; "…" where the text
// goes on. All empty for tokens that stand for no text.
struct InContext {
  std::string before;
  std::string token;
  std::string behind;
};
InContext in_context(const models::Trace& trace, std::int64_t token, std::size_t around);
// The same of these bytes of a text.
InContext in_context(const std::string& text, const Range& bytes, std::size_t around);

// A token as it is read: its label, or for some of the bytes of a character that character with the part's number,
// "第²".
std::string shown_token(const models::Trace& trace, std::int64_t token);
// The same of a key, which of cross-attention is the encoder's.
std::string shown_key(const models::Trace& trace, std::int64_t token);

// Tokens to go to; key −1: none was asked for.
struct Target {
  std::int64_t query = 0;
  std::int64_t key = -1;
};
// "12" is a token, "12,7" a query and a key; other words, and numbers in quotes, are looked for in the text, whatever
// their case: the next token behind `from` where they begin, or before it when `backwards`, round the end. Empty when
// there is none.
std::optional<Target> find_target(const models::Trace& trace, const std::string& wanted, std::int64_t from,
                                  bool backwards);

}  // namespace locus::workbench
