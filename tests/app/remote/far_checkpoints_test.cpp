// Every bundled checkpoint on another machine gives the numbers of the same checkpoint here, bit for bit.
#include <gtest/gtest.h>

#include "models/api/machine.h"
#include "tests/support/far_same.h"
#include "tests/support/test_name.h"

namespace locus {
namespace {

using test::bytes_of;
using test::expect_same;

class FarCheckpoints : public test::FarTest, public testing::WithParamInterface<std::string> {};

TEST_P(FarCheckpoints, TracesAndMapsAreTheSame) {
  const ModelPointer here = opened(bundled_path(GetParam()));
  const ModelPointer there = opened(test::FarMachine::path(bundled_path(GetParam())));
  ASSERT_TRUE(here && there);
  ASSERT_TRUE(models::machine_of(*there) && !models::machine_of(*here));
  models::ModelInfo info = here->info();
  for (std::string& file : info.files) {
    file = test::FarMachine::path(file);
  }
  EXPECT_EQ(bytes_of(info), bytes_of(there->info()));
  EXPECT_EQ(here->macs(40), there->macs(40));
  const models::Input input = input_for(info);
  expect_same(here->tokenize(input), there->tokenize(input), "tokens");
  models::RunOptions options;
  options.keep = {"all"};
  options.all_logits = true;
  const auto run = here->run(input, options);
  const auto far_run = there->run(input, options);
  ASSERT_TRUE(run.ok() && far_run.ok()) << far_run.error().describe();
  ASSERT_TRUE((*far_run)->input());
  test::expect_same_facts(**run, **far_run);
  test::expect_same_maps(**run, **far_run, GetParam());
  EXPECT_TRUE(file_of(**run, {"all"}) == file_of(**far_run, {"all"})) << "trace files differ";
}

INSTANTIATE_TEST_SUITE_P(Bundled, FarCheckpoints, testing::ValuesIn(test::bundled_names()),
                         [](const auto& info) { return test::test_name(info.param); });

}  // namespace
}  // namespace locus
