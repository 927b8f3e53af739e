// Tokens in their text: the text around a token, its label, and searching for a text, a token or a cell.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/api/model.h"

namespace locus::workbench {

// A token with the text before and after it: whole characters, at most `around` bytes on each side, "…" where the text
// continues. All parts are empty for tokens without text.
struct InContext {
  std::string before;
  std::string token;
  std::string behind;
};
InContext in_context(const models::Trace& trace, std::int64_t token, std::size_t around);
// The same for a range of bytes of a text.
InContext in_context(const std::string& text, const Range& bytes, std::size_t around);

// The readable form of a token: its label; for part of a character's bytes, the character with the part's number:
// "第²".
std::string shown_token(const models::Trace& trace, std::int64_t token);
// The same for a key; in cross-attention a token of the encoder.
std::string shown_key(const models::Trace& trace, std::int64_t token);

// A place to go to; key −1: none was given.
struct Target {
  std::int64_t query = 0;
  std::int64_t key = -1;
};
// Finds a place: "12" is a token, "12,7" a query and a key. Anything else, and numbers in quotes, is searched in the
// text without regard to case, from `from` on (or backwards), wrapping around at the end. Empty: not found.
std::optional<Target> find_target(const models::Trace& trace, const std::string& wanted, std::int64_t from,
                                  bool backwards);

}  // namespace locus::workbench
