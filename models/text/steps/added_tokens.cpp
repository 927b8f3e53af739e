#include "models/text/steps/added_tokens.h"

#include "models/text/unicode.h"
#include "models/text/utf8.h"

namespace locus::text {
namespace {

// Start of the character that ends at `at` > 0.
std::size_t before(std::string_view text, std::size_t at) {
  for (std::size_t bytes = 1; bytes <= 4 && bytes <= at; ++bytes) {
    const Character character = character_at(text.substr(0, at), at - bytes);
    if (character.valid && character.bytes == bytes) {
      return at - bytes;
    }
  }
  return at - 1;
}

bool word_at(std::string_view text, std::size_t at) {
  const Character character = character_at(text, at);
  return character.valid && is_word(character.code);
}

bool white_at(std::string_view text, std::size_t at) {
  const Character character = character_at(text, at);
  return character.valid && is_white_space(character.code);
}

}  // namespace

void AddedTokenFinder::add(std::string_view as, const AddedToken& token) {
  if (as.empty()) {
    return;
  }
  std::uint32_t node = 0;
  for (const char symbol : as) {
    const auto byte = static_cast<std::uint8_t>(symbol);
    if (const auto* edge = edges_.find(node, byte)) {
      node = edge->first;
    } else {
      edges_.insert(node, byte, {++nodes_, 0});
      node = nodes_;
    }
  }
  ends_.emplace(node, &token);
  begins_[static_cast<std::uint8_t>(as.front())] = true;
}

AddedTokenFinder::Match AddedTokenFinder::longest_at(std::string_view text, std::size_t at) const {
  Match longest;
  if (!begins_[static_cast<std::uint8_t>(text[at])]) {
    return longest;
  }
  std::uint32_t node = 0;
  for (std::size_t end = at; end < text.size();) {
    const auto* edge = edges_.find(node, static_cast<std::uint8_t>(text[end]));
    if (edge == nullptr) {
      break;
    }
    node = edge->first;
    ++end;
    if (const auto found = ends_.find(node); found != ends_.end()) {
      longest = {end, found->second};
    }
  }
  return longest;
}

std::vector<Segment> AddedTokenFinder::split(std::string_view text) const {
  std::vector<Segment> segments;
  const auto add_segment = [&](std::size_t begin, std::size_t end, const AddedToken* token) {
    if (begin < end) {
      segments.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end), token});
    }
  };
  std::size_t between = 0;  // where the text since the last token begins
  for (std::size_t at = 0; at < text.size() && !empty();) {
    const Match match = longest_at(text, at);
    if (match.token == nullptr) {
      ++at;
      continue;
    }
    const AddedToken& token = *match.token;
    if (token.single_word &&
        ((at > 0 && word_at(text, before(text, at))) || (match.end < text.size() && word_at(text, match.end)))) {
      at = match.end;
      continue;
    }
    std::size_t begin = at;
    std::size_t end = match.end;
    while (token.left_strip && begin > between && white_at(text, before(text, begin))) {
      begin = before(text, begin);
    }
    while (token.right_strip && end < text.size() && white_at(text, end)) {
      end += character_at(text, end).bytes;
    }
    add_segment(between, begin, nullptr);
    add_segment(begin, end, &token);
    at = between = end;
  }
  add_segment(between, text.size(), nullptr);
  return segments;
}

}  // namespace locus::text
