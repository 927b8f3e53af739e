#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "models/text/tokenizer.h"
#include "models/text/tokenizer_files.h"
#include "tests/models/text/tokens.h"
#include "tests/support/bpe_vocabulary.h"

namespace locus::text {
namespace {

using Ids = std::vector<std::int64_t>;
using Json = nlohmann::json;

std::shared_ptr<const Tokenizer> parse(const std::string& json, const TokenizerConfig& config = {}) {
  auto parsed = parse_tokenizer_json(json, "tokenizer.json", config);
  EXPECT_TRUE(parsed.ok()) << parsed.error().describe();
  return parsed.ok() ? *parsed : byte_tokenizer();
}

std::vector<Token> encode(const Tokenizer& tokenizer, const std::string& text, bool special = true) {
  const auto tokens = tokenizer.encode(text, special);
  EXPECT_TRUE(tokens.ok()) << tokens.error().describe();
  return tokens.ok() ? *tokens : std::vector<Token>();
}

Ids ids_of(const Tokenizer& tokenizer, const std::string& text, bool special = true) {
  return ids_of(encode(tokenizer, text, special));
}

const char* const kCorpus =
    "the cat sat on the mat, the hat that the cat saw; 'tis the cat's. der Bär, über 1234 中文中文 中文 "
    "🦙🦙 "
    "the "
    "the";

TEST(TokenizerJson, ByteLevelGivesBackAnyBytes) {
  const auto tokenizer = parse(learned_tokenizer_json(kCorpus, 60));
  EXPECT_EQ(tokenizer->kind(), "BPE");
  EXPECT_LT(encode(*tokenizer, "the cat").size(), 4U);
  std::mt19937 random(7);
  for (int n = 0; n < 300; ++n) {
    const std::string text = random_text(random, random() % 60);
    const auto tokens = encode(*tokenizer, text);
    EXPECT_EQ(tokenizer->decode(ids_of(tokens)), text);
    expect_tiles(tokens, text);
  }
}

// Long words go through the queue, short ones through the scan: both are byte-pair encoding as its definition has it.
TEST(TokenizerJson, MergesAsTheDefinitionDoes) {
  const auto merges = learn_merges("aab aab aabb abab abba baab aaab bbab abbb", 12);
  const auto tokenizer = parse(learned_tokenizer_json("aab aab aabb abab abba baab aaab bbab abbb", 12));
  std::mt19937 random(3);
  for (int n = 0; n < 60; ++n) {
    std::vector<std::string> word;
    for (auto length = 1 + random() % 80; length > 0; --length) {
      word.emplace_back(1, random() % 2 == 0 ? 'a' : 'b');
    }
    std::string text;
    for (const std::string& symbol : word) {
      text += symbol;
    }
    for (bool merged = true; merged;) {
      merged = false;
      for (const auto& merge : merges) {
        const auto before = word.size();
        join(word, merge);
        if (word.size() < before) {
          merged = true;
          break;
        }
      }
    }
    const auto tokens = encode(*tokenizer, text);
    ASSERT_EQ(tokens.size(), word.size()) << text;
    for (std::size_t at = 0; at < word.size(); ++at) {
      EXPECT_EQ(tokenizer->decode(Ids{tokens[at].id}), word[at]);
    }
  }
}

TEST(TokenizerJson, LabelsShowBytesAndSpaces) {
  const auto tokenizer = parse(learned_tokenizer_json(kCorpus, 60));
  EXPECT_EQ(tokenizer->label(ids_of(*tokenizer, " the")[0]), "·the");
  EXPECT_EQ(tokenizer->label('\n'), "⏎");
  EXPECT_EQ(tokenizer->label(0xE4), "<0xE4>");
  EXPECT_EQ(tokenizer->label(100000), "#100000");
  EXPECT_EQ(tokenizer->label(-1), "#-1");
}

const char* const kWords = R"({"type": "BPE", "vocab": {"l": 0, "o": 1, "w": 2, "lo": 3, "low": 4, "ow": 5},
    "merges": ["o w", ["l", "o"], ["lo", "w"]])";

// A byte-level model whose every byte is an entry (its value is the id), with joins from 256 on.
std::string byte_level_json(const std::vector<std::pair<std::string, std::string>>& joins, const std::string& more) {
  Json vocabulary;
  Json merges = Json::array();
  for (int byte = 0; byte < 256; ++byte) {
    const char symbol = static_cast<char>(static_cast<std::uint8_t>(byte));
    vocabulary[to_byte_level({&symbol, 1})] = byte;
  }
  for (const auto& [left, right] : joins) {
    vocabulary[to_byte_level(left + right)] = 256 + merges.size();
    merges.push_back(to_byte_level(left) + " " + to_byte_level(right));
  }
  return R"({"model": {"type": "BPE", "vocab": )" + vocabulary.dump() + ", \"merges\": " + merges.dump() + "}, " +
         more + "}";
}

TEST(TokenizerJson, MergesMayBeAnObjectOfRanks) {
  const std::string ranks = R"({"lo w": 2, "o w": 0, "l o": 1})";
  const std::string text = kWords;
  const auto tokenizer = parse("{\"model\": " + text.substr(0, text.find("[\"o w")) + ranks + "}}");
  EXPECT_EQ(ids_of(*tokenizer, "lowlo"), (Ids{0, 5, 3}));
  const auto broken = parse_tokenizer_json(
      "{\"model\": " + text.substr(0, text.find("[\"o w")) + R"({"o w": "first"}}})", "t.json", {});
  ASSERT_FALSE(broken.ok());
  EXPECT_NE(broken.error().describe().find("t.json: model: merges: o w: expected a whole number"), std::string::npos)
      << broken.error().describe();
}

// Falcon's: what follows ByteLevel sees the characters that spell the bytes. "ò" is C3 B2, spelled Ã², and ² is a
// digit.
TEST(TokenizerJson, StepsAfterByteLevelSeeItsCharacters) {
  const std::vector<std::pair<std::string, std::string>> joins{{"\xC3", "\xB2"}, {"1", "2"},       {"12", "3"},
                                                               {"123", "4"},     {"\xC3", "\xA9"}, {"4", "5"}};
  const std::string alone = R"("pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false})";
  const std::string falcon = R"("pre_tokenizer": {"type": "Sequence", "pretokenizers": [
      {"type": "Punctuation", "behavior": "Contiguous"}, {"type": "ByteLevel", "add_prefix_space": false},
      {"type": "Digits", "individual_digits": false},
      {"type": "Split", "pattern": {"Regex": "[0-9][0-9][0-9]"}, "behavior": "Isolated", "invert": false}]},
      "decoder": {"type": "ByteLevel"})";
  const auto without = parse(byte_level_json(joins, alone));
  const auto with = parse(byte_level_json(joins, falcon));
  EXPECT_EQ(ids_of(*without, "ò1234é"), (Ids{256, 259, 260}));
  EXPECT_EQ(ids_of(*with, "ò"), (Ids{0xC3, 0xB2}));
  EXPECT_EQ(ids_of(*with, "é"), (Ids{260}));
  EXPECT_EQ(ids_of(*with, "1234"), (Ids{258, '4'}));
  EXPECT_EQ(ids_of(*with, "12345"), (Ids{258, 261}));
  std::mt19937 random(13);
  for (int n = 0; n < 100; ++n) {
    const std::string text = random_text(random, random() % 60);
    const auto tokens = encode(*with, text);
    EXPECT_EQ(with->decode(ids_of(tokens)), text);
    expect_tiles(tokens, text);
  }
  const auto refused = parse_tokenizer_json(
      byte_level_json({}, R"("pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "ByteLevel"},
      {"type": "Metaspace"}]})"),
      "t.json", {});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().describe().find("\"Metaspace\" after ByteLevel"), std::string::npos);
}

// CLIP's: bytes, the last of a word with its mark.
TEST(TokenizerJson, WordsOfBytesEndWithTheirMark) {
  const auto tokenizer = parse(R"({"normalizer": {"type": "Lowercase"},
      "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex":
        "[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+"}, "behavior": "Removed", "invert": true},
        {"type": "ByteLevel", "add_prefix_space": false}]}, "decoder": {"type": "ByteLevel"},
      "model": {"type": "BPE", "unk_token": "<|endoftext|>", "continuing_subword_prefix": "",
        "end_of_word_suffix": "</w>", "vocab": {"h": 0, "i": 1, "h</w>": 2, "i</w>": 3, "hi</w>": 4, "Ã": 5, "©</w>": 6,
        "Ã©</w>": 7, "hi": 8, "<|endoftext|>": 9}, "merges": ["h i</w>", "Ã ©</w>", "h i"]}})");
  EXPECT_EQ(ids_of(*tokenizer, "Hi  é h"), (Ids{4, 7, 2}));
  EXPECT_EQ(ids_of(*tokenizer, "hihi"), (Ids{8, 4}));
  EXPECT_EQ(ids_of(*tokenizer, "hx"), (Ids{0, 9}));
  EXPECT_EQ(tokenizer->decode(Ids{4, 7, 8, 4}), "hi é hihi");
  const auto tokens = encode(*tokenizer, "hi é");
  ASSERT_EQ(tokens.size(), 2U);
  EXPECT_EQ(tokens[1].bytes, (Range{3, 5}));
}

// Phi-2's: runs of spaces and tabs.
TEST(TokenizerJson, AddedTokensMayBeRunsOfSpaces) {
  std::string added = R"("pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
      "decoder": {"type": "ByteLevel"}, "added_tokens": [)";
  for (int spaces = 4; spaces > 1; --spaces) {
    added += R"({"id": )" + std::to_string(304 - spaces) + R"(, "content": ")" +
             std::string(static_cast<std::size_t>(spaces), ' ') + R"(", "normalized": true, "special": false},)";
  }
  const auto tokenizer = parse(byte_level_json({}, added + R"({"id": 310, "content": "\t\t", "normalized": true}])"));
  EXPECT_EQ(ids_of(*tokenizer, "    a  b c\t\t\t"), (Ids{300, 'a', 302, 'b', ' ', 'c', 310, '\t'}));
  EXPECT_EQ(ids_of(*tokenizer, "       "), (Ids{300, 301}));
  expect_tiles(encode(*tokenizer, "    a  b c\t\t\t"), "    a  b c\t\t\t");
}

TEST(TokenizerJson, MergesComeInTwoForms) {
  const auto tokenizer = parse(std::string("{\"model\": ") + kWords + "}}");
  EXPECT_EQ(ids_of(*tokenizer, "lowlo"), (Ids{0, 5, 3}));
  const auto whole = parse(std::string("{\"model\": ") + kWords + ", \"ignore_merges\": true}}");
  EXPECT_EQ(ids_of(*whole, "low"), (Ids{4}));
}

TEST(TokenizerJson, UnknownCharactersFuseOrFall) {
  const std::string base = std::string("{\"model\": ") + kWords + ", \"unk_token\": \"w\"";
  EXPECT_EQ(ids_of(*parse(base + "}}"), "l??o"), (Ids{0, 2, 2, 1}));
  EXPECT_EQ(ids_of(*parse(base + ", \"fuse_unk\": true}}"), "l??o"), (Ids{0, 2, 1}));
  EXPECT_EQ(ids_of(*parse(std::string("{\"model\": ") + kWords + "}}"), "l??o"), (Ids{3}));  // left out: now neighbours
}

std::string byte_fallback_json() {
  Json vocabulary{{"<unk>", 0}, {"▁", 1}, {"a", 2}, {"▁a", 3}, {"b", 4}, {"ab", 5}, {"▁▁", 6}};
  for (int byte = 0; byte < 256; ++byte) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", static_cast<unsigned>(byte));
    vocabulary[name] = 100 + byte;
  }
  const Json model{{"type", "BPE"},        {"vocab", vocabulary},   {"merges", {"a b", "▁ a", "▁ ▁"}},
                   {"unk_token", "<unk>"}, {"byte_fallback", true}, {"fuse_unk", true}};
  return Json{{"normalizer", Json::parse(R"({"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"},
                 {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]})")},
              {"decoder", Json::parse(R"({"type": "Sequence", "decoders": [{"type": "Replace",
                 "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
                 {"type": "Strip", "content": " ", "start": 1, "stop": 0}]})")},
              {"model", model}}
      .dump();
}

TEST(TokenizerJson, ByteFallbackGivesBackAnyBytes) {
  const auto tokenizer = parse(byte_fallback_json());
  EXPECT_EQ(ids_of(*tokenizer, "ab a  b"), (Ids{1, 5, 3, 6, 4}));
  EXPECT_EQ(ids_of(*tokenizer, "\xff"), (Ids{1, 355}));
  EXPECT_EQ(tokenizer->label(100 + 10), "⏎");
  EXPECT_EQ(tokenizer->label(100 + 0xE4), "<0xE4>");
  EXPECT_EQ(tokenizer->label(3), "·a");
  std::mt19937 random(11);
  for (int n = 0; n < 300; ++n) {
    const std::string text = random_text(random, random() % 60);
    const auto tokens = encode(*tokenizer, text);
    EXPECT_EQ(tokenizer->decode(ids_of(tokens)), text);
    expect_tiles(tokens, text);
  }
}

TEST(TokenizerJson, InsertedSpacesStandForNoText) {
  const auto tokens = encode(*parse(byte_fallback_json()), "b");
  ASSERT_EQ(tokens.size(), 2U);
  EXPECT_EQ(tokens[0].bytes, (Range{0, 0}));
  EXPECT_EQ(tokens[1].bytes, (Range{0, 1}));
}

TEST(TokenizerJson, UnigramTakesTheBestPath) {
  const auto tokenizer = parse(R"({"pre_tokenizer": {"type": "Metaspace"}, "decoder": {"type": "Metaspace"},
      "model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0], ["▁", -2], ["a", -3], ["b", -3], ["ab", -4],
                ["▁a", -4.5], ["▁ab", -9], ["c", -1], ["▁abc", -7.9]]}})");
  EXPECT_EQ(tokenizer->kind(), "Unigram");
  // ▁ + ab = −6, ▁a + b = −7.5, ▁ab = −9.
  EXPECT_EQ(ids_of(*tokenizer, "ab"), (Ids{1, 4}));
  // ▁ + ab + c = −7, ▁abc = −7.9.
  EXPECT_EQ(ids_of(*tokenizer, "abc"), (Ids{1, 4, 7}));
  EXPECT_EQ(ids_of(*tokenizer, "a??b"), (Ids{5, 0, 3}));
  const auto tokens = encode(*tokenizer, "ab c");
  expect_tiles(tokens, "ab c");
  EXPECT_EQ(tokenizer->decode(ids_of(tokens)), "ab c");
}

const char* const kBert = R"("normalizer": {"type": "BertNormalizer"}, "pre_tokenizer": {"type": "BertPreTokenizer"},
    "decoder": {"type": "WordPiece"},
    "model": {"type": "WordPiece", "unk_token": "[UNK]", "max_input_chars_per_word": 8,
      "vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "un": 3, "##aff": 4, "##able": 5, ",": 6, "cafe": 7, "中": 8}})";

TEST(TokenizerJson, WordPieceTakesTheLongestEntries) {
  const auto tokenizer = parse(std::string("{") + kBert + R"(, "post_processor": {"type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "[CLS]"}}, {"Sequence": {"id": "A"}}, {"SpecialToken": {"id": "[SEP]"}}],
      "special_tokens": {"[CLS]": {"ids": [1]}, "[SEP]": {"ids": [2]}}}})");
  EXPECT_EQ(ids_of(*tokenizer, "Unaffable, CAFÉ中"), (Ids{1, 0, 6, 7, 8, 2}));  // nine characters: too long
  EXPECT_EQ(ids_of(*tokenizer, "unaff"), (Ids{1, 3, 4, 2}));
  EXPECT_EQ(ids_of(*tokenizer, "unx", false), (Ids{0}));
  const auto tokens = encode(*tokenizer, "  Café,un\x01\x61\x66\x66", false);
  ASSERT_EQ(tokens.size(), 4U);
  EXPECT_EQ(tokens[0].bytes, (Range{2, 7}));  // with its accent
  EXPECT_EQ(tokens[1].bytes, (Range{7, 8}));
  EXPECT_EQ(tokens[3].bytes.end, 14);
  EXPECT_EQ(tokenizer->decode(ids_of(tokens)), "cafe, unaff");
}

TEST(TokenizerJson, SpecialTokensAreNamedAndLeftOut) {
  const auto tokenizer = parse(std::string("{") + kBert + R"(, "added_tokens": [
      {"id": 1, "content": "[CLS]", "special": true, "normalized": false},
      {"id": 9, "content": "<new>", "special": false, "normalized": false}],
      "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]}})");
  EXPECT_TRUE(tokenizer->is_special(1));
  EXPECT_FALSE(tokenizer->is_special(9));
  EXPECT_EQ(tokenizer->label(1), "[CLS]");
  EXPECT_EQ(tokenizer->vocabulary(), 10);
  const auto tokens = encode(*tokenizer, "un[CLS]cafe<new>");
  EXPECT_EQ(ids_of(tokens), (Ids{1, 3, 1, 7, 9, 2}));
  EXPECT_EQ(tokens[0].bytes, (Range{0, 0}));
  EXPECT_EQ(tokens[2].bytes, (Range{2, 7}));
  EXPECT_EQ(tokens[5].bytes, (Range{16, 16}));
  EXPECT_EQ(tokenizer->decode(Ids{1, 3, 9}), "un <new>");
}

TEST(TokenizerJson, AddedTokensStripAndStandAlone) {
  const std::string head = std::string("{") + kBert + R"(, "added_tokens": [{"id": 20, "content": )";
  EXPECT_EQ(ids_of(*parse(head + R"("X", "normalized": false, "single_word": true}]})"), "aXb X"), (Ids{0, 20}));
  const auto both = parse(head + R"("X", "normalized": false, "lstrip": true, "rstrip": true}]})");
  const auto tokens = encode(*both, "un  X \tun");
  ASSERT_EQ(tokens.size(), 3U);
  EXPECT_EQ(tokens[1].bytes, (Range{2, 7}));
  expect_tiles(tokens, "un  X \tun");
  // A normalised token is looked for as the normaliser writes it.
  EXPECT_EQ(ids_of(*parse(head + R"("Café", "normalized": true}]})"), "un CAFE"), (Ids{3, 20}));
  // The longest of two wins.
  const auto two = parse(head + R"("ab", "normalized": false}, {"id": 21, "content": "abc", "normalized": false}]})");
  EXPECT_EQ(ids_of(*two, "abcab"), (Ids{21, 20}));
}

std::vector<std::string> words(const std::string& pre_tokenizer, const std::string& text) {
  // An entry no text has, so that every word is one unknown piece.
  const auto tokenizer = parse(R"({"pre_tokenizer": )" + pre_tokenizer +
                               R"(, "model": {"type": "WordLevel", "vocab": {"<unk>": 0}, "unk_token": "<unk>"}})");
  std::vector<std::string> result;
  for (const Token& token : encode(*tokenizer, text)) {
    result.push_back(
        text.substr(static_cast<std::size_t>(token.bytes.begin), static_cast<std::size_t>(token.bytes.size())));
  }
  return result;
}

TEST(TokenizerJson, PreTokenizersCutWhereTheyShould) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(words(R"({"type": "Whitespace"})", "a b-c  1"), (Words{"a", "b", "-", "c", "1"}));
  EXPECT_EQ(words(R"({"type": "WhitespaceSplit"})", " a b-c "), (Words{"a", "b-c"}));
  EXPECT_EQ(words(R"({"type": "Punctuation"})", "a,,b"), (Words{"a", ",", ",", "b"}));
  EXPECT_EQ(words(R"({"type": "Punctuation", "behavior": "Contiguous"})", "a,,b"), (Words{"a", ",,", "b"}));
  EXPECT_EQ(words(R"({"type": "Digits", "individual_digits": true})", "a12b"), (Words{"a", "1", "2", "b"}));
  EXPECT_EQ(words(R"({"type": "Digits"})", "a12b"), (Words{"a", "12", "b"}));
  EXPECT_EQ(words(R"({"type": "CharDelimiterSplit", "delimiter": "-"})", "a-b"), (Words{"a", "b"}));
  const auto split = [](const std::string& behaviour, const std::string& rest = "") {
    return R"({"type": "Split", "pattern": {"Regex": "-"}, "behavior": ")" + behaviour + "\"" + rest + "}";
  };
  EXPECT_EQ(words(split("Removed"), "a-b--c"), (Words{"a", "b", "c"}));
  EXPECT_EQ(words(split("Isolated"), "a-b--c"), (Words{"a", "-", "b", "-", "-", "c"}));
  EXPECT_EQ(words(split("MergedWithPrevious"), "a-b--c"), (Words{"a-", "b-", "-", "c"}));
  EXPECT_EQ(words(split("MergedWithNext"), "a-b--c"), (Words{"a", "-b", "-", "-c"}));
  EXPECT_EQ(words(split("Contiguous"), "a-b--c"), (Words{"a", "-", "b", "--", "c"}));
  EXPECT_EQ(words(split("Removed", ", \"invert\": true"), "a-b--c"), (Words{"-", "-", "-"}));
  EXPECT_EQ(
      words(R"({"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, {"type": "Digits"}]})", "ab1 2"),
      (Words{"ab", "1", "2"}));
}

// (word as the model sees it, range in the source) after a normaliser.
TEST(TokenizerJson, NormalisersKeepTheSource) {
  const auto ranges = [](const std::string& normalizer, const std::string& text, const std::string& expected) {
    const auto tokenizer = parse(R"({"normalizer": )" + normalizer + R"(, "model": {"type": "WordLevel", "vocab": {")" +
                                 expected + R"(": 1, "<unk>": 0}, "unk_token": "<unk>"}})");
    const auto tokens = encode(*tokenizer, text);
    EXPECT_EQ(ids_of(tokens), (Ids{1})) << normalizer;
    expect_tiles(tokens, text);
  };
  ranges(R"({"type": "NFC"})", "e\u0301a", "éa");
  ranges(R"({"type": "NFD"})", "éa", "e\u0301a");
  ranges(R"({"type": "NFKC"})", "ﬁ①", "fi1");
  ranges(R"({"type": "NFKD"})", "ﬁé", "fie\u0301");
  ranges(R"({"type": "Lowercase"})", "ÄİΣ", "äi\u0307σ");
  ranges(R"({"type": "Prepend", "prepend": "▁"})", "a", "▁a");
  ranges(R"({"type": "Replace", "pattern": {"Regex": "[0-9]+"}, "content": "#"})", "a12", "a#");
  ranges(R"({"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "StripAccents"}, {"type": "Lowercase"}]})",
         "Éa", "ea");
  ranges(R"({"type": "NFC"})", "a\u0301\u0301\u0301\u0301", "á\u0301\u0301\u0301");
}

TEST(TokenizerJson, LlamasFlagsRewriteTheTemplate) {
  TokenizerConfig config;
  config.tokenizer_class = "Llama";
  config.special = {{"bos", "[CLS]"}, {"eos", "[SEP]"}};
  config.add_bos = true;
  config.add_eos = true;
  EXPECT_EQ(ids_of(*parse(std::string("{") + kBert + "}", config), "un"), (Ids{1, 3, 2}));
  config.add_bos = false;
  EXPECT_EQ(ids_of(*parse(std::string("{") + kBert + "}", config), "un"), (Ids{3, 2}));
}

}  // namespace
}  // namespace locus::text
