// Helpers of the tokenizer tests.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "models/text/tokenizer.h"

namespace locus::text {

inline std::vector<std::int64_t> ids_of(const std::vector<Token>& tokens) {
  std::vector<std::int64_t> ids;
  for (const Token& token : tokens) {
    ids.push_back(token.id);
  }
  return ids;
}

// The ranges follow each other without gap or overlap, from the first byte to the last.
inline void expect_tiles(const std::vector<Token>& tokens, const std::string& text) {
  std::int64_t at = 0;
  for (const Token& token : tokens) {
    EXPECT_EQ(token.bytes.begin, at) << "in \"" << text << "\"";
    EXPECT_GE(token.bytes.end, token.bytes.begin);
    at = token.bytes.end;
  }
  EXPECT_EQ(at, static_cast<std::int64_t>(text.size())) << "in \"" << text << "\"";
}

// An empty folder of this process, gone with the object.
class TestFolder {
 public:
  explicit TestFolder(const std::string& name)
      : path_(std::filesystem::temp_directory_path() / ("locus_" + name + "_" + std::to_string(getpid()))) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder() { std::filesystem::remove_all(path_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Random bytes, a fifth of them broken UTF-8, the rest characters of one to four bytes, spaces and line ends.
inline std::string random_text(std::mt19937& random, std::size_t pieces) {
  static const std::vector<std::string> kParts{" ",
                                               "  ",
                                               "\n",
                                               "\r\n",
                                               "\t",
                                               "a",
                                               "the",
                                               "word",
                                               "'s",
                                               "I'LL",
                                               "12345",
                                               "...",
                                               "é",
                                               "ß",
                                               "е",
                                               "中文",
                                               "ก็",
                                               "🦙",
                                               "👩‍👩‍👧",
                                               "\u00a0",
                                               "\xff",
                                               "\xc3",
                                               "\xe4\xb8",
                                               "\x80"};
  std::string text;
  for (std::size_t n = 0; n < pieces; ++n) {
    if (random() % 8 == 0) {
      text.push_back(static_cast<char>(static_cast<std::uint8_t>(random() % 256)));
    } else {
      text += kParts[random() % kParts.size()];
    }
  }
  return text;
}

}  // namespace locus::text
