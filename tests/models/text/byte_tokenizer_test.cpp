#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "models/text/tokenizer.h"
#include "tests/models/text/tokens.h"

namespace locus::text {
namespace {

std::string all_bytes() {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) {
    bytes.push_back(static_cast<char>(byte));
  }
  return bytes;
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
  const TestFolder folder("byte_tokenizer");
  ASSERT_TRUE(write_byte_tokenizer(folder.path()).ok());
  const auto opened = open_tokenizer(folder.path());
  ASSERT_TRUE(opened.ok()) << opened.error().describe();
  ASSERT_NE(*opened, nullptr);
  EXPECT_EQ((*opened)->kind(), "byte-level");
  EXPECT_EQ((*opened)->vocabulary(), 256);
  const auto tokens = (*opened)->encode(all_bytes());
  ASSERT_TRUE(tokens.ok());
  EXPECT_EQ((*opened)->decode(ids_of(*tokens)), all_bytes());
}

TEST(ByteTokenizer, FolderWithoutATokenizerGivesNone) {
  const TestFolder folder("no_tokenizer");
  const auto opened = open_tokenizer(folder.path());
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(*opened, nullptr);
}

TEST(ByteTokenizer, WritingIntoAMissingFolderIsAnError) {
  const auto written = write_byte_tokenizer("/nonexistent/folder");
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, ErrorCode::kBadInput);
}

}  // namespace
}  // namespace locus::text
