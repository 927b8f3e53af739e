// The published vectors of real tokenizers: folders below LOCUS_TEST_DATA/tokenizers with the tokenizer's files,
// vectors.inp (texts between lines of __ggml_vocab_test__) and vectors.out (ids, one text a line, no special tokens).
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "core/base/atomic_file.h"
#include "models/text/tokenizer.h"
#include "tests/models/text/tokens.h"

namespace locus::text {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> read_texts(const fs::path& file) {
  const std::string all = *read_file(file, 1U << 20);
  const std::string mark = "\n__ggml_vocab_test__\n";
  std::vector<std::string> texts;
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = all.find(mark, at);
    if (end == std::string::npos) {
      break;
    }
    texts.push_back(all.substr(at, end - at));
    at = end + mark.size();
  }
  return texts;
}

std::vector<std::vector<std::int64_t>> read_ids(const fs::path& file) {
  std::istringstream lines(*read_file(file, 1U << 20));
  std::vector<std::vector<std::int64_t>> ids;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream numbers(line);
    auto& row = ids.emplace_back();
    for (std::int64_t id = 0; numbers >> id;) {
      row.push_back(id);
    }
  }
  return ids;
}

// Copies only `files` of a vocabulary, so that open_tokenizer() reads those.
void compare(const std::string& name, const std::vector<std::string>& files, bool lossless) {
  const char* data = std::getenv("LOCUS_TEST_DATA");
  if (data == nullptr) {
    GTEST_SKIP() << "LOCUS_TEST_DATA is not set: the published vectors are not compared";
  }
  const fs::path source = fs::path(data) / "tokenizers" / name;
  const TestFolder folder("vectors_" + name);
  for (const std::string& file : files) {
    fs::copy_file(source / file, folder.path() / file);
  }
  const auto tokenizer = open_tokenizer(folder.path());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().describe();
  ASSERT_NE(*tokenizer, nullptr);
  const auto texts = read_texts(source / "vectors.inp");
  const auto expected = read_ids(source / "vectors.out");
  ASSERT_EQ(texts.size(), 46U);
  ASSERT_EQ(expected.size(), texts.size());
  for (std::size_t n = 0; n < texts.size(); ++n) {
    const auto tokens = (*tokenizer)->encode(texts[n], false);
    ASSERT_TRUE(tokens.ok()) << tokens.error().describe();
    EXPECT_EQ(ids_of(*tokens), expected[n]) << "text " << n << ": " << texts[n];
    if (lossless) {
      EXPECT_EQ((*tokenizer)->decode(expected[n]), texts[n]);
      expect_tiles(*tokens, texts[n]);
    }
  }
}

TEST(PublishedVectors, Gpt2) {
  compare("gpt2", {"vocab.json", "merges.txt"}, true);
}
TEST(PublishedVectors, Llama2TokenizerJson) {
  compare("llama2", {"tokenizer.json"}, true);
}
TEST(PublishedVectors, Llama2SentencePiece) {
  compare("llama2", {"tokenizer.model"}, true);
}
TEST(PublishedVectors, Llama3) {
  compare("llama3", {"tokenizer.model"}, true);
}
TEST(PublishedVectors, Bert) {
  compare("bert", {"vocab.txt"}, false);
}

}  // namespace
}  // namespace locus::text
