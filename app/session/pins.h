// Tokens of a view's state, kept where they are in the text: the chosen query and key, and the queries that
// views keep by their numbers. Other tokens, or an insertion before them, give them other numbers.
#pragma once

#include <string>

#include "app/session/session.h"
#include "app/views/shared/token.h"
#include "models/api/model.h"

namespace locus::session {

// The text and the tokens of the first column.
struct TokenAnchor {
  std::string text;
  std::string key_text;
  views::TokenTexts tokens;

  friend bool operator==(const TokenAnchor&, const TokenAnchor&) = default;
};

TokenAnchor token_anchor(const models::Trace& first);

// From one text and its tokens to another. What has no place there is chosen no more; without a text in either, numbers
// stay as they are.
void follow(ViewState& state, const TokenAnchor& before, const TokenAnchor& now);

// Gives a chosen token the index that the first column has for its text, and one of an index alone its text, where
// there is one. Indices that do not exist stay as they are.
void resolve_tokens(views::ViewParameters& state, const models::Trace& first);

}  // namespace locus::session
