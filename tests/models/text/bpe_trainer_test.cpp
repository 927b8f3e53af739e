#include "models/text/bpe/trainer.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/models/text/tokens.h"

namespace locus::text {
namespace {

nlohmann::json trained(const std::vector<std::string_view>& texts, std::int64_t vocabulary) {
  const auto json = train_byte_bpe(texts, vocabulary);
  EXPECT_TRUE(json.ok()) << (json.ok() ? "" : json.error().describe());
  return json.ok() ? nlohmann::json::parse(*json) : nlohmann::json();
}

// "low" 5 times, "lower" 2, "newest" 6, "widest" 3: the example of Sennrich et al., Alg. 1, on bytes.
TEST(BpeTrainer, JoinsTheMostFrequentPairFirst) {
  std::string text;
  for (const auto& [word, count] : {std::pair{"low", 5}, {"lower", 2}, {"newest", 6}, {"widest", 3}}) {
    for (int n = 0; n < count; ++n) {
      text += std::string(word) + "\n";
    }
  }
  const nlohmann::json merges = trained({text}, 256 + 4).at("model").at("merges");
  // es, st and the rest of "est" occur 9 times; of equals the smaller bytes win, then what contains the joined pair.
  ASSERT_EQ(merges.size(), 4U);
  EXPECT_EQ(merges[0], (nlohmann::json{"e", "s"}));
  EXPECT_EQ(merges[1], (nlohmann::json{"es", "t"}));
  EXPECT_EQ(merges[2], (nlohmann::json{"l", "o"}));
  EXPECT_EQ(merges[3], (nlohmann::json{"lo", "w"}));
}

TEST(BpeTrainer, WritesATokenizerThatShortensAndKeepsEveryText) {
  std::string text;
  for (int n = 0; n < 50; ++n) {
    text += "The river rises, the river falls; whoever reads the river, reads the same page twice.\n";
  }
  const auto json = train_byte_bpe(std::vector<std::string_view>{text}, 290);
  ASSERT_TRUE(json.ok());
  const TestFolder folder("bpe_trainer");
  std::ofstream(folder.path() / "tokenizer.json") << *json;
  const auto tokenizer = open_tokenizer(folder.path());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().describe();
  EXPECT_EQ((*tokenizer)->vocabulary(), 290);
  const auto tokens = (*tokenizer)->encode(text, false);
  ASSERT_TRUE(tokens.ok());
  EXPECT_LT(tokens->size(), text.size() / 2);
  std::mt19937 random(1);
  for (int n = 0; n < 50; ++n) {
    const std::string other = random_text(random, 30);
    const auto encoded = (*tokenizer)->encode(other, false);
    ASSERT_TRUE(encoded.ok());
    expect_tiles(*encoded, other);
    EXPECT_EQ((*tokenizer)->decode(ids_of(*encoded)), other);
  }
}

TEST(BpeTrainer, StopsWhereNothingOccursTwice) {
  EXPECT_EQ(trained({"abcd"}, 1000).at("model").at("vocab").size(), 256U);
  EXPECT_FALSE(train_byte_bpe(std::vector<std::string_view>{"abcd"}, 255).ok());
  EXPECT_FALSE(train_byte_bpe(std::vector<std::string_view>{"abcd"}, 1 << 20).ok());
}

}  // namespace
}  // namespace locus::text
