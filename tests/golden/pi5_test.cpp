// The word problem of TAPE App. B on the stored words, with the strict mask and as printed.
#include <gtest/gtest.h>

#include "tests/support/golden.h"
#include "tests/support/word_problem.h"

namespace locus {
namespace {

void check(const std::string& mask, bool strict, std::int64_t expected_mistakes) {
  const test::Golden golden("pi5");
  const at::Tensor there = golden["labels"].ge(0);
  // Padding may be any swap: nothing looks ahead.
  const at::Tensor words = golden["tokens"].masked_fill(there.logical_not(), 1);
  const test::WordRun run = test::WordProblem(strict).run(words);
  const auto stored = [&](const at::Tensor& values) { return values.masked_select(there); };
  EXPECT_CLOSE(stored(run.score), stored(golden[mask + ".score"]), 1e-4);
  EXPECT_CLOSE(stored(run.x), stored(golden[mask + ".x"]), 1e-4);
  EXPECT_CLOSE(stored(run.out), stored(golden[mask + ".out"]), 1e-4);
  const at::Tensor mistakes = run.score.gt(0).ne(golden["labels"].eq(1)).logical_and(there);
  EXPECT_EQ(mistakes.sum().item<std::int64_t>(), expected_mistakes);
  EXPECT_TRUE(stored(test::identity_prefixes(words)).equal(stored(golden["labels"].eq(1))));
}

TEST(Pi5, TheStrictMaskIsRightEverywhere) {
  check("strict", true, 0);
}

TEST(Pi5, TheMaskAsPrintedIsNot) {
  check("printed", false, 193);
}

}  // namespace
}  // namespace locus
