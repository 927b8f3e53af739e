#include "core/base/instruction_sets.h"

#include <gtest/gtest.h>

namespace locus {
namespace {

TEST(InstructionSets, AWishNamesOneThatRuns) {
  EXPECT_EQ(*wished_loops("", 3, true), (LoopChoice{2, true}));
  EXPECT_EQ(*wished_loops("", 3, false), (LoopChoice{2, false}));
  EXPECT_EQ(*wished_loops("", 1, false), (LoopChoice{0, false}));
  EXPECT_EQ(*wished_loops("plain", 1, false), (LoopChoice{0, false}));
  EXPECT_EQ(*wished_loops("plain", 3, true), (LoopChoice{0, false}));
  EXPECT_EQ(*wished_loops("avx2", 2, false), (LoopChoice{1, false}));
  EXPECT_EQ(*wished_loops("avx512", 3, true), (LoopChoice{2, false}));
  EXPECT_EQ(*wished_loops("amx", 3, true), (LoopChoice{2, true}));
}

TEST(InstructionSets, AChoiceHasItsName) {
  EXPECT_EQ(choice_name({0, false}), "plain");
  EXPECT_EQ(choice_name({1, false}), "avx2");
  EXPECT_EQ(choice_name({2, false}), "avx512");
  EXPECT_EQ(choice_name({2, true}), "amx");
}

TEST(InstructionSets, WhatIsNoneOrDoesNotRunIsRefused) {
  const auto unknown = wished_loops("sse9", 3, true);
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, ErrorCode::kUsage);
  EXPECT_EQ(unknown.error().describe(), "LOCUS_KERNELS: expected plain, avx2, avx512 or amx, found sse9");
  const auto lacking = wished_loops("avx512", 2, false);
  ASSERT_FALSE(lacking.ok());
  EXPECT_EQ(lacking.error().code, ErrorCode::kUsage);
  EXPECT_EQ(lacking.error().describe(), "LOCUS_KERNELS: expected what this CPU can run, plain or avx2, found avx512");
  EXPECT_EQ(wished_loops("avx2", 1, false).error().describe(),
            "LOCUS_KERNELS: expected what this CPU can run, plain, found avx2");
  EXPECT_EQ(wished_loops("amx", 3, false).error().describe(),
            "LOCUS_KERNELS: expected what this CPU can run, plain, avx2 or avx512, found amx");
  EXPECT_LT(wished_loops(std::string(5000, 'x'), 3, true).error().describe().size(), 200U);
}

TEST(InstructionSets, OneIsUsedEverywhere) {
  EXPECT_LT(used_version(), runnable_versions());
  EXPECT_LE(used_tiles(), runnable_tiles());
  const auto chosen = chosen_loops();
  ASSERT_TRUE(chosen.ok()) << chosen.error().describe();
  EXPECT_EQ(used_loops(), *chosen);
}

}  // namespace
}  // namespace locus
