#include "models/text/token_tables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "models/text/bpe/byte_level.h"
#include "tests/support/paths.h"

namespace locus::text {
namespace {

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

std::vector<std::int64_t> encoded(const Tokenizer& tokenizer, std::string_view text, bool special = true) {
  std::vector<std::int64_t> ids;
  const auto tokens = tokenizer.encode(text, special);
  EXPECT_TRUE(tokens.ok());
  for (const Token& token : tokens.ok() ? *tokens : std::vector<Token>{}) {
    ids.push_back(token.id);
  }
  return ids;
}

TokenTables pieces() {
  TokenTables tables;
  tables.file = "a.gguf";
  tables.model = "llama";
  tables.tokens = {"<unk>", "<s>", "</s>", "▁", "a", "b", "▁a", "ab", "▁ab", "<|user|>", "  "};
  tables.scores = {0, 0, 0, -9, -9, -9, -3, -2, -1, 0, 0};
  tables.types = {2, 3, 3, 1, 1, 1, 1, 1, 1, 3, 4};
  tables.begin = 1;
  tables.end = 2;
  return tables;
}

TEST(TokenTables, JoinPiecesByTheirScores) {
  const auto tokenizer = tokenizer_of(pieces());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().describe();
  EXPECT_EQ(encoded(**tokenizer, "ab a"), (std::vector<std::int64_t>{1, 8, 6}));
  EXPECT_EQ(encoded(**tokenizer, "ab", false), (std::vector<std::int64_t>{8}));
  EXPECT_EQ(encoded(**tokenizer, "x"), (std::vector<std::int64_t>{1, 3, 0}));
  EXPECT_EQ(encoded(**tokenizer, "<|user|>ab"), (std::vector<std::int64_t>{1, 9, 8}));
  EXPECT_TRUE((*tokenizer)->is_special(9));
  EXPECT_EQ((*tokenizer)->decode(std::vector<std::int64_t>{1, 8, 6}), "ab a");
  TokenTables bare = pieces();
  bare.space_before = false;
  bare.add_begin = false;
  bare.add_end = true;
  EXPECT_EQ(encoded(**tokenizer_of(bare), "ab"), (std::vector<std::int64_t>{7, 2}));
}

// The pieces above with user-defined ones, which GGUF files write with real spaces, and all bytes (from id 14 on).
TokenTables kept_pieces(bool space_before) {
  TokenTables tables = pieces();
  for (const char* kept : {"   ", "<td>", "\n\n"}) {
    tables.tokens.emplace_back(kept);
    tables.types.push_back(4);
  }
  static const std::vector<std::string> bytes = [] {
    std::vector<std::string> names;
    for (int byte = 0; byte < 256; ++byte) {
      names.push_back(byte_name(static_cast<std::uint8_t>(byte)));
    }
    return names;
  }();
  tables.tokens.insert(tables.tokens.end(), bytes.begin(), bytes.end());
  tables.types.resize(tables.tokens.size(), 6);
  tables.scores.resize(tables.tokens.size(), -1000);
  tables.unknown = 0;
  tables.space_before = space_before;
  return tables;
}

using TextAndIds = std::pair<const char*, std::vector<std::int64_t>>;

// Without a space before the text, as Gemma's files: the ids of SentencePiece 0.2.3 for the pieces with U+2581, and of
// llama.cpp (October 2026) for the file as it is. They differ where a text has U+2581 itself: SentencePiece, for which
// it is a space, is what the model was trained with.
TEST(TokenTables, FindRunsOfSpacesAmongTheUserDefinedPieces) {
  const auto tokenizer = tokenizer_of(kept_pieces(false));
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().describe();
  for (const auto& [text, ids] : std::vector<TextAndIds>{{"  a", {1, 10, 4}},
                                                         {"    ab", {1, 11, 8}},
                                                         {"a  b", {1, 4, 10, 5}},
                                                         {"a b", {1, 4, 3, 5}},
                                                         {"     a", {1, 11, 10, 4}},
                                                         {"  \n\n   ab\n\n", {1, 10, 13, 11, 7, 13}},
                                                         {"a<td>  ab", {1, 4, 12, 10, 7}},
                                                         {" <td> ab", {1, 3, 12, 8}},
                                                         {"<|user|>  ab", {1, 9, 10, 7}},
                                                         {"x  ", {1, 134, 10}},
                                                         {"\t  a", {1, 23, 10, 4}},
                                                         {"▁▁a", {1, 10, 4}},
                                                         {" ▁a", {1, 10, 4}},
                                                         {"▁▁▁▁a", {1, 11, 6}}}) {
    EXPECT_EQ(encoded(**tokenizer, text), ids) << '"' << text << '"';
  }
  EXPECT_EQ((*tokenizer)->decode(std::vector<std::int64_t>{1, 4, 10, 5}), "a  b");
  EXPECT_EQ((*tokenizer)->label(10), "··");
  EXPECT_FALSE((*tokenizer)->is_special(10));
}

// With a space before the text, which then stands before each part between them: the ids of llama.cpp.
TEST(TokenTables, CutATextAtItsUserDefinedPieces) {
  const auto tokenizer = tokenizer_of(kept_pieces(true));
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().describe();
  for (const auto& [text, ids] : std::vector<TextAndIds>{{"  a", {1, 10, 6}},
                                                         {"    ab", {1, 11, 3, 8}},
                                                         {"a  b", {1, 6, 10, 3, 5}},
                                                         {"  \n\n   ab\n\n", {1, 10, 13, 11, 8, 13}},
                                                         {"<td>ab", {1, 12, 8}},
                                                         {"a<td>ab", {1, 6, 12, 8}},
                                                         {" <td> ab", {1, 3, 3, 12, 3, 8}},
                                                         {"\t  a", {1, 3, 23, 10, 6}},
                                                         {"▁▁a", {1, 3, 3, 6}}}) {
    EXPECT_EQ(encoded(**tokenizer, text), ids) << '"' << text << '"';
  }
  EXPECT_EQ((*tokenizer)->decode(std::vector<std::int64_t>{1, 12, 8}), "<td> ab");
  EXPECT_FALSE((*tokenizer)->is_special(12));
}

// The tables of a bundled tokenizer.json give its ids.
TEST(TokenTables, JoinBytesAsTheTokenizerTheyCameFrom) {
  const std::string folder = test::source_dir() + "/assets/checkpoints/text-words-rope";
  std::ifstream file(folder + "/tokenizer.json");
  const nlohmann::json json = nlohmann::json::parse(file);
  std::vector<std::string> tokens(json["model"]["vocab"].size());
  for (const auto& [token, id] : json["model"]["vocab"].items()) {
    tokens.at(id.get<std::size_t>()) = token;
  }
  std::vector<std::string> merges;
  for (const auto& merge : json["model"]["merges"]) {
    merges.push_back(merge.is_string() ? merge.get<std::string>()
                                       : merge[0].get<std::string>() + " " + merge[1].get<std::string>());
  }
  TokenTables tables;
  tables.model = "gpt2";
  tables.pre = "gpt-2";
  tables.tokens.assign(tokens.begin(), tokens.end());
  tables.merges.assign(merges.begin(), merges.end());
  const auto tokenizer = tokenizer_of(tables);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().describe();
  const auto expected = open_tokenizer(folder);
  ASSERT_TRUE(expected.ok());
  const std::string text = "First Citizen:\nBefore we proceed 1234 any further, hear me speak. Ünïcode 中文  !";
  EXPECT_EQ(encoded(**tokenizer, text), encoded(**expected, text));
  EXPECT_EQ((*tokenizer)->decode(encoded(**tokenizer, text)), text);
  // Digits one by one, and a token around the text where the family has one.
  tables.pre = "llama-bpe";
  tables.begin = 5;
  EXPECT_EQ(encoded(**tokenizer_of(tables), "a").front(), 5);
  tables.add_begin = false;
  EXPECT_NE(encoded(**tokenizer_of(tables), "a").front(), 5);
}

TEST(TokenTables, CutWordsAsTheirNameSays) {
  TokenTables tables;
  tables.file = "a.gguf";
  tables.model = "gpt2";
  tables.tokens = {"1", "2", "12", "Ġ", "a", "Ġa", "A", "aA"};
  tables.merges = {"1 2", "Ġ a", "a A"};
  const auto with = [&](const char* pre, const char* text) {
    tables.pre = pre;
    const auto tokenizer = tokenizer_of(tables);
    EXPECT_TRUE(tokenizer.ok()) << tokenizer.error().describe();
    return encoded(**tokenizer, text);
  };
  EXPECT_EQ(with("gpt-2", "12"), (std::vector<std::int64_t>{2}));
  EXPECT_EQ(with("llama-bpe", "12"), (std::vector<std::int64_t>{2}));
  EXPECT_EQ(with("qwen2", "12"), (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(with("smollm", "12 a"), (std::vector<std::int64_t>{0, 1, 5}));
  EXPECT_EQ(with("tekken", "12"), (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(with("tekken", "aA"), (std::vector<std::int64_t>{4, 6}));
  EXPECT_EQ(with("qwen2", "aA"), (std::vector<std::int64_t>{7}));
  EXPECT_EQ(with("gpt-4o", "12"), (std::vector<std::int64_t>{2}));
  for (const char* const pre : {"glm4", "deepseek-v3", "falcon", "bloom", "exaone4", "minimax-m2"}) {
    EXPECT_EQ(with(pre, "12 a"), (std::vector<std::int64_t>{2, 5})) << pre;
  }
  for (const char* const pre : {"exaone", "deepseek-coder", "viking", "bailingmoe", "seed-coder", "solar-open"}) {
    EXPECT_EQ(with(pre, "12 a"), (std::vector<std::int64_t>{0, 1, 5})) << pre;
  }
  EXPECT_EQ(with("deepseek-v3", "a中"), (std::vector<std::int64_t>{4}));  // no bytes of 中 among the tokens
  // A mark behind a letter, in two bytes.
  const std::string first = to_byte_level("\xCC");
  const std::string second = to_byte_level("\x81");
  const std::string joined = "a" + first;
  const std::string merge = "a " + first;
  tables.tokens.insert(tables.tokens.end(), {first, second, joined});
  tables.merges.push_back(merge);
  EXPECT_EQ(with("qwen2", "a\xCC\x81"), (std::vector<std::int64_t>{4, 8, 9}));
  EXPECT_EQ(with("qwen35", "a\xCC\x81"), (std::vector<std::int64_t>{10, 9}));
  EXPECT_EQ(with("qwen35", "12"), (std::vector<std::int64_t>{0, 1}));
}

// The likeliest pieces, where merges would take others, with a space before the text and one token behind it.
TEST(TokenTables, ChooseTheLikeliestPieces) {
  TokenTables tables;
  tables.file = "a.gguf";
  tables.model = "t5";
  tables.tokens = {"<pad>", "</s>", "<unk>", "▁", "a", "b", "c", "▁a", "bc", "▁ab", "<extra_id_0>"};
  tables.scores = {0, 0, 0, -3, -4, -4, -4, -2, -1.5, -2.5, 0};
  tables.types = {3, 3, 2, 1, 1, 1, 1, 1, 1, 1, 4};
  tables.end = 1;
  tables.unknown = 2;
  const auto tokenizer = tokenizer_of(tables);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().describe();
  EXPECT_EQ(encoded(**tokenizer, "abc"), (std::vector<std::int64_t>{7, 8, 1}));
  EXPECT_EQ(encoded(**tokenizer, "ab", false), (std::vector<std::int64_t>{9}));
  EXPECT_EQ(encoded(**tokenizer, "a x"), (std::vector<std::int64_t>{7, 3, 2, 1}));
  EXPECT_EQ(encoded(**tokenizer, "<extra_id_0>a", false).front(), 10);
  EXPECT_EQ((*tokenizer)->decode(std::vector<std::int64_t>{7, 8}), "abc");
  tables.space_before = false;
  tables.add_end = false;
  EXPECT_EQ(encoded(**tokenizer_of(tables), "abc"), (std::vector<std::int64_t>{4, 8}));
  tables.charsmap = "abc";
  EXPECT_FALSE(tokenizer_of(tables).ok());
}

// Words and their parts; a table in small letters reads capitals and accents as those.
TEST(TokenTables, FindWordsAndTheirParts) {
  TokenTables tables;
  tables.file = "a.gguf";
  tables.model = "bert";
  tables.tokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "▁play", "ing", "▁e", "▁!", "s"};
  const auto tokenizer = tokenizer_of(tables);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().describe();
  EXPECT_EQ(encoded(**tokenizer, "Playing É!"), (std::vector<std::int64_t>{2, 4, 5, 6, 7, 3}));
  EXPECT_EQ(encoded(**tokenizer, "plays x", false), (std::vector<std::int64_t>{4, 8, 1}));
  EXPECT_EQ((*tokenizer)->decode(std::vector<std::int64_t>{2, 4, 5, 7, 3}), "playing!");
  tables.tokens.emplace_back("▁Play");
  EXPECT_EQ(encoded(**tokenizer_of(tables), "Playing É!"), (std::vector<std::int64_t>{2, 9, 5, 1, 7, 3}));
  tables.tokens.emplace_back("a\nb");
  EXPECT_HAS(tokenizer_of(tables).error().describe(), "expected tokens of one line, found");
}

TEST(TokenTables, RefuseTablesThatDoNotFit) {
  const auto refusal = [](const TokenTables& tables, ErrorCode code = ErrorCode::kBadInput) {
    const auto tokenizer = tokenizer_of(tables);
    EXPECT_FALSE(tokenizer.ok());
    EXPECT_EQ(tokenizer.error().code, code);
    return tokenizer.error().describe();
  };
  TokenTables tables = pieces();
  tables.scores.pop_back();
  EXPECT_HAS(refusal(tables), "a.gguf: expected 11 finite scores of tokens, found 10");
  tables.scores.push_back(std::numeric_limits<double>::quiet_NaN());
  EXPECT_HAS(refusal(tables), "found others");
  tables = pieces();
  tables.types.back() = 7;
  EXPECT_HAS(refusal(tables), "token 10: expected a type from 1 to 6");
  tables.types.pop_back();
  EXPECT_HAS(refusal(tables), "expected 11 types of tokens, found 10");
  tables = pieces();
  tables.unknown = 11;
  EXPECT_HAS(refusal(tables), "expected an id below 11 for the unknown token, found 11");
  tables.unknown = -1;
  EXPECT_HAS(refusal(tables), "found -1");
  tables = pieces();
  tables.model = "rwkv";
  EXPECT_HAS(refusal(tables, ErrorCode::kUnsupported), "expected llama, gpt2, t5 or bert, found \"rwkv\"");
  tables.model = "gpt2";
  tables.pre = "default";
  EXPECT_HAS(refusal(tables, ErrorCode::kUnsupported), "tokenizer.ggml.pre: cutting words as \"default\"");
  tables.pre = "qwen2";
  tables.merges = {"ab"};
  EXPECT_HAS(refusal(tables), "merges: expected \"a b\", found \"ab\"");
  tables.tokens.clear();
  EXPECT_HAS(refusal(tables), "expected 1 to 16777216 tokens, found 0");
}

}  // namespace
}  // namespace locus::text
