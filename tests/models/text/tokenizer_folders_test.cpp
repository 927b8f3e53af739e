// Folders as checkpoints have them: which files are read, and what the configuration beside them changes.
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <string>
#include <vector>

#include "core/base/atomic_file.h"
#include "models/text/bpe/byte_level.h"
#include "models/text/tokenizer.h"
#include "tests/models/text/sentence_piece_file.h"
#include "tests/models/text/tokens.h"

namespace locus::text {
namespace {

using Ids = std::vector<std::int64_t>;
using Files = std::map<std::string, std::string>;

Result<std::shared_ptr<const Tokenizer>> open(const Files& files) {
  const TestFolder folder("tokenizer_folder");
  for (const auto& [name, content] : files) {
    EXPECT_TRUE(write_file(folder.path() / name, content).ok());
  }
  return open_tokenizer(folder.path());
}

// That of the decoder's texts.
std::shared_ptr<const Tokenizer> opened_decoder(const Files& files) {
  const TestFolder folder("decoder_tokenizer_folder");
  for (const auto& [name, content] : files) {
    EXPECT_TRUE(write_file(folder.path() / name, content).ok());
  }
  auto result = open_decoder_tokenizer(folder.path());
  EXPECT_TRUE(result.ok() && *result != nullptr) << (result.ok() ? "" : result.error().describe());
  return result.ok() && *result ? *result : byte_tokenizer();
}

std::shared_ptr<const Tokenizer> opened(const Files& files) {
  auto result = open(files);
  EXPECT_TRUE(result.ok()) << result.error().describe();
  EXPECT_TRUE(result.ok() && *result != nullptr);
  return result.ok() && *result ? *result : byte_tokenizer();
}

Ids folder_ids(const Tokenizer& tokenizer, const std::string& text, bool special = true) {
  const auto tokens = tokenizer.encode(text, special);
  EXPECT_TRUE(tokens.ok());
  return tokens.ok() ? ids_of(*tokens) : Ids();
}

void expect_lossless(const Tokenizer& tokenizer) {
  std::mt19937 random(5);
  for (int n = 0; n < 200; ++n) {
    const std::string text = random_text(random, random() % 40);
    const auto tokens = tokenizer.encode(text, false);
    ASSERT_TRUE(tokens.ok());
    EXPECT_EQ(tokenizer.decode(ids_of(*tokens)), text);
    expect_tiles(*tokens, text);
  }
}

Files gpt2_files() {
  std::string vocabulary = "{";
  for (int byte = 0; byte < 256; ++byte) {
    const char symbol = static_cast<char>(static_cast<std::uint8_t>(byte));
    const std::string entry = to_byte_level({&symbol, 1});
    vocabulary +=
        (entry == "\"" || entry == "\\" ? "\"\\" + entry : "\"" + entry) + "\": " + std::to_string(byte) + ",";
  }
  return {{"vocab.json",
           vocabulary + R"("th": 256, "the": 257, "Ġthe": 258, "<|endoftext|>": 259, "<s>": 260, "</s>": 261})"},
          {"merges.txt", "#version: 0.2\r\nt h\nth e\nĠ the\n"}};
}

TEST(TokenizerFolders, VocabularyAndMerges) {
  const auto tokenizer = opened(gpt2_files());
  EXPECT_EQ(folder_ids(*tokenizer, "the the<|endoftext|>x"), (Ids{257, 258, 259, 'x'}));
  EXPECT_TRUE(tokenizer->is_special(259));
  EXPECT_EQ(tokenizer->label(259), "<|endoftext|>");
  EXPECT_EQ(tokenizer->vocabulary(), 262);
  expect_lossless(*tokenizer);
}

TEST(TokenizerFolders, ConfigurationChangesTheMerges) {
  Files files = gpt2_files();
  files["tokenizer_config.json"] = R"({"tokenizer_class": "RobertaTokenizer", "add_prefix_space": true})";
  EXPECT_EQ(folder_ids(*opened(files), "the"), (Ids{260, 258, 261}));
  files["tokenizer_config.json"] = R"({"add_bos_token": true, "bos_token": {"content": "<s>"}})";
  EXPECT_EQ(folder_ids(*opened(files), "the"), (Ids{260, 257}));
  files["tokenizer_config.json"] = R"({"tokenizer_class": "Qwen2TokenizerFast", "added_tokens_decoder":
      {"300": {"content": "<|im_end|>", "special": true, "normalized": false}}})";
  const auto qwen = opened(files);
  EXPECT_EQ(folder_ids(*qwen, "12<|im_end|>"), (Ids{'1', '2', 300}));
  EXPECT_TRUE(qwen->is_special(300));
  files["tokenizer_config.json"] = "{}";
  files["added_tokens.json"] = R"({"<extra>": 400})";
  EXPECT_EQ(folder_ids(*opened(files), "x<extra>"), (Ids{'x', 400}));
  files["tokenizer_config.json"] = R"({"tokenizer_class": "CLIPTokenizer"})";
  EXPECT_EQ(open(files).error().code, ErrorCode::kUnsupported);
}

TEST(TokenizerFolders, TokenizerJsonComesFirst) {
  Files files = gpt2_files();
  files["tokenizer.json"] = R"({"model": {"type": "WordLevel", "vocab": {"the": 3}}})";
  EXPECT_EQ(folder_ids(*opened(files), "the"), (Ids{3}));
}

TEST(TokenizerFolders, WordList) {
  const Files files{{"vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nun\n##able\n!\r\nÄ\n"}};
  EXPECT_EQ(folder_ids(*opened(files), "UNable! x"), (Ids{2, 5, 6, 7, 1, 3}));
  EXPECT_EQ(folder_ids(*opened(files), "un [MASK]", false), (Ids{5, 4}));
  Files cased = files;
  cased["tokenizer_config.json"] = R"({"do_lower_case": false})";
  EXPECT_EQ(folder_ids(*opened(cased), "UN Ä", false), (Ids{1, 8}));
}

TEST(TokenizerFolders, Ranks) {
  // "a" "b" "c" " " "ab" "abc" "bc"
  const Files files{{"tokenizer.model", "YQ== 0\nYg== 1\nYw== 2\nIA== 3\nYmM= 4\nYWI= 5\nYWJj 6\n"}};
  const auto tokenizer = opened(files);
  EXPECT_EQ(folder_ids(*tokenizer, "abc"), (Ids{6}));
  EXPECT_EQ(folder_ids(*tokenizer, "abcb"), (Ids{6, 1}));  // bc before ab, then a + bc
  EXPECT_EQ(folder_ids(*tokenizer, "bab ab"), (Ids{1, 5, 3, 5}));
  EXPECT_EQ(tokenizer->decode(Ids{6, 3, 5}), "abc ab");
}

// A unigram model with byte fallback.
std::string small_model(const std::string& charsmap = "") {
  ModelOptions options;
  options.byte_fallback = true;
  options.charsmap = charsmap;
  return sentence_piece_model({{"▁", -1}, {"a", -1}, {"b", -1}, {"▁ab", -1}, {"é", -1}}, options);
}

TEST(TokenizerFolders, SentencePieceModel) {
  const auto tokenizer = opened({{"tokenizer.model", small_model()}});
  EXPECT_EQ(tokenizer->kind(), "SentencePiece");
  EXPECT_EQ(folder_ids(*tokenizer, "ab é"), (Ids{1, 262, 259, 263}));
  EXPECT_EQ(folder_ids(*tokenizer, "\xff", false), (Ids{259, 3 + 0xFF}));
  EXPECT_EQ(tokenizer->label(262), "·ab");
  EXPECT_EQ(tokenizer->label(3 + 0x0A), "⏎");
  EXPECT_EQ(tokenizer->label(1), "<s>");
  EXPECT_TRUE(tokenizer->is_special(1));
  EXPECT_FALSE(tokenizer->is_special(262));
  expect_lossless(*tokenizer);
  const auto flags = opened({{"tokenizer.model", small_model()},
                             {"tokenizer_config.json", R"({"add_bos_token": false, "add_eos_token": true})"}});
  EXPECT_EQ(folder_ids(*flags, "ab"), (Ids{262, 2}));
}

TEST(TokenizerFolders, SentencePieceModelsUnderTheirFamiliesNames) {
  const auto t5 = opened({{"spiece.model", small_model()}});
  EXPECT_EQ(folder_ids(*t5, "ab é"), (Ids{262, 259, 263, 2}));
  const auto named = opened(
      {{"spiece.model", small_model()}, {"tokenizer_config.json", R"({"tokenizer_class": "LlamaTokenizerFast"})"}});
  EXPECT_EQ(folder_ids(*named, "ab"), (Ids{1, 262}));
  std::string model = small_model();
  put_piece(model, {"[CLS]", 0, 3});
  put_piece(model, {"[SEP]", 0, 3});
  const auto deberta = opened({{"spm.model", model}});
  EXPECT_EQ(folder_ids(*deberta, "ab é"), (Ids{264, 262, 259, 263, 265}));
  EXPECT_EQ(folder_ids(*deberta, "ab", false), (Ids{262}));
  // tokenizer.json and tokenizer.model come first.
  const auto both = opened({{"spiece.model", "x"}, {"tokenizer.model", small_model()}});
  EXPECT_EQ(folder_ids(*both, "ab"), (Ids{1, 262}));
}

// <s>, <pad>, </s>, <unk>, then the model's pieces from the fourth on, shifted by one, and <mask> last.
TEST(TokenizerFolders, SentencePieceModelsUnderFairseqsIds) {
  const auto plain = opened({{"tokenizer.model", small_model()}});
  const auto xlm = opened({{"sentencepiece.bpe.model", small_model()}});
  EXPECT_EQ(xlm->vocabulary(), plain->vocabulary() + 2);  // <pad> and <mask>
  const std::int64_t mask = xlm->vocabulary() - 1;
  EXPECT_EQ(folder_ids(*xlm, "ab é"), (Ids{0, 263, 260, 264, 2}));
  EXPECT_EQ(folder_ids(*xlm, ""), (Ids{0, 2}));
  EXPECT_EQ(folder_ids(*xlm, "\xff", false), (Ids{260, 4 + 0xFF}));
  EXPECT_EQ(folder_ids(*xlm, "ab <mask>ab<pad>"), (Ids{0, 263, mask, 263, 1, 2}));
  for (const char* const text : {"ab", "é a", "ab é ab"}) {
    Ids shifted = folder_ids(*plain, text, false);
    for (std::int64_t& id : shifted) {
      ++id;
    }
    EXPECT_EQ(folder_ids(*xlm, text, false), shifted) << text;
  }
  const std::vector<std::string> labels{"<s>", "<pad>", "</s>", "<unk>"};
  for (std::size_t id = 0; id < labels.size(); ++id) {
    EXPECT_EQ(xlm->label(static_cast<std::int64_t>(id)), labels[id]);
    EXPECT_TRUE(xlm->is_special(static_cast<std::int64_t>(id)));
  }
  EXPECT_EQ(xlm->label(mask), "<mask>");
  EXPECT_EQ(xlm->label(263), "·ab");
  // Where the configuration lists the added tokens, and says what it never did.
  const auto listed =
      opened({{"sentencepiece.bpe.model", small_model()},
              {"tokenizer_config.json", R"({"tokenizer_class": "XLMRobertaTokenizerFast",
                                "add_bos_token": false, "added_tokens_decoder": {")" +
                                            std::to_string(mask) +
                                            R"(": {"content": "<mask>", "lstrip": true, "special": true}}})"}});
  EXPECT_EQ(folder_ids(*listed, "ab <mask>"), (Ids{0, 263, mask, 2}));

  const auto other = open({{"sentencepiece.bpe.model", small_model()},
                           {"tokenizer_config.json", R"({"tokenizer_class": "CamembertTokenizer"})"}});
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(other.error().describe().find("expected XLMRobertaTokenizer"), std::string::npos);
  std::string model;
  put_piece(model, {"<s>", 0, 3});
  put_piece(model, {"<unk>", 0, 2});
  put_piece(model, {"</s>", 0, 3});
  const auto order = open({{"sentencepiece.bpe.model", model}});
  ASSERT_FALSE(order.ok());
  EXPECT_EQ(order.error().code, ErrorCode::kBadInput);
  EXPECT_NE(order.error().describe().find("sentencepiece.bpe.model: expected <unk>, <s> and </s>"), std::string::npos)
      << order.error().describe();
}

// Marian's pair: pieces of two models with the ids of one vocabulary. What a model does not know is looked up by its
// letters; what the vocabulary lacks is unknown.
TEST(TokenizerFolders, SentencePieceModelsUnderAVocabularysIds) {
  ModelOptions options;
  options.remove_extra = true;
  const std::string source = sentence_piece_model({{"▁", -1}, {"a", -1}, {"▁ab", -1}, {"c", -1}}, options);
  const std::string target = sentence_piece_model({{"▁", -1}, {"b", -1}, {"▁ba", -1}}, options);
  const std::string vocabulary = R"({"</s>": 0, "<unk>": 1, "▁ab": 2, "▁": 3, "▁ba": 4, "b": 5, "a": 6, ">>fra<<": 7,
    "<pad>": 8})";
  const Files files{{"source.spm", source}, {"target.spm", target}, {"vocab.json", vocabulary}};
  const auto tokenizer = opened(files);
  EXPECT_EQ(tokenizer->vocabulary(), 9);
  EXPECT_EQ(folder_ids(*tokenizer, "ab a"), (Ids{2, 3, 6, 0}));
  EXPECT_EQ(folder_ids(*tokenizer, ">>fra<< ab"), (Ids{7, 2, 0}));
  EXPECT_EQ(folder_ids(*tokenizer, "ab b x c"),
            (Ids{2, 3, 5, 3, 1, 3, 1, 0}));  // b is the target's, c in no vocabulary
  EXPECT_EQ(folder_ids(*tokenizer, "a<pad></s>", false), (Ids{3, 6, 8, 0}));
  EXPECT_EQ(tokenizer->decode(Ids{4, 3, 5, 0}), "ba b");  // the target's pieces too
  EXPECT_EQ(tokenizer->label(4), "·ba");
  EXPECT_EQ(tokenizer->label(7), ">>fra<<");
  const auto decoder = opened_decoder(files);
  EXPECT_EQ(folder_ids(*decoder, "ba b", false), (Ids{4, 3, 5}));
  for (const std::string& wrong : {std::string(R"({"a": 0})"), std::string(R"({"<unk>": 0, "a": 2})"),
                                   std::string(R"({"<unk>": 0, "a": 1})"), std::string("[]")}) {
    const auto refused = open({{"source.spm", source}, {"vocab.json", wrong}});
    ASSERT_FALSE(refused.ok()) << wrong;
    EXPECT_EQ(refused.error().code, ErrorCode::kBadInput);
    EXPECT_NE(refused.error().describe().find("vocab.json"), std::string::npos) << refused.error().describe();
  }
}

// M2M-100 and mBART: ids of languages behind the others', around every text.
TEST(TokenizerFolders, LanguagesAreAroundATextOfSentencePieces) {
  ModelOptions options;
  options.remove_extra = true;
  const std::string pieces = sentence_piece_model({{"▁", -1}, {"a", -1}}, options);
  const std::string vocabulary = R"({"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "a": 4, "▁": 5})";
  const std::string languages = R"({"additional_special_tokens": ["__af__", {"content": "__en__"}, "__xh__"]})";
  const Files m2m{
      {"sentencepiece.bpe.model", pieces}, {"vocab.json", vocabulary}, {"special_tokens_map.json", languages}};
  EXPECT_EQ(folder_ids(*opened(m2m), "a __xh__"), (Ids{7, 5, 4, 8, 2}));
  Files other = m2m;
  other["tokenizer_config.json"] = R"({"tokenizer_class": "M2M100Tokenizer", "src_lang": "xh"})";
  EXPECT_EQ(folder_ids(*opened(other), "a"), (Ids{8, 5, 4, 2}));
  other["tokenizer_config.json"] = R"({"tokenizer_class": "M2M100Tokenizer", "src_lang": "zu"})";
  const auto unknown = open(other);
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(unknown.error().describe().find("zu"), std::string::npos);
  const auto mbart = [&](const char* type) {
    return opened({{"sentencepiece.bpe.model", pieces},
                   {"tokenizer_config.json", std::string(R"({"tokenizer_class": ")") + type +
                                                 R"(", "additional_special_tokens": ["ar_AR", "en_XX"]})"}});
  };
  EXPECT_EQ(folder_ids(*mbart("MBart50Tokenizer"), "a"), (Ids{7, 4, 5, 2}));
  EXPECT_EQ(folder_ids(*mbart("MBartTokenizer"), "a ar_AR"), (Ids{4, 5, 6, 2, 7}));
  EXPECT_EQ(mbart("MBartTokenizer")->label(8), "<mask>");
}

// Vocabularies of words in parts are no byte-level ones.
TEST(TokenizerFolders, PartsOfWordsAreRefused) {
  for (const char* const entry : {"th@@", "he</w>"}) {
    const auto refused =
        open({{"vocab.json", std::string(R"({"a": 0, ")") + entry + R"(": 1})"}, {"merges.txt", "#version: 0.2\n"}});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(refused.error().describe().find("parts of words"), std::string::npos) << refused.error().describe();
  }
}

TEST(TokenizerFolders, DamagedModelsAreErrors) {
  const std::string whole = small_model();
  for (const std::string& bytes : {std::string("x"), std::string(100, '\0'), whole.substr(0, 20), whole.substr(0, 2000),
                                   std::string("\x0a\xff\xff\xff\xff\x7f", 6)}) {
    for (const char* file : {"tokenizer.model", "spiece.model", "spm.model", "sentencepiece.bpe.model"}) {
      const auto result = open({{file, bytes}});
      ASSERT_FALSE(result.ok()) << file;
      EXPECT_EQ(result.error().code, ErrorCode::kBadInput);
      EXPECT_NE(result.error().describe().find(file), std::string::npos);
    }
  }
  // A trie whose root points beyond its end, where no byte is.
  const std::string charsmap = std::string("\x04\0\0\0\x00\xfc\xff\x7f", 8) + std::string("x\0", 2);
  const auto trie = open({{"tokenizer.model", small_model(charsmap)}});
  ASSERT_FALSE(trie.ok());
  EXPECT_NE(trie.error().describe().find("trie"), std::string::npos);
  std::string twice = whole;
  put_piece(twice, {"a", -1});
  EXPECT_FALSE(open({{"tokenizer.model", twice}}).ok());
  std::string score = whole;
  put_piece(score, {"z", std::numeric_limits<float>::quiet_NaN()});
  EXPECT_FALSE(open({{"tokenizer.model", score}}).ok());
}

TEST(TokenizerFolders, WrongFilesAreNamed) {
  const auto expect_named = [](const Files& files, const std::string& file, const std::string& what) {
    const auto result = open(files);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, ErrorCode::kBadInput);
    EXPECT_NE(result.error().context.find(file), std::string::npos) << result.error().describe();
    EXPECT_NE(result.error().describe().find(what), std::string::npos) << result.error().describe();
  };
  Files files = gpt2_files();
  files["merges.txt"] = "t h\nq\n";
  expect_named(files, "merges.txt", "line 2");
  files["merges.txt"] = "t q\n";
  expect_named(files, "merges.txt", "not in the vocabulary");
  files["tokenizer_config.json"] = R"({"add_bos_token": "maybe"})";
  expect_named(files, "tokenizer_config.json", "add_bos_token");
  files["tokenizer_config.json"] = R"({"added_tokens_decoder": {"x": {}}})";
  expect_named(files, "tokenizer_config.json", "\"x\"");
  expect_named({{"vocab.txt", "a\nb\n"}}, "vocab.txt", "[UNK]");
  expect_named({{"tokenizer.model", "YQ== 0\nYg==\n"}}, "tokenizer.model", "line 2");
  expect_named({{"tokenizer.model", "YQ== 0\nYQ== 1\n"}}, "tokenizer.model", "line 2");
}

}  // namespace
}  // namespace locus::text
