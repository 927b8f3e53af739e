// Token: one that is chosen or pointed at, whatever the tokenizers of the columns: by the bytes of the text it stands
// for. Inputs without a text (ids, images) have indices alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/range.h"
#include "models/api/model.h"

namespace locus::views {

constexpr std::int64_t kNone = -1;  // as a query or key: none chosen

// The part of a text that a token stands for.
struct TokenText {
  Range bytes;           // empty: a special token, which stands before this byte
  std::int64_t nth = 0;  // of several tokens of the same bytes, from 0

  friend bool operator==(const TokenText&, const TokenText&) = default;
};

struct Token {
  std::int64_t index = kNone;     // as the first column counts its tokens; kNone: it has none of this text
  std::optional<TokenText> text;  // empty: what the first column's token of that index stands for, if anything

  Token() = default;
  Token(std::int64_t of_first) : index(of_first) {}  // NOLINT(google-explicit-constructor): a number is a token
  Token(std::int64_t of_first, std::optional<TokenText> of_text) : index(of_first), text(of_text) {}

  bool chosen() const { return index >= 0 || text.has_value(); }
  friend bool operator==(const Token&, const Token&) = default;
  friend bool operator==(const Token& token, std::int64_t index) { return token.index == index; }
};

using TokenTexts = std::vector<TokenText>;

// The text of each token of a run, in order.
TokenTexts texts_of(const std::vector<models::TokenInfo>& tokens);
// The text of one token; empty for an index that is none.
std::optional<TokenText> text_of(const std::vector<models::TokenInfo>& tokens, std::int64_t index);
// The token that stands for it: the same bytes, or the one that holds the last of them, so that a query has read at
// least as much, or the last of those that hold any. kNone: none; special tokens are special tokens alone.
std::int64_t token_of(const TokenTexts& tokens, const TokenText& wanted);
std::int64_t token_of(const std::vector<models::TokenInfo>& tokens, const TokenText& wanted);

// Where that part of `before` is in `after`, which has another beginning, middle or end: empty where it has gone.
std::optional<TokenText> moved(const TokenText& text, const std::string& before, const std::string& after);

}  // namespace locus::views
