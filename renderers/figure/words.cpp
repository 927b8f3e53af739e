#include "renderers/figure/words.h"

#include <array>

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
  for (const char* space : {"·", "▁", "\n", "⏎"}) {
    replace_all(text, space, " ");
  }
  const std::size_t first = text.find_first_not_of(' ');
  const std::size_t last = text.find_last_not_of(' ');
  return first == std::string::npos ? "⏎" : text.substr(first, last - first + 1);
}

}  // namespace locus::figure
