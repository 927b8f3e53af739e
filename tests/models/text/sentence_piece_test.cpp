// SentencePiece models read without SentencePiece: the ids expected here are those of its own program (0.1.97).
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "models/text/tokenizer_files.h"
#include "tests/models/text/sentence_piece_file.h"
#include "tests/models/text/tokens.h"

namespace locus::text {
namespace {

using Ids = std::vector<std::int64_t>;
using Lines = std::vector<PieceLine>;

std::shared_ptr<const Tokenizer> opened(const Lines& pieces, const ModelOptions& options) {
  const auto result = parse_sentence_piece(sentence_piece_model(pieces, options), "tokenizer.model", {});
  EXPECT_TRUE(result.ok()) << result.error().describe();
  return result.ok() ? *result : byte_tokenizer();
}

Ids piece_ids(const Tokenizer& tokenizer, const std::string& text) {
  const auto tokens = tokenizer.encode(text, false);
  EXPECT_TRUE(tokens.ok());
  return tokens.ok() ? ids_of(*tokens) : Ids();
}

ModelOptions options_of(unsigned kind, bool byte_fallback = false) {
  ModelOptions options;
  options.kind = kind;
  options.byte_fallback = byte_fallback;
  return options;
}

// Ids 3 … 11.
const Lines kPieces{{"▁", -3},  {"a", -4},  {"b", -4},   {"c", -4},    {"ab", -2},
                    {"bc", -1}, {"▁a", -5}, {"abc", -9}, {"▁abc", -20}};

TEST(SentencePiece, UnigramTakesTheBestSum) {
  const auto tokenizer = opened(kPieces, options_of(1));
  EXPECT_EQ(piece_ids(*tokenizer, "abc"), (Ids{9, 8}));  // ▁a bc: −6
  EXPECT_EQ(piece_ids(*tokenizer, "ab"), (Ids{3, 7}));   // ▁ ab: −5
  EXPECT_EQ(piece_ids(*tokenizer, "xya"), (Ids{3, 0, 4}));
  EXPECT_EQ(piece_ids(*tokenizer, ""), Ids());
  // Among equal sums the one wins whose last piece begins first.
  const auto equal = opened({{"▁", -1}, {"a", -1}, {"b", -1}, {"ab", -2}}, options_of(1));
  EXPECT_EQ(piece_ids(*equal, "ab"), (Ids{3, 6}));
}

TEST(SentencePiece, BpeJoinsTheBestPairFirst) {
  const auto tokenizer = opened(kPieces, options_of(2));
  EXPECT_EQ(piece_ids(*tokenizer, "abc"), (Ids{11}));  // bc, then ▁a, then ▁abc
  EXPECT_EQ(piece_ids(*tokenizer, "babcab abc"), (Ids{3, 5, 10, 7, 11}));
  EXPECT_EQ(piece_ids(*tokenizer, "xya"), (Ids{3, 0, 4}));
  // Among equal scores the leftmost wins; a character that is no piece still becomes part of one.
  const auto equal = opened({{"aa", -1}, {"xyz", -3}, {"xy", -2}, {"a", -4}}, options_of(2));
  EXPECT_EQ(piece_ids(*equal, "aaa"), (Ids{0, 3, 6}));
  EXPECT_EQ(piece_ids(*equal, "xyzx"), (Ids{0, 4, 0}));
}

TEST(SentencePiece, UnusedAndUserDefinedPieces) {
  const Lines pieces{{"▁", -1}, {"a", -1}, {"b", -1}, {"c", -1}, {"ab", -2, 5}, {"abc", -3}, {"bb", 0, 4}, {"cb", -1}};
  const auto bpe = opened(pieces, options_of(2));
  EXPECT_EQ(piece_ids(*bpe, "ab"), (Ids{3, 4, 5}));  // joined, but unused: in parts again
  EXPECT_EQ(piece_ids(*bpe, "abc"), (Ids{3, 8}));
  EXPECT_EQ(piece_ids(*bpe, "cbb"), (Ids{3, 6, 9}));  // the user's piece is found first
  const auto unigram = opened(pieces, options_of(1));
  EXPECT_EQ(piece_ids(*unigram, "ab"), (Ids{3, 4, 5}));
  EXPECT_EQ(piece_ids(*unigram, "cbb"), (Ids{3, 6, 9}));
}

TEST(SentencePiece, WordsAndCharacters) {
  EXPECT_EQ(piece_ids(*opened(kPieces, options_of(3)), "abc x a"), (Ids{11, 0, 9}));
  EXPECT_EQ(piece_ids(*opened(kPieces, options_of(4)), "abx"), (Ids{3, 4, 5, 0}));
}

TEST(SentencePiece, SpaceRules) {
  ModelOptions options = options_of(2);
  options.remove_extra = true;
  const auto removed = opened(kPieces, options);
  const std::string text = "  a   b ";
  EXPECT_EQ(piece_ids(*removed, text), (Ids{9, 3, 5}));
  EXPECT_EQ(removed->decode(piece_ids(*removed, text)), "a b");
  EXPECT_EQ(piece_ids(*removed, "   "), Ids());
  const auto tokens = removed->encode(text, false);
  ASSERT_TRUE(tokens.ok());
  EXPECT_EQ((*tokens)[0].bytes.begin, 2);
  EXPECT_EQ((*tokens)[2].bytes.end, 8);
  options = options_of(2);
  options.suffix = true;
  const auto suffix = opened(kPieces, options);
  EXPECT_EQ(piece_ids(*suffix, "b a"), (Ids{5, 9, 3}));
  EXPECT_EQ(suffix->decode(Ids{5, 9, 3}), "b a");
  options = options_of(2);
  options.dummy_prefix = false;
  options.escape = false;
  const auto plain = opened({{"a", -1}, {" a", -1}, {"▁", -1}}, options);
  EXPECT_EQ(piece_ids(*plain, "a a▁"), (Ids{3, 4, 5}));
  EXPECT_EQ(plain->decode(Ids{4, 5}), " a▁");
}

TEST(SentencePiece, EveryByteComesBack) {
  for (const unsigned kind : {1U, 2U, 3U, 4U}) {
    const auto tokenizer = opened(kPieces, options_of(kind, true));
    std::mt19937 random(kind);
    for (int n = 0; n < 100; ++n) {
      const std::string text = random_text(random, random() % 40);
      const auto tokens = tokenizer->encode(text, false);
      ASSERT_TRUE(tokens.ok());
      EXPECT_EQ(tokenizer->decode(ids_of(*tokens)), text);
      expect_tiles(*tokens, text);
    }
  }
}

TEST(SentencePiece, BrokenTextWithoutByteFallback) {
  const auto tokenizer = opened({{"a", -1}, {"\uFFFD", -1}, {"▁", -1}}, options_of(2));
  const std::string text = "a\xff\xe4\xb8x";
  EXPECT_EQ(piece_ids(*tokenizer, text), (Ids{5, 3, 4, 4, 4, 0}));
  expect_tiles(*tokenizer->encode(text, false), text);
}

TEST(SentencePiece, DamagedModelsNameThePiece) {
  const auto expect_error = [](const std::string& bytes, const std::string& what) {
    const auto result = parse_sentence_piece(bytes, "tokenizer.model", {});
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, ErrorCode::kBadInput);
    EXPECT_EQ(result.error().describe().rfind("tokenizer.model", 0), 0U);
    EXPECT_NE(result.error().describe().find(what), std::string::npos) << result.error().describe();
  };
  const auto with = [](const Lines& pieces, const ModelOptions& options = {}) {
    return sentence_piece_model(pieces, options);
  };
  expect_error(with({{"a"}, {"a"}}), "piece 4: \"a\" is there twice");
  expect_error(with({{""}}), "piece 3");
  expect_error(with({{"\xff"}}), "piece 3: expected UTF-8");
  expect_error(with({{"a", std::numeric_limits<float>::infinity()}}), "piece 3: expected a finite score");
  expect_error(with({{"a", 0, 7}}), "piece 3: expected a type from 1 to 6, found 7");
  expect_error(with({{"?", 0, 2}}), "piece 3: expected one unknown piece");
  expect_error(with({{"<0x41>", 0, 6}}), "piece 3: a byte's piece, but no byte fallback");
  expect_error(with({}, options_of(5)), "model_type: expected 1 to 4, found 5");
  std::string model;
  put_piece(model, {"a"});
  expect_error(model, "expected an unknown piece, found none");
  put_piece(model, {"<unk>", 0, 2});
  std::string trainer;
  put_number(trainer, 35, 1);
  put_message(model, 2, trainer);
  expect_error(model, "byte fallback");
}

}  // namespace
}  // namespace locus::text
