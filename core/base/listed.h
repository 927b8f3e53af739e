// listed(): "a, b, c", as messages and tables name what there is; listed_choices(): "a, b or c"; listed_known(): the
// first of them.
#pragma once

#include <cstddef>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>

namespace locus {

// `word` is what is written of each element: a member, or a function of it.
template <class List, class Word = std::identity>
std::string listed(const List& list, const Word& word = {}, std::string_view separator = ", ") {
  std::string text;
  for (const auto& each : list) {
    text.append(text.empty() ? "" : separator).append(std::invoke(word, each));
  }
  return text;
}

// "a, b or c".
template <class List>
std::string listed_choices(const List& list) {
  std::string text;
  for (std::size_t n = 0; n < list.size(); ++n) {
    text.append(n == 0 ? "" : n + 1 == list.size() ? " or " : ", ").append(list[n]);
  }
  return text;
}

constexpr std::size_t kMaxListed = 200;  // bytes of names in a message

// The first names of what is known, as many as fit; behind them how many there are more, and the topic of the manual
// that has them all: "a, b and 40 more: `locus help encodings`".
template <class List, class Word = std::identity>
std::string listed_known(const List& list, std::string_view topic, const Word& word = {}) {
  std::string text;
  std::size_t named = 0;
  for (const auto& each : list) {
    std::string next(text.empty() ? "" : ", ");
    next.append(std::invoke(word, each));
    if (text.size() + next.size() > kMaxListed) {
      break;
    }
    text += next;
    ++named;
  }
  const auto more = static_cast<std::size_t>(std::distance(std::begin(list), std::end(list))) - named;
  return more == 0 ? text : text + " and " + std::to_string(more) + " more: `locus help " + std::string(topic) + "`";
}

}  // namespace locus
