#include "renderers/figure/words.h"

#include <array>
#include <charconv>
#include <optional>

namespace locus::figure {
namespace {

// What tokenizers and Locus write for a space.
constexpr std::array<const char*, 3> kSpaces = {" ", "·", "▁"};

bool is_space(const std::string& token) {
  for (const char* space : kSpaces) {
    if (token == space) {
      return true;
    }
  }
  return false;
}

bool begins_with_space(const std::string& token) {
  for (const char* space : kSpaces) {
    if (token.starts_with(space)) {
      return true;
    }
  }
  return false;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// One byte written as <0xE7>, at `at`.
std::optional<char> written_byte(const std::string& text, std::size_t at) {
  constexpr std::size_t kLength = 6;
  unsigned value = 0;
  if (text.compare(at, 3, "<0x") != 0 || at + kLength > text.size() || text[at + kLength - 1] != '>') {
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
    whole = (static_cast<unsigned char>(bytes[n]) & 0xC0U) == 0x80;
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
         byte = written_byte(text, at + 6 * bytes.size())) {
      bytes += *byte;
    }
    const std::size_t length = bytes.empty() ? 0 : character_length(bytes);
    if (length > 1) {
      out += bytes.substr(0, length);
      at += 6 * length;
    } else {
      out += text[at++];
    }
  }
  return out;
}

}  // namespace

bool begins_word(const std::vector<std::string>& tokens, std::size_t n) {
  return !is_space(tokens[n]) && (begins_with_space(tokens[n]) || is_space(tokens[n - 1]));
}

bool ends_line(const std::string& token) {
  return token.ends_with('\n') || token.ends_with("⏎");
}

std::vector<Range> words_of(const std::vector<std::string>& tokens, Range cells) {
  std::vector<Range> words;
  for (std::int64_t n = cells.begin; n < cells.end; ++n) {
    const auto at = static_cast<std::size_t>(n);
    const auto breaks = [&](std::size_t token) { return ends_line(tokens[token]); };
    const bool begins = words.empty() || begins_word(tokens, at) || (breaks(at - 1) && !breaks(at));
    if (begins) {
      words.push_back({n, n});
    }
    words.back().end = n + 1;
  }
  return words;
}

std::string text_of(const std::vector<std::string>& tokens, Range cells) {
  std::string text;
  for (std::int64_t n = cells.begin; n < cells.end; ++n) {
    text += tokens[static_cast<std::size_t>(n)];
  }
  text = with_characters(text);
  for (const char* space : {"·", "▁", "\n", "⏎"}) {
    replace_all(text, space, " ");
  }
  const std::size_t first = text.find_first_not_of(' ');
  const std::size_t last = text.find_last_not_of(' ');
  return first == std::string::npos ? "⏎" : text.substr(first, last - first + 1);
}

}  // namespace locus::figure
