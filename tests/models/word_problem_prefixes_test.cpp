// word_prefixes() against the construction of TAPE App. B.1.3 on TAPE's own functions, under both masks, and against the
// composition of the transpositions.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "models/api/word_problem.h"
#include "tests/support/golden.h"
#include "tests/support/word_problem.h"

namespace locus::models {
namespace {

// Letters of which about every second stretch is undone.
std::string word_of(std::int64_t length, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string word;
  while (std::ssize(word) < length) {
    std::string stretch;
    for (std::uint64_t n = 1 + random() % 9; n > 0; --n) {
      stretch += kSwapLetters[random() % kSwapLetters.size()];
    }
    word += stretch;
    if (random() % 2 == 0 || word == stretch) {
      word += std::string(stretch.rbegin(), stretch.rend());
    }
  }
  word.resize(static_cast<std::size_t>(length));
  return word;
}

// (1, T): the start token, then 1 … 10.
at::Tensor tokens_of(const std::string& word) {
  at::Tensor tokens = at::full({1, std::ssize(word) + 1}, 11, at::kLong);
  for (std::size_t n = 0; n < word.size(); ++n) {
    tokens[0][static_cast<std::int64_t>(n) + 1] = 1 + static_cast<std::int64_t>(kSwapLetters.find(word[n]));
  }
  return tokens;
}

TEST(WordProblemPrefixes, LogitsAreThoseOfTheProgram) {
  for (const bool strict : {false, true}) {
    const test::WordProblem program(strict);
    for (const std::int64_t length : {0, 1, 2, 17, 100}) {
      const std::string word = word_of(length, 5 + static_cast<std::uint64_t>(length));
      const auto prefixes = word_prefixes(word, strict);
      ASSERT_TRUE(prefixes.ok()) << prefixes.error().describe();
      ASSERT_EQ(std::ssize(*prefixes), length + 1);
      const at::Tensor tokens = tokens_of(word);
      std::vector<double> logits;
      std::vector<double> identities;
      for (const WordPrefix& each : *prefixes) {
        logits.push_back(each.logit);
        identities.push_back(each.identity ? 1 : 0);
      }
      EXPECT_CLOSE(at::tensor(logits, at::kDouble), program.run(tokens).score[0], 1e-9) << strict << " " << word;
      EXPECT_TRUE(at::tensor(identities, at::kDouble).gt(0).equal(test::identity_prefixes(tokens)[0])) << word;
    }
  }
}

TEST(WordProblemPrefixes, TheStrictMaskHoldsThePermutation) {
  std::int64_t identities = 0;
  std::int64_t missed = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const std::string word = word_of(60, seed);
    const auto strict = word_prefixes(word, true);
    const auto printed = word_prefixes(word, false);
    ASSERT_TRUE(strict.ok() && printed.ok());
    Arrangement things = identity_arrangement();
    for (std::size_t n = 0; n < strict->size(); ++n) {
      if (n > 0) {
        swap_places(things, *transposition_of(word[n - 1]));
      }
      const WordPrefix& prefix = (*strict)[n];
      ASSERT_EQ(prefix.arrangement, things);
      ASSERT_EQ((*printed)[n].arrangement, things);
      double sum = 0;
      for (std::int64_t place = 0; place < kMovedThings; ++place) {
        const std::int64_t thing = things[static_cast<std::size_t>(place)];
        sum += static_cast<double>((place + 1) * (thing + 1));
        for (std::int64_t other = 0; other < kMovedThings; ++other) {
          ASSERT_EQ(prefix.matrix[static_cast<std::size_t>(place * kMovedThings + other)], other == thing ? 1 : 0);
        }
      }
      ASSERT_EQ(prefix.logit, sum - 54.5);
      ASSERT_EQ(prefix.logit > 0, prefix.identity);
      identities += prefix.identity ? 1 : 0;
      missed += prefix.identity && (*printed)[n].logit <= 0 ? 1 : 0;
    }
  }
  EXPECT_GT(identities, 150);
  EXPECT_GT(2 * missed, identities);
}

TEST(WordProblemPrefixes, LettersAreTheTranspositionsInOrder) {
  std::size_t letter = 0;
  for (std::int64_t source = 0; source < kMovedThings; ++source) {
    for (std::int64_t target = source + 1; target < kMovedThings; ++target) {
      const auto swap = transposition_of(kSwapLetters[letter++]);
      ASSERT_TRUE(swap.has_value());
      EXPECT_EQ(swap->source, source);
      EXPECT_EQ(swap->target, target);
      EXPECT_EQ(letter_of(*swap), kSwapLetters[letter - 1]);
    }
  }
  EXPECT_EQ(letter, kSwapLetters.size());
  EXPECT_FALSE(transposition_of('k').has_value());
  EXPECT_FALSE(transposition_of('A').has_value());
}

TEST(WordProblemPrefixes, RefusesByName) {
  const auto other = word_prefixes("abx", true);
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, ErrorCode::kUsage);
  EXPECT_NE(other.error().message.find("found x"), std::string::npos) << other.error().message;
  const auto longer = word_prefixes(std::string(kMaxWordLetters + 1, 'a'), false);
  ASSERT_FALSE(longer.ok());
  EXPECT_EQ(longer.error().code, ErrorCode::kTooLarge);
}

}  // namespace
}  // namespace locus::models
