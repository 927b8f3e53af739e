// Files nobody vouches for: every one is a clear error, in bounded time.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "models/text/steps/pattern.h"
#include "models/text/tokenizer.h"
#include "models/text/tokenizer_files.h"
#include "tests/models/text/tokens.h"
#include "tests/support/bpe_vocabulary.h"
#include "tests/support/waits.h"

namespace locus::text {
namespace {

void expect_error(const std::string& json, ErrorCode code, const std::string& named) {
  const auto parsed = parse_tokenizer_json(json, "tokenizer.json", {});
  ASSERT_FALSE(parsed.ok()) << json.substr(0, 200);
  EXPECT_EQ(parsed.error().code, code) << parsed.error().describe();
  EXPECT_NE(parsed.error().describe().find(named), std::string::npos) << parsed.error().describe();
  EXPECT_EQ(parsed.error().context.rfind("tokenizer.json", 0), 0U) << parsed.error().describe();
  EXPECT_EQ(parsed.error().describe().find('\n'), std::string::npos);
  EXPECT_LT(parsed.error().describe().size(), 600U);
}

TEST(TokenizerErrors, MalformedJson) {
  for (const char* json : {"", "[", "{\"model\": }", "not json", "{\"a\": \"\xff\"}", "[1, 2]", "3", "{}"}) {
    expect_error(json, ErrorCode::kBadInput, "");
  }
  expect_error("{\"model\": {}, \"model\": {}}", ErrorCode::kBadInput, "model");
  expect_error(std::string(10000, '['), ErrorCode::kBadInput, "deeper");
  std::string nested = "{\"normalizer\": ";
  for (int n = 0; n < 10000; ++n) {
    nested += R"({"type": "Sequence", "normalizers": [)";
  }
  expect_error(nested, ErrorCode::kBadInput, "deeper");
}

TEST(TokenizerErrors, UnknownComponentsAreNamed) {
  const std::string model = R"("model": {"type": "BPE", "vocab": {"a": 0}, "merges": []})";
  expect_error(R"({"normalizer": {"type": "Nmt"}, )" + model + "}", ErrorCode::kUnsupported, "Nmt");
  expect_error(R"({"pre_tokenizer": {"type": "UnicodeScripts"}, )" + model + "}", ErrorCode::kUnsupported,
               "UnicodeScripts");
  expect_error(R"({"decoder": {"type": "CTC"}, )" + model + "}", ErrorCode::kUnsupported, "CTC");
  expect_error(R"({"post_processor": {"type": "Other"}, )" + model + "}", ErrorCode::kUnsupported, "Other");
  expect_error(R"({"model": {"type": "Magic"}})", ErrorCode::kUnsupported, "Magic");
  expect_error(
      R"({"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "ByteLevel"}, {"type": "Metaspace"}]}, )" +
          model + "}",
      ErrorCode::kUnsupported, "Metaspace");
}

TEST(TokenizerErrors, WrongFieldsAreNamed) {
  const auto bpe = [](const std::string& fields) { return R"({"model": {"type": "BPE", )" + fields + "}}"; };
  expect_error(bpe(R"("vocab": [1], "merges": [])"), ErrorCode::kBadInput, "vocab");
  expect_error(bpe(R"("vocab": {"a": "b"}, "merges": [])"), ErrorCode::kBadInput, "\"a\"");
  expect_error(bpe(R"("vocab": {"a": -1}, "merges": [])"), ErrorCode::kBadInput, "-1");
  expect_error(bpe(R"("vocab": {"a": 4294967296}, "merges": [])"), ErrorCode::kBadInput, "4294967296");
  expect_error(bpe(R"("vocab": {"a": 18446744073709551615}, "merges": [])"), ErrorCode::kBadInput, "vocab");
  expect_error(bpe(R"("vocab": {"a": 0}, "merges": ["a"])"), ErrorCode::kBadInput, "merges");
  expect_error(bpe(R"("vocab": {"a": 0}, "merges": ["a b c"])"), ErrorCode::kBadInput, "merges");
  expect_error(bpe(R"("vocab": {"a": 0}, "merges": [["a", 1]])"), ErrorCode::kBadInput, "merges");
  expect_error(bpe(R"("vocab": {"a": 0}, "merges": {"a": 1})"), ErrorCode::kBadInput, "merges");
  expect_error(bpe(R"("vocab": {"a": 0}, "merges": ["a q"])"), ErrorCode::kBadInput, "\"q\" is not in the vocabulary");
  expect_error(bpe(R"("vocab": {"a": 0, "b": 1}, "merges": ["a b"])"), ErrorCode::kBadInput, "\"ab\"");
  expect_error(bpe(R"("vocab": {"a": 0}, "merges": [], "byte_fallback": "yes")"), ErrorCode::kBadInput,
               "byte_fallback");
  expect_error(R"({"model": {"type": "Unigram", "vocab": [["a"]]}})", ErrorCode::kBadInput, "[piece, score]");
  expect_error(R"({"model": {"type": "Unigram", "vocab": [["a", 0]], "unk_id": 7}})", ErrorCode::kBadInput, "unk_id");
  expect_error(R"({"model": {"type": "WordPiece", "vocab": {"a": 0}}})", ErrorCode::kBadInput, "unk_token");
  const std::string model = R"(, "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}})";
  expect_error(R"({"added_tokens": [{"content": "x"}])" + model, ErrorCode::kBadInput, "id");
  expect_error(R"({"added_tokens": [{"id": 1, "content": 5}])" + model, ErrorCode::kBadInput, "content");
  expect_error(R"({"added_tokens": {"id": 1})" + model, ErrorCode::kBadInput, "added_tokens");
  expect_error(R"({"added_tokens": [{"id": 1, "content": ")" + std::string(2000, 'x') + "\"}]" + model,
               ErrorCode::kBadInput, "1024");
  expect_error(R"({"normalizer": {"type": "Precompiled", "precompiled_charsmap": "!!"})" + model, ErrorCode::kBadInput,
               "base64");
  expect_error(R"({"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAEAAAAA"})" + model,
               ErrorCode::kBadInput, "trie");
  expect_error(R"({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(("}, "behavior": "Removed"})" + model,
               ErrorCode::kBadInput, "parenthes");
  expect_error(R"({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "a"}, "behavior": "Sometimes"})" + model,
               ErrorCode::kBadInput, "Sometimes");
  expect_error(R"({"post_processor": {"type": "TemplateProcessing", "single": []})" + model, ErrorCode::kBadInput,
               "Sequence");
  expect_error(
      R"({"post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "zz"}}]})" + model,
      ErrorCode::kBadInput, "zz");
}

// Every prefix of a good file, and every byte of it changed: no crash, whatever comes out.
TEST(TokenizerErrors, DamagedFilesAreSurvived) {
  const std::string whole = learned_tokenizer_json("the cat sat on the mat the cat", 10);
  for (std::size_t bytes = 0; bytes < whole.size(); bytes += 37) {
    EXPECT_FALSE(parse_tokenizer_json(whole.substr(0, bytes), "t", {}).ok());
  }
  int opened = 0;
  for (std::size_t at = 0; at < whole.size(); at += 11) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x15);
    const auto parsed = parse_tokenizer_json(damaged, "t", {});
    if (parsed.ok()) {
      ++opened;
      EXPECT_TRUE((*parsed)->encode("the cat \xff").ok());
    }
  }
  EXPECT_GT(opened, 0);
}

// CPU time of the work.
double seconds(const std::function<void()>& work) {
  const double start_ms = test::thread_ms();
  work();
  return (test::thread_ms() - start_ms) / 1000;
}

TEST(TokenizerErrors, CatastrophicPatternsStop) {
  for (const char* source : {"(a+)+[bc]", "(a|aa)+[bc]", "(?:a*)*[bc]|a*a*a*a*[xy]", "(a(?R)?)+[bc]"}) {
    const auto pattern = Pattern::regex(source);
    ASSERT_TRUE(pattern.ok()) << pattern.error().describe();
    const std::string text(20000, 'a');
    std::vector<Fragment> fragments;
    Status status;
    EXPECT_LT(seconds([&] { status = pattern->split(text, 0, 20000, fragments); }), 30) << source;
    ASSERT_FALSE(status.ok()) << source;
    EXPECT_EQ(status.error().code, ErrorCode::kTooLarge);
  }
}

TEST(TokenizerErrors, ReplacementsCannotFillTheMemory) {
  std::string steps;
  for (int n = 0; n < 64; ++n) {
    steps += std::string(n > 0 ? "," : "") + R"({"type": "Replace", "pattern": {"String": "a"}, "content": "aaaa"})";
  }
  const std::string model = R"("model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}})";
  const auto grows =
      parse_tokenizer_json(R"({"normalizer": {"type": "Sequence", "normalizers": [)" + steps + "]}, " + model, "t", {});
  ASSERT_TRUE(grows.ok()) << grows.error().describe();
  const auto tokens = (*grows)->encode("aaaa");
  ASSERT_FALSE(tokens.ok());
  EXPECT_EQ(tokens.error().code, ErrorCode::kTooLarge);
  const auto decodes =
      parse_tokenizer_json(R"({"decoder": {"type": "Sequence", "decoders": [)" + steps + "]}, " + model, "t", {});
  ASSERT_TRUE(decodes.ok()) << decodes.error().describe();
  EXPECT_LT((*decodes)->decode(std::vector<std::int64_t>{0, 0}).size(), 1U << 20);
}

TEST(TokenizerErrors, EmptyMatchesAdvance) {
  const auto pattern = Pattern::regex("x*|");
  ASSERT_TRUE(pattern.ok());
  std::vector<Fragment> fragments;
  const std::string text = "aéxx\xff\xffx";
  ASSERT_TRUE(pattern->split(text, 0, static_cast<std::uint32_t>(text.size()), fragments).ok());
  ASSERT_EQ(fragments.size(), 4U);
  EXPECT_TRUE(fragments[1].match);
  EXPECT_EQ(fragments[1].end, 5U);
  EXPECT_FALSE(fragments[2].match);
  EXPECT_EQ(fragments[2].end, 7U);
  EXPECT_TRUE(fragments[3].match);
}

TEST(TokenizerErrors, LongRunsStayFast) {
  const auto tokenizer = parse_tokenizer_json(learned_tokenizer_json("aaaa aaaa aaaa bbbb", 10), "t", {});
  ASSERT_TRUE(tokenizer.ok());
  for (const char symbol : {'a', ' ', '\n', '\x80', '7'}) {
    const std::string text(300000, symbol);
    Result<std::vector<Token>> tokens = std::vector<Token>();
    EXPECT_LT(seconds([&] { tokens = (*tokenizer)->encode(text); }), 20);
    ASSERT_TRUE(tokens.ok()) << tokens.error().describe();
    expect_tiles(*tokens, text);
  }
}

}  // namespace
}  // namespace locus::text
