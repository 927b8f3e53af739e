#include "core/base/instruction_sets.h"

#include <gtest/gtest.h>

namespace locus {
namespace {

TEST(InstructionSets, AWishNamesOneThatRuns) {
  EXPECT_EQ(*wished_version("", 3), 2);
  EXPECT_EQ(*wished_version("", 1), 0);
  EXPECT_EQ(*wished_version("plain", 1), 0);
  EXPECT_EQ(*wished_version("plain", 3), 0);
  EXPECT_EQ(*wished_version("avx2", 2), 1);
  EXPECT_EQ(*wished_version("avx512", 3), 2);
}

TEST(InstructionSets, WhatIsNoneOrDoesNotRunIsRefused) {
  const auto unknown = wished_version("sse9", 3);
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, ErrorCode::kUsage);
  EXPECT_EQ(unknown.error().describe(), "LOCUS_KERNELS: expected plain, avx2 or avx512, found sse9");
  const auto lacking = wished_version("avx512", 2);
  ASSERT_FALSE(lacking.ok());
  EXPECT_EQ(lacking.error().code, ErrorCode::kUsage);
  EXPECT_EQ(lacking.error().describe(), "LOCUS_KERNELS: expected what this CPU can run, plain or avx2, found avx512");
  EXPECT_EQ(wished_version("avx2", 1).error().describe(),
            "LOCUS_KERNELS: expected what this CPU can run, plain, found avx2");
  EXPECT_LT(wished_version(std::string(5000, 'x'), 3).error().describe().size(), 200U);
}

TEST(InstructionSets, OneIsUsedEverywhere) {
  EXPECT_LT(used_version(), runnable_versions());
  const auto chosen = chosen_version();
  ASSERT_TRUE(chosen.ok()) << chosen.error().describe();
  EXPECT_EQ(used_version(), *chosen);
}

}  // namespace
}  // namespace locus
