#include "app/session/pins.h"

#include <optional>

#include "core/base/lists.h"

namespace locus::session {

namespace {

constexpr const char* kKept = "queries";  // the option of views that keep queries
constexpr const char* kAt = "at";         // and of those that measure one

void follow_text(views::Token& token, const std::string& before, const std::string& now) {
  if (!token.text || before == now) {
    return;
  }
  if (now.empty()) {
    token.text.reset();
    return;
  }
  const auto there = views::moved(*token.text, before, now);
  token = there ? views::Token(token.index, there) : views::Token();
}

// A number as the present tokens count; kNone: it is of none of them.
std::int64_t follow_number(std::int64_t n, const TokenAnchor& before, const TokenAnchor& now) {
  const bool known = n >= 0 && n < static_cast<std::int64_t>(before.tokens.size());
  const auto there =
      known ? views::moved(before.tokens[static_cast<std::size_t>(n)], before.text, now.text) : std::nullopt;
  return there ? views::token_of(now.tokens, *there) : views::kNone;
}

// "4 9 17" as the present tokens count.
std::string follow_numbers(const std::string& typed, const TokenAnchor& before, const TokenAnchor& now) {
  const auto numbers = parse_numbers<std::int64_t>(split_words(typed, " ,"));
  if (!numbers) {
    return typed;  // the view says so
  }
  std::string text;
  for (const std::int64_t n : *numbers) {
    const std::int64_t index = follow_number(n, before, now);
    if (index != views::kNone) {
      text += (text.empty() ? "" : " ") + std::to_string(index);
    }
  }
  return text;
}

void resolve(views::Token& token, const std::vector<models::TokenInfo>& tokens, const std::string& text) {
  if (text.empty()) {
    token.text.reset();
    return;
  }
  if (!token.text) {
    token.text = views::text_of(tokens, token.index);
    return;
  }
  const bool known = token.index >= 0 && token.index < static_cast<std::int64_t>(tokens.size()) &&
                     token.text->nth == 0 && !token.text->bytes.empty() &&
                     tokens[static_cast<std::size_t>(token.index)].bytes == token.text->bytes;
  if (!known) {
    token.index = views::token_of(tokens, *token.text);
  }
}

}  // namespace

TokenAnchor token_anchor(const models::Trace& first) {
  return {first.text(), first.key_text(), views::texts_of(first.tokens())};
}

void follow(ViewState& state, const TokenAnchor& before, const TokenAnchor& now) {
  follow_text(state.query, before.text, now.text);
  follow_text(state.key, before.key_text, now.key_text);
  if (!state.query.chosen()) {
    state.key = views::kNone;
  }
  if (before.text.empty() || now.text.empty() || now.tokens.empty()) {
    return;
  }
  for (auto& [view, options] : state.options) {
    const auto kept = options.values().find(kKept);
    const auto* typed = kept == options.values().end() ? nullptr : std::get_if<std::string>(&kept->second);
    if (typed != nullptr && !typed->empty()) {
      options.set(kKept, follow_numbers(*typed, before, now));
    }
    const auto at = options.values().find(kAt);
    const auto* number = at == options.values().end() ? nullptr : std::get_if<std::int64_t>(&at->second);
    if (number != nullptr && *number >= 0) {
      options.set(kAt, follow_number(*number, before, now));
    }
  }
}

void resolve_tokens(views::ViewParameters& state, const models::Trace& first) {
  resolve(state.query, first.tokens(), first.text());
  resolve(state.key, first.key_tokens(), first.key_text());
}

}  // namespace locus::session
