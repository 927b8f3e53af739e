#include "app/workbench/work/token_words.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "core/base/numbers.h"
#include "core/base/shown.h"

namespace locus::workbench {

namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

std::optional<std::int64_t> whole(std::string_view text) {
  while (!text.empty() && text.front() == ' ') {
    text.remove_prefix(1);
  }
  while (!text.empty() && text.back() == ' ') {
    text.remove_suffix(1);
  }
  return parse_number<std::int64_t>(text);
}

std::optional<Target> typed_target(const std::string& wanted, std::int64_t length) {
  const auto comma = wanted.find(',');
  const auto query = whole(std::string_view(wanted).substr(0, comma));
  const auto key =
      comma == std::string::npos ? std::optional<std::int64_t>(-1) : whole(std::string_view(wanted).substr(comma + 1));
  const bool there = query && key && *query >= 0 && *query < length && *key >= -1 && *key < length;
  return there ? std::optional(Target{*query, *key}) : std::nullopt;
}

// The tokens where the words begin, in order.
std::vector<std::int64_t> found_tokens(const models::Trace& trace, const std::string& words) {
  const std::string text = lower(trace.text());
  std::vector<std::int64_t> tokens;
  const auto& all = trace.tokens();
  std::size_t n = 0;
  for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) {
    const auto byte = static_cast<std::int64_t>(at);
    while (n < all.size() && (all[n].bytes.empty() || all[n].bytes.end <= byte)) {
      ++n;
    }
    if (n < all.size() && (tokens.empty() || tokens.back() != static_cast<std::int64_t>(n))) {
      tokens.push_back(static_cast<std::int64_t>(n));
    }
  }
  return tokens;
}

}  // namespace

InContext in_context(const models::Trace& trace, std::int64_t token, std::size_t around) {
  if (token < 0 || token >= trace.length()) {
    return {};
  }
  return in_context(trace.text(), trace.tokens()[static_cast<std::size_t>(token)].bytes, around);
}

InContext in_context(const std::string& text, const Range& bytes, std::size_t around) {
  if (bytes.empty() || bytes.begin < 0 || static_cast<std::size_t>(bytes.end) > text.size()) {
    return {};
  }
  // A token that is part of a character is shown as that character.
  auto begin = static_cast<std::size_t>(bytes.begin);
  auto end = static_cast<std::size_t>(bytes.end);
  while (begin > 0 && continues_character(text[begin])) {
    --begin;
  }
  while (end < text.size() && continues_character(text[end])) {
    ++end;
  }
  std::size_t first = begin > around ? begin - around : 0;
  while (first < begin && continues_character(text[first])) {
    ++first;
  }
  std::size_t last = std::min(text.size(), end + around);
  while (last > end && last < text.size() && continues_character(text[last])) {
    --last;
  }
  return {(first > 0 ? "…" : "") + text.substr(first, begin - first), text.substr(begin, end - begin),
          text.substr(end, last - end) + (last < text.size() ? "…" : "")};
}

std::string shown_key(const models::Trace& trace, std::int64_t token) {
  return trace.crosses() ? trace.key_tokens()[static_cast<std::size_t>(token)].label : shown_token(trace, token);
}

std::string shown_token(const models::Trace& trace, std::int64_t token) {
  static constexpr std::array<const char*, 4> kParts = {"¹", "²", "³", "⁴"};
  const models::TokenInfo& info = trace.tokens()[static_cast<std::size_t>(token)];
  const InContext words = in_context(trace, token, 0);
  const bool part = !info.bytes.empty() && static_cast<std::int64_t>(words.token.size()) > info.bytes.size();
  const bool of_one = !words.token.empty() && std::count_if(words.token.begin(), words.token.end(),
                                                            [](char byte) { return !continues_character(byte); }) == 1;
  if (!part || !of_one) {
    return info.label;
  }
  auto begin = info.bytes.begin;
  while (begin > 0 && continues_character(trace.text()[static_cast<std::size_t>(begin)])) {
    --begin;
  }
  // Which of the character's tokens this is.
  std::size_t number = 0;
  for (std::int64_t before = token - 1; before >= 0 && number + 1 < kParts.size(); --before) {
    const Range bytes = trace.tokens()[static_cast<std::size_t>(before)].bytes;
    if (bytes.empty() || bytes.begin < begin) {
      break;
    }
    ++number;
  }
  return words.token + kParts[number];
}

std::optional<Target> find_target(const models::Trace& trace, const std::string& wanted, std::int64_t from,
                                  bool backwards) {
  if (const auto typed = typed_target(wanted, trace.length())) {
    return typed;
  }
  const bool quoted = wanted.size() > 2 && wanted.front() == '"' && wanted.back() == '"';
  const std::string words = lower(quoted ? wanted.substr(1, wanted.size() - 2) : wanted);
  const std::vector<std::int64_t> found = words.empty() ? std::vector<std::int64_t>() : found_tokens(trace, words);
  if (found.empty()) {
    return std::nullopt;
  }
  if (backwards) {
    const auto next = std::lower_bound(found.begin(), found.end(), from);
    return Target{next == found.begin() ? found.back() : *(next - 1), -1};
  }
  const auto next = std::upper_bound(found.begin(), found.end(), from);
  return Target{next == found.end() ? found.front() : *next, -1};
}

}  // namespace locus::workbench
