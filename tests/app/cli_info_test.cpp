#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/run_locus.h"

namespace {

using locus::testing_support::CheckpointTest;
using locus::testing_support::run_locus;
using nlohmann::json;

class CliInfo : public CheckpointTest {};

TEST_F(CliInfo, JsonHasTheFixedKeys) {
  const auto outcome = run_locus({"info", path(), "--json", "--length", "100"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json info = json::parse(outcome.out);
  EXPECT_EQ(info.at("family"), "llama");
  EXPECT_EQ(info.at("encoding").at("name"), "rope");
  EXPECT_EQ(info.at("encoding").at("base"), 10000.0);
  EXPECT_EQ(info.at("layers"), 2);
  EXPECT_EQ(info.at("heads"), 2);
  EXPECT_EQ(info.at("kv_heads"), 2);
  EXPECT_EQ(info.at("width"), 16);
  EXPECT_EQ(info.at("head_width"), 8);
  EXPECT_EQ(info.at("vocabulary"), 256);
  // 256·16 embedding; a layer: 4·16² attention, 3·16·48 feed-forward, 2·16
  // norms; the last norm.
  EXPECT_EQ(info.at("parameters"), 256 * 16 + 2 * (4 * 16 * 16 + 3 * 16 * 48 + 2 * 16) + 16);
  EXPECT_EQ(info.at("dtype"), "float32");
  for (const char* const list : {"files", "missing", "unexpected", "warnings"}) {
    EXPECT_TRUE(info.at(list).is_array()) << list;
  }
  EXPECT_EQ(info.at("files").size(), 1U);
  EXPECT_EQ(info.at("missing").size(), 0U);
  EXPECT_EQ(info.at("flops").get<double>(), 2 * info.at("macs").get<double>());
  EXPECT_GT(info.at("macs").get<double>(), 0);
}

TEST_F(CliInfo, TextSaysTheSame) {
  const auto outcome = run_locus({"info", path()});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("llama"), std::string::npos);
  EXPECT_NE(outcome.out.find("2 × 2"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.err, "");
}

TEST_F(CliInfo, ListsEveryEncoding) {
  const auto outcome = run_locus({"info", "--encodings", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json rows = json::parse(outcome.out);
  std::set<std::string> names;
  for (const json& row : rows) {
    names.insert(row.at("name").get<std::string>());
    EXPECT_FALSE(row.at("equation").get<std::string>().empty()) << row;
    EXPECT_TRUE(row.contains("paper"));
    for (const json& parameter : row.at("parameters")) {
      // A whole group of parameters ("….*") has no one shape.
      const bool group = parameter.at("name").get<std::string>().ends_with("*");
      EXPECT_TRUE(group || !parameter.at("shape").get<std::string>().empty()) << row;
    }
  }
  for (const char* const name : {"none", "learned", "rope", "alibi", "cope", "tapa", "tape", "seqpe"}) {
    EXPECT_EQ(names.count(name), 1U) << name;
  }
}

}  // namespace
