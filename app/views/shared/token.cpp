#include "app/views/shared/token.h"

#include <algorithm>
#include <span>

namespace locus::views {

namespace {

// Tells what each of the tokens stands for, in order.
template <class Use>
void each_text(std::span<const models::TokenInfo> tokens, Use use) {
  TokenText before{{-1, -1}, 0};
  std::int64_t end = 0;  // of the text that has been seen
  for (const models::TokenInfo& token : tokens) {
    const Range bytes = token.bytes.empty() ? Range{end, end} : token.bytes;
    // Tokens of the same bytes stand beside each other.
    const TokenText text{bytes, bytes == before.bytes ? before.nth + 1 : 0};
    use(text);
    before = text;
    end = std::max(end, bytes.end);
  }
}

std::int64_t length_of(const std::string& text) {
  return static_cast<std::int64_t>(text.size());
}

// The common beginning of two texts and, behind that, their common end, in bytes.
struct Common {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

Common common(const std::string& a, const std::string& b) {
  const auto first = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
  Common both{first - a.begin(), 0};
  const std::int64_t most = std::min(length_of(a), length_of(b)) - both.begin;
  const auto last = std::mismatch(a.rbegin(), a.rbegin() + most, b.rbegin()).first;
  both.end = last - a.rbegin();
  return both;
}

}  // namespace

TokenTexts texts_of(const std::vector<models::TokenInfo>& tokens) {
  TokenTexts texts;
  texts.reserve(tokens.size());
  each_text(tokens, [&](const TokenText& text) { texts.push_back(text); });
  return texts;
}

std::optional<TokenText> text_of(const std::vector<models::TokenInfo>& tokens, std::int64_t index) {
  std::optional<TokenText> last;
  if (index >= 0 && index < static_cast<std::int64_t>(tokens.size())) {
    each_text(std::span(tokens).first(static_cast<std::size_t>(index) + 1),
              [&](const TokenText& text) { last = text; });
  }
  return last;
}

std::int64_t token_of(const TokenTexts& tokens, const TokenText& wanted) {
  std::int64_t same = kNone;
  std::int64_t last = kNone;
  std::int64_t overlapping = kNone;
  for (std::int64_t n = 0; n < static_cast<std::int64_t>(tokens.size()); ++n) {
    const TokenText& each = tokens[static_cast<std::size_t>(n)];
    if (each.bytes == wanted.bytes && each.nth <= wanted.nth) {
      same = n;
    }
    if (last == kNone && each.bytes.contains(wanted.bytes.end - 1) && !wanted.bytes.empty()) {
      last = n;
    }
    if (std::max(each.bytes.begin, wanted.bytes.begin) < std::min(each.bytes.end, wanted.bytes.end)) {
      overlapping = n;
    }
  }
  return same != kNone ? same : last != kNone ? last : overlapping;
}

std::int64_t token_of(const std::vector<models::TokenInfo>& tokens, const TokenText& wanted) {
  return token_of(texts_of(tokens), wanted);
}

std::optional<TokenText> moved(const TokenText& text, const std::string& before, const std::string& after) {
  const Common same = common(before, after);
  const std::int64_t changed_end = length_of(before) - same.end;
  const std::int64_t by = length_of(after) - length_of(before);
  TokenText there = text;
  if (text.bytes.empty()) {  // before the text, behind it, or in it
    const std::int64_t at = text.bytes.begin;
    const bool behind = at > 0 && at >= changed_end;
    const std::int64_t to = behind ? at + by : std::min(at, same.begin);
    there.bytes = {to, to};
    return there;
  }
  there.bytes.begin = text.bytes.begin >= changed_end ? text.bytes.begin + by : std::min(text.bytes.begin, same.begin);
  there.bytes.end = text.bytes.end > changed_end ? text.bytes.end + by : std::min(text.bytes.end, same.begin);
  return there.bytes.empty() ? std::nullopt : std::optional(there);
}

}  // namespace locus::views
