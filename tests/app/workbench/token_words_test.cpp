#include "app/workbench/work/token_words.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/fake_model.h"

namespace locus::workbench {
namespace {

// A byte a token.
test::FakeTrace trace_of(const std::string& text) {
  return {{}, text};
}

std::string in_words(const std::string& text, std::int64_t token, std::size_t around) {
  const InContext words = in_context(trace_of(text), token, around);
  return words.before + "[" + words.token + "]" + words.behind;
}

TEST(TokenWords, ATokenIsShownWithWhatStandsAroundIt) {
  EXPECT_EQ(in_words("what is your name", 8, 5), "…t is [y]our n…");
  EXPECT_EQ(in_words("what is your name", 0, 4), "[w]hat …");
  EXPECT_EQ(in_words("short", 4, 40), "shor[t]");
  EXPECT_EQ(in_words("short", 5, 40), "[]");
  EXPECT_EQ(in_words("short", -1, 40), "[]");
}

TEST(TokenWords, PartsOfACharacterAreThatCharacter) {
  const std::string text = "a第二段z";  // 1 + 3 × 3 + 1 bytes
  for (std::int64_t token = 4; token < 7; ++token) {
    EXPECT_EQ(in_words(text, token, 2), "…[二]…") << token;  // no half characters beside it
    EXPECT_EQ(in_words(text, token, 3), "…第[二]段…") << token;
    EXPECT_EQ(in_words(text, token, 9), "a第[二]段z") << token;
  }
}

TEST(TokenWords, BytesAreShownAsTheCharacterTheyArePartOf) {
  const auto trace = trace_of("a第z");
  std::string shown;
  for (std::int64_t token = 0; token < trace.length(); ++token) {
    shown += shown_token(trace, token) + " ";
  }
  EXPECT_EQ(shown, "a 第¹ 第² 第³ z ");
}

TEST(TokenWords, NumbersAreTokensAndPairsAreCells) {
  const auto trace = trace_of("one two 12 one");
  EXPECT_EQ(find_target(trace, "12", 0, false)->query, 12);
  const auto cell = find_target(trace, " 9, 3 ", 0, false);
  ASSERT_TRUE(cell.has_value());
  EXPECT_EQ(cell->query, 9);
  EXPECT_EQ(cell->key, 3);
  EXPECT_EQ(find_target(trace, "\"12\"", 0, false)->query, 8);
  EXPECT_FALSE(find_target(trace, "99", 0, false).has_value());
  EXPECT_FALSE(find_target(trace, "3,99", 0, false).has_value());
}

TEST(TokenWords, WordsAreFoundForthBackAndRoundTheEnd) {
  const auto trace = trace_of("One two one two");
  EXPECT_EQ(find_target(trace, "one", -1, false)->query, 0);
  EXPECT_EQ(find_target(trace, "one", 0, false)->query, 8);
  EXPECT_EQ(find_target(trace, "one", 8, false)->query, 0);
  EXPECT_EQ(find_target(trace, "ONE", 8, true)->query, 0);
  EXPECT_EQ(find_target(trace, "two", 4, true)->query, 12);
  EXPECT_FALSE(find_target(trace, "three", 0, false).has_value());
  EXPECT_FALSE(find_target(trace, "", 0, false).has_value());
}

}  // namespace
}  // namespace locus::workbench
