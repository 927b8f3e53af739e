// Small vocabularies made in a test: byte-level BPE learnt from a text.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "models/text/bpe/byte_level.h"

namespace locus::text {

using Word = std::vector<std::string>;

inline std::map<Word, int> count_words(const std::string& text) {
  std::map<Word, int> words;
  Word word;
  const auto end_word = [&] {
    if (!word.empty()) {
      ++words[word];
    }
    word.clear();
  };
  for (const char symbol : text) {
    if (symbol == ' ' || symbol == '\n') {
      end_word();
    }
    word.push_back(std::string(1, symbol));
  }
  end_word();
  return words;
}

inline void join(Word& word, const std::pair<std::string, std::string>& merge) {
  Word joined;
  for (std::size_t n = 0; n < word.size(); ++n) {
    if (n + 1 < word.size() && word[n] == merge.first && word[n + 1] == merge.second) {
      joined.push_back(word[n] + word[n + 1]);
      ++n;
    } else {
      joined.push_back(word[n]);
    }
  }
  word = std::move(joined);
}

// The joins that byte-pair encoding learns from the words of a text (spaces go to the word that follows), as byte
// strings, best first; fewer than `count` when no pair comes twice.
inline std::vector<std::pair<std::string, std::string>> learn_merges(const std::string& text, int count) {
  std::map<Word, int> counted = count_words(text);
  std::vector<std::pair<Word, int>> words(counted.begin(), counted.end());
  std::vector<std::pair<std::string, std::string>> merges;
  for (int n = 0; n < count; ++n) {
    std::map<std::pair<std::string, std::string>, int> pairs;
    for (const auto& [word, times] : words) {
      for (std::size_t at = 0; at + 1 < word.size(); ++at) {
        pairs[{word[at], word[at + 1]}] += times;
      }
    }
    std::pair<std::string, std::string> best;
    int most = 1;
    for (const auto& [pair, times] : pairs) {
      if (times > most) {
        best = pair;
        most = times;
      }
    }
    if (most < 2) {
      break;
    }
    for (auto& [word, times] : words) {
      join(word, best);
    }
    merges.push_back(best);
  }
  return merges;
}

// A tokenizer.json of byte-level BPE with GPT-2's split: the 256 bytes, then one entry a merge.
inline std::string learned_tokenizer_json(const std::string& text, int merges) {
  using Json = nlohmann::json;
  Json vocabulary = Json::object();
  for (int byte = 0; byte < 256; ++byte) {
    const char symbol = static_cast<char>(static_cast<std::uint8_t>(byte));
    vocabulary[to_byte_level({&symbol, 1})] = byte;
  }
  Json lines = Json::array();
  for (const auto& [left, right] : learn_merges(text, merges)) {
    lines.push_back(to_byte_level(left) + " " + to_byte_level(right));
    const auto id = vocabulary.size();
    vocabulary.emplace(to_byte_level(left + right), id);
  }
  const Json byte_level{{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}};
  const Json model{{"type", "BPE"}, {"vocab", vocabulary}, {"merges", lines}};
  return Json{{"pre_tokenizer", byte_level}, {"decoder", byte_level}, {"model", model}}.dump();
}

}  // namespace locus::text
