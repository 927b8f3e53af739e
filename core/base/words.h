// Names of enumeration values in files and on command lines: tables of words and values.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/listed.h"

namespace locus {

template <class Value, std::size_t n>
using WordTable = std::array<std::pair<std::string_view, Value>, n>;

// The value that `word` stands for; none for an unknown word.
template <class Value, std::size_t n>
constexpr std::optional<Value> find_word(const WordTable<Value, n>& words, std::string_view word) {
  for (const auto& [each, value] : words) {
    if (each == word) {
      return value;
    }
  }
  return std::nullopt;
}

// The first word of a value; empty where it has none.
template <class Value, std::size_t n>
constexpr std::string_view word_of(const WordTable<Value, n>& words, Value value) {
  for (const auto& [word, each] : words) {
    if (each == value) {
      return word;
    }
  }
  return {};
}

// "a, b, c".
template <class Value, std::size_t n>
std::string words_of(const WordTable<Value, n>& words) {
  return listed(words, [](const auto& each) { return each.first; });
}

}  // namespace locus
