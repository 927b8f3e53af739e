#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "models/checkpoint/tensor_source.h"
#include "tests/support/run_locus.h"

namespace {

using locus::testing_support::CheckpointTest;
using locus::testing_support::expect_error;
using locus::testing_support::run_locus;
using nlohmann::json;

class CliRun : public CheckpointTest {};

TEST_F(CliRun, JsonHasTheFixedKeys) {
  const auto outcome = run_locus({"run", path(), "--text", "one two\n", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json run = json::parse(outcome.out);
  EXPECT_EQ(run.at("tokens").size(), 8U);
  EXPECT_EQ(run.at("input_ids"), json::parse("[111,110,101,32,116,119,111,10]"));
  EXPECT_EQ(run.at("tokens").at(3), "·");
  EXPECT_GT(run.at("time_ms").get<double>(), 0);
  EXPECT_GE(run.at("memory_mb").get<int>(), 0);
  double last = 1;
  ASSERT_FALSE(run.at("top").empty());
  for (const json& top : run.at("top")) {
    EXPECT_LE(top.at("probability").get<double>(), last);
    last = top.at("probability").get<double>();
    EXPECT_TRUE(top.at("token").is_string());
    EXPECT_TRUE(top.at("id").is_number_integer());
  }
}

TEST_F(CliRun, IdsAndTextAreTheSameInput) {
  const auto ids = run_locus({"run", path(), "--ids", "111,110,101", "--json"});
  const auto text = run_locus({"run", path(), "--text", "one", "--json"});
  ASSERT_EQ(ids.status, 0) << ids.err;
  EXPECT_EQ(json::parse(ids.out).at("top"), json::parse(text.out).at("top"));
}

TEST_F(CliRun, WritesATrace) {
  const std::string trace = file("trace.safetensors");
  const auto outcome = run_locus({"run", path(), "--text", "one two", "--trace", trace, "--keep", "attention,logits"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto source = locus::checkpoint::open_tensors(trace);
  ASSERT_TRUE(source.ok()) << source.error().describe();
  EXPECT_EQ((*source)->metadata().at("locus.format"), "trace/1");
  const auto shape = [&source](const std::string& name) {
    const auto* const tensor = (*source)->find(name);
    return tensor == nullptr ? std::vector<std::int64_t>{} : tensor->shape;
  };
  EXPECT_EQ(shape("input_ids"), (std::vector<std::int64_t>{7}));
  EXPECT_EQ(shape("logits"), (std::vector<std::int64_t>{7, 256}));
  EXPECT_EQ(shape("layers.0.attention"), (std::vector<std::int64_t>{2, 7, 7}));
  EXPECT_EQ(shape("layers.1.attention"), (std::vector<std::int64_t>{2, 7, 7}));
}

TEST_F(CliRun, GeneratesGreedily) {
  const auto one = run_locus({"run", path(), "--text", "one two", "--generate", "3", "--json"});
  ASSERT_EQ(one.status, 0) << one.err;
  const json run = json::parse(one.out);
  ASSERT_EQ(run.at("generated").at("ids").size(), 3U);
  EXPECT_EQ(run.at("generated").at("ids").at(0), run.at("top").at(0).at("id"));
}

TEST_F(CliRun, RefusesInputsThatCannotBe) {
  expect_error(run_locus({"run", path(), "--text", ""}), 3, "empty");
  expect_error(run_locus({"run", path(), "--ids", "256"}), 3, "256");
  expect_error(run_locus({"run", path(), "--ids", "-1"}), 3, "-1");
  expect_error(run_locus({"run", path(), "--text-file", file("missing.txt")}), 3, "missing.txt");
  expect_error(run_locus({"run", path(), "--image", file("corpus.txt")}), 3);
  expect_error(run_locus({"run", path(), "--text", "a", "--rope-scaling", "cubic:3"}), 2, "cubic");
  expect_error(run_locus({"run", path(), "--text", "a", "--trace", file("no/such/folder/t.safetensors")}), 3, "folder");
}

TEST_F(CliRun, RefusesMoreThanTheMemoryLimit) {
  expect_error(run_locus({"--memory-limit-mb", "1", "run", path(), "--ids",
                          [] {
                            std::string ids = "1";
                            for (int n = 0; n < 60000; ++n) {
                              ids += ",1";
                            }
                            return ids;
                          }()}),
               5);
}

}  // namespace
