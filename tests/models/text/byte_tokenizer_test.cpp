#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "models/text/tokenizer.h"

namespace locus::text {
namespace {

std::string all_bytes() {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) {
    bytes.push_back(static_cast<char>(byte));
  }
  return bytes;
}

std::vector<std::int64_t> ids_of(const std::vector<Token>& tokens) {
  std::vector<std::int64_t> ids;
  for (const Token& token : tokens) {
    ids.push_back(token.id);
  }
  return ids;
}

std::filesystem::path fresh_folder(const std::string& name) {
  const auto folder = std::filesystem::temp_directory_path() / ("locus_" + name + "_" + std::to_string(getpid()));
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

TEST(ByteTokenizer, GivesEveryByteItsOwnTokenAndRange) {
  const auto tokenizer = byte_tokenizer();
  const std::string text = all_bytes();
  const auto tokens = tokenizer->encode(text);
  ASSERT_TRUE(tokens.ok());
  ASSERT_EQ(tokens->size(), 256U);
  for (std::int64_t n = 0; n < 256; ++n) {
    EXPECT_EQ((*tokens)[static_cast<std::size_t>(n)].id, n);
    EXPECT_EQ((*tokens)[static_cast<std::size_t>(n)].bytes, (Range{n, n + 1}));
  }
  EXPECT_EQ(tokenizer->decode(ids_of(*tokens)), text);
  EXPECT_EQ(tokenizer->vocabulary(), 256);
}

TEST(ByteTokenizer, LabelsAreReadable) {
  const auto tokenizer = byte_tokenizer();
  EXPECT_EQ(tokenizer->label('a'), "a");
  EXPECT_EQ(tokenizer->label(' '), "·");
  EXPECT_EQ(tokenizer->label('\n'), "⏎");
  EXPECT_EQ(tokenizer->label('\t'), "<0x09>");
  EXPECT_EQ(tokenizer->label(0xFF), "<0xFF>");
  EXPECT_EQ(tokenizer->label(300), "#300");
}

TEST(ByteTokenizer, WrittenFolderOpensAsTheSameTokenizer) {
  const auto folder = fresh_folder("byte_tokenizer");
  ASSERT_TRUE(write_byte_tokenizer(folder).ok());
  const auto opened = open_tokenizer(folder);
  ASSERT_TRUE(opened.ok()) << opened.error().describe();
  ASSERT_NE(*opened, nullptr);
  EXPECT_EQ((*opened)->kind(), "byte-level");
  EXPECT_EQ((*opened)->vocabulary(), 256);
  const auto tokens = (*opened)->encode(all_bytes());
  ASSERT_TRUE(tokens.ok());
  EXPECT_EQ((*opened)->decode(ids_of(*tokens)), all_bytes());
  std::filesystem::remove_all(folder);
}

TEST(ByteTokenizer, FolderWithoutATokenizerGivesNone) {
  const auto folder = fresh_folder("no_tokenizer");
  const auto opened = open_tokenizer(folder);
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(*opened, nullptr);
  std::filesystem::remove_all(folder);
}

TEST(ByteTokenizer, WritingIntoAMissingFolderIsAnError) {
  const auto written = write_byte_tokenizer("/nonexistent/folder");
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, ErrorCode::kBadInput);
}

}  // namespace
}  // namespace locus::text
