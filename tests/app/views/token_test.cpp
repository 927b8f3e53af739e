// Tokens by what they stand for.
#include "app/views/shared/token.h"

#include <gtest/gtest.h>

namespace locus::views {
namespace {

std::vector<models::TokenInfo> tokens_of(const std::vector<Range>& bytes) {
  std::vector<models::TokenInfo> tokens;
  for (const Range& each : bytes) {
    tokens.push_back({1, "x", each, 0});
  }
  return tokens;
}

// [CLS] "one" " two" [SEP] [SEP], and "on" "e" " " "tw" "o".
const auto kWords = tokens_of({{}, {0, 3}, {3, 7}, {}, {}});
const auto kParts = tokens_of({{0, 2}, {2, 3}, {3, 4}, {4, 6}, {6, 7}});

TEST(Token, StandsForItsBytesAndASpecialOneForItsPlace) {
  EXPECT_EQ(text_of(kWords, 1), (TokenText{{0, 3}, 0}));
  EXPECT_EQ(text_of(kWords, 0), (TokenText{{0, 0}, 0}));
  EXPECT_EQ(text_of(kWords, 4), (TokenText{{7, 7}, 1}));
  EXPECT_EQ(text_of(kWords, 5), std::nullopt);
  EXPECT_EQ(text_of(kWords, -1), std::nullopt);
  EXPECT_EQ(texts_of(kWords).size(), 5U);
}

TEST(Token, IsFoundAmongItsOwnAndAmongOthers) {
  for (std::int64_t n = 0; n < 5; ++n) {
    EXPECT_EQ(token_of(kWords, *text_of(kWords, n)), n);
    EXPECT_EQ(token_of(kParts, *text_of(kParts, n)), n);
  }
  EXPECT_EQ(token_of(kParts, *text_of(kWords, 1)), 1);  // which has read all of it
  EXPECT_EQ(token_of(kParts, *text_of(kWords, 2)), 4);
  EXPECT_EQ(token_of(kWords, *text_of(kParts, 0)), 1);
  EXPECT_EQ(token_of(kWords, *text_of(kParts, 3)), 2);
  EXPECT_EQ(token_of(kParts, *text_of(kWords, 0)), kNone);  // no [CLS]
  EXPECT_EQ(token_of(kParts, *text_of(kWords, 4)), kNone);
  const auto dropped = tokens_of({{0, 3}, {4, 7}});  // the space is no token's
  EXPECT_EQ(token_of(dropped, *text_of(kParts, 2)), kNone);
  EXPECT_EQ(token_of(dropped, *text_of(kWords, 2)), 1);
}

TEST(Token, OneOfSeveralOfTheSameBytesIsThatOne) {
  const auto pieces = tokens_of({{0, 3}, {0, 3}, {0, 3}, {3, 4}});
  for (std::int64_t n = 0; n < 4; ++n) {
    EXPECT_EQ(token_of(pieces, *text_of(pieces, n)), n);
  }
}

TEST(Token, MovesWithItsText) {
  const TokenText two{{3, 7}, 0};
  EXPECT_EQ(moved(two, "one two", "one two"), two);
  EXPECT_EQ(moved(two, "one two", "then one two"), (TokenText{{8, 12}, 0}));
  EXPECT_EQ(moved(two, "one two", "one two three"), two);
  EXPECT_EQ(moved(two, "one two", "on two"), (TokenText{{2, 6}, 0}));
  EXPECT_EQ(moved(two, "one two", "one twwo"), (TokenText{{3, 8}, 0}));
  EXPECT_EQ(moved(two, "one two", "one"), std::nullopt);
  EXPECT_EQ(moved(two, "one two", ""), std::nullopt);
  EXPECT_EQ(moved({{0, 3}, 0}, "one two", "two"), std::nullopt);
}

TEST(Token, SpecialTokensStayAtTheEnds) {
  EXPECT_EQ(moved({{0, 0}, 0}, "one", "now one")->bytes, (Range{0, 0}));
  EXPECT_EQ(moved({{3, 3}, 1}, "one", "one more"), (TokenText{{8, 8}, 1}));
  EXPECT_EQ(moved({{3, 3}, 0}, "one", "on")->bytes, (Range{2, 2}));
}

TEST(Token, ANumberIsATokenOfTheFirstColumn) {
  const Token typed = 5;
  EXPECT_EQ(typed, 5);
  EXPECT_TRUE(typed.chosen());
  EXPECT_FALSE(Token().chosen());
  EXPECT_TRUE(Token(kNone, TokenText{{0, 0}, 0}).chosen());  // which the first column has not
}

}  // namespace
}  // namespace locus::views
