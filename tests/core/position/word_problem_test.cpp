// TAPE solves the word problem of Π(5) at every prefix (Zhu et al. 2025, Theorem B.1), by the construction of App.
// B.1.3.
#include <gtest/gtest.h>

#include <random>

#include "tests/support/word_problem.h"

namespace locus {
namespace {

// Swaps from a start token on; every word returns to the identity by undoing a stretch of itself, more than once.
at::Tensor random_words(std::int64_t count, std::int64_t length, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  at::Tensor words = at::empty({count, length}, at::kLong);
  auto cells = words.accessor<std::int64_t, 2>();
  for (std::int64_t word = 0; word < count; ++word) {
    cells[word][0] = 11;
    for (std::int64_t index = 1; index < length;) {
      const auto stretch = static_cast<std::int64_t>(1 + random() % 20);
      for (std::int64_t step = 0; step < 2 * stretch && index + step < length; ++step) {
        cells[word][index + step] =
            step < stretch ? static_cast<std::int64_t>(1 + random() % 10) : cells[word][index + 2 * stretch - 1 - step];
      }
      index += 2 * stretch;
    }
  }
  return words;
}

std::int64_t mistakes(const test::WordProblem& problem, const at::Tensor& words) {
  const test::WordRun run = problem.run(words);
  const at::Tensor labels = test::identity_prefixes(words);
  const at::Tensor wrong = run.score.gt(0).ne(labels).logical_or(run.x.le(0).ne(labels));
  // The paper's own output, which is exactly 0 at the start token.
  const at::Tensor output = run.out.gt(0).ne(labels).slice(1, 1);
  return wrong.sum().item<std::int64_t>() + output.sum().item<std::int64_t>();
}

TEST(WordProblem, EveryPrefixOfAThousandWords) {
  const test::WordProblem problem(true);
  std::int64_t identities = 0;
  for (std::int64_t block = 0; block < 40; ++block) {
    // 25 words of each length from 22 to 256.
    const at::Tensor words = random_words(25, 256 - 6 * block, static_cast<std::uint64_t>(block));
    identities += test::identity_prefixes(words).sum().item<std::int64_t>();
    EXPECT_EQ(mistakes(problem, words), 0);
  }
  EXPECT_GT(identities, 5000);
}

TEST(WordProblem, TheMaskAsPrintedMissesMostIdentities) {
  const at::Tensor words = random_words(20, 128, 7);
  const at::Tensor labels = test::identity_prefixes(words);
  const at::Tensor found = test::WordProblem(false).run(words).score.gt(0).logical_and(labels);
  EXPECT_LT(2 * found.sum().item<std::int64_t>(), labels.sum().item<std::int64_t>());
}

TEST(WordProblem, OneCorruptedWeightBreaksIt) {
  const at::Tensor words = random_words(20, 128, 3);
  test::WordProblem score(true);
  score.layers()[3].key[2][11] = 2.0;
  EXPECT_GT(mistakes(score, words), 0);
  test::WordProblem position(true);
  position.layers()[1].position_value[1][0] = 0.4;
  EXPECT_GT(mistakes(position, words), 0);
  test::WordProblem mean(true);
  mean.layers()[2].value[0][11] = 2.0;
  EXPECT_GT(mistakes(mean, words), 0);
}

}  // namespace
}  // namespace locus
