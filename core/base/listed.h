// listed(): "a, b, c", as messages and tables name what there is.
#pragma once

#include <functional>
#include <string>

namespace locus {

// `word` is what is written of each element: a member, or a function of it.
template <class List, class Word = std::identity>
std::string listed(const List& list, const Word& word = {}) {
  std::string text;
  for (const auto& each : list) {
    text.append(text.empty() ? "" : ", ").append(std::invoke(word, each));
  }
  return text;
}

}  // namespace locus
