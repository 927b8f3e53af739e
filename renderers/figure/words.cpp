#include "renderers/figure/words.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>

#include "core/base/shown.h"

namespace locus::figure {
namespace {

// Characters that tokenizers and Locus write for a space.
constexpr std::array<std::string_view, 4> kSpaces = {" ", "·", "▁", "<0x09>"};
constexpr std::size_t kWrittenByte = 6;  // letters of <0xE7>

bool is_space(const std::string& token) {
  return std::ranges::find(kSpaces, token) != kSpaces.end();
}

bool begins_with_space(const std::string& token) {
  return std::ranges::any_of(kSpaces, [&](std::string_view space) { return token.starts_with(space); });
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// One byte written as <0xE7>, at `at`.
std::optional<char> written_byte(const std::string& text, std::size_t at) {
  unsigned value = 0;
  if (text.compare(at, 3, "<0x") != 0 || at + kWrittenByte > text.size() || text[at + kWrittenByte - 1] != '>') {
    return std::nullopt;
  }
  const auto [end, code] = std::from_chars(text.data() + at + 3, text.data() + at + 5, value, 16);
  return code == std::errc() && end == text.data() + at + 5 ? std::optional(static_cast<char>(value)) : std::nullopt;
}

// Bytes of the UTF-8 character that begins there; 0: none does.
std::size_t character_length(const std::string& bytes) {
  const auto first = static_cast<unsigned char>(bytes.front());
  const std::size_t length = first < 0x80 ? 1 : first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 0;
  bool whole = length > 0 && length <= bytes.size();
  for (std::size_t n = 1; whole && n < length; ++n) {
    whole = continues_character(bytes[n]);
  }
  return whole ? length : 0;
}

// Bytes that tokens write as <0xE7> are the characters that they make; what makes none stays as it is written.
std::string with_characters(const std::string& text) {
  std::string out;
  std::size_t at = 0;
  while (at < text.size()) {
    std::string bytes;
    for (auto byte = written_byte(text, at); byte && bytes.size() < 4;
         byte = written_byte(text, at + kWrittenByte * bytes.size())) {
      bytes += *byte;
    }
    const std::size_t length = bytes.empty() ? 0 : character_length(bytes);
    if (length > 1) {
      out += bytes.substr(0, length);
      at += kWrittenByte * length;
    } else {
      out += text[at++];
    }
  }
  return out;
}

// Every byte of a token that is nothing but written bytes; empty: it is something else.
std::string bytes_of(const std::string& token) {
  std::string bytes;
  for (std::size_t at = 0; at < token.size(); at += kWrittenByte) {
    const auto byte = written_byte(token, at);
    if (!byte) {
      return {};
    }
    bytes += *byte;
  }
  return bytes;
}

// Whether a character leaves a mark: no-break and other wide or narrow spaces, marks of direction and breaks do not.
bool is_visible(const std::string& character) {
  const auto last = static_cast<unsigned char>(character.back());
  if (character.starts_with("\xC2")) {
    return last > 0xA0 && last != 0xAD;
  }
  return !(character.starts_with("\xE2\x80") && (last <= 0x8F || (last >= 0xA8 && last <= 0xAF))) &&
         character != "\xEF\xBB\xBF" && character != "\xE3\x80\x80";
}

bool breaks_after(const std::vector<std::string>& tokens, std::int64_t n) {
  return ends_line(tokens[static_cast<std::size_t>(n)]);
}

// Whether a word begins with the token: n ≥ 1.
bool is_first(const std::vector<std::string>& tokens, std::int64_t n) {
  return begins_word(tokens, static_cast<std::size_t>(n)) || (breaks_after(tokens, n - 1) && !breaks_after(tokens, n));
}

}  // namespace

bool begins_word(const std::vector<std::string>& tokens, std::size_t n) {
  return !is_space(tokens[n]) && (begins_with_space(tokens[n]) || is_space(tokens[n - 1]));
}

bool ends_line(const std::string& token) {
  return token.ends_with('\n') || token.ends_with("⏎") || token.ends_with("<0x0D>");
}

std::vector<Range> words_of(const std::vector<std::string>& tokens, Range cells) {
  std::vector<Range> words;
  for (std::int64_t n = cells.begin; n < cells.end; ++n) {
    if (words.empty() || is_first(tokens, n)) {
      words.push_back({n, n});
    }
    words.back().end = n + 1;
  }
  return words;
}

Range whole_words(const std::vector<std::string>& tokens, Range cells) {
  while (cells.begin > 0 && !is_first(tokens, cells.begin)) {
    --cells.begin;
  }
  while (cells.end < static_cast<std::int64_t>(tokens.size()) && !is_first(tokens, cells.end)) {
    ++cells.end;
  }
  return cells;
}

std::string name_of(const std::vector<std::string>& tokens, std::size_t n) {
  static constexpr std::array<const char*, 4> kParts = {"¹", "²", "³", "⁴"};
  const std::string own = bytes_of(tokens[n]);
  std::string bytes = own;    // from the first byte of the character that the token's first byte is part of
  std::size_t own_begin = 0;  // of the token in them
  std::size_t part = 0;       // of the character's tokens
  while (!bytes.empty() && continues_character(bytes.front())) {
    const std::string before = part + 1 < kParts.size() && part < n ? bytes_of(tokens[n - part - 1]) : std::string();
    if (before.empty()) {
      return tokens[n];
    }
    const auto first = std::find_if_not(before.rbegin(), before.rend(), continues_character);
    const std::string taken = first == before.rend() ? before : std::string(first.base() - 1, before.end());
    bytes = taken + bytes;
    own_begin += taken.size();
    ++part;
  }
  for (std::size_t next = n + 1; !bytes.empty() && character_length(bytes) == 0 && next < tokens.size(); ++next) {
    const std::string more = bytes_of(tokens[next]);
    if (more.empty() || bytes.size() > kParts.size()) {
      break;
    }
    bytes += more;
  }
  const std::size_t length = bytes.empty() ? 0 : character_length(bytes);
  if (length < 2 || own_begin + own.size() > length || !is_visible(bytes.substr(0, length))) {
    return tokens[n];  // no character's, or of several
  }
  return bytes.substr(0, length) + (own.size() == length ? "" : kParts[part]);
}

std::string text_of(const std::vector<std::string>& tokens, Range cells) {
  std::string text;
  for (std::int64_t n = cells.begin; n < cells.end; ++n) {
    text += tokens[static_cast<std::size_t>(n)];
  }
  text = with_characters(text);
  for (const char* space : {"·", "▁", "<0x09>", "<0x0D>", "\n", "⏎"}) {
    replace_all(text, space, " ");
  }
  const std::size_t first = text.find_first_not_of(' ');
  const std::size_t last = text.find_last_not_of(' ');
  return first == std::string::npos ? "⏎" : text.substr(first, last - first + 1);
}

}  // namespace locus::figure
