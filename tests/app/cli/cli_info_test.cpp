#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "core/base/numbers.h"
#include "models/formats/tensor_source.h"
#include "tests/support/paths.h"
#include "tests/support/run_locus.h"

namespace {

using locus::testing_support::CheckpointTest;
using locus::testing_support::expect_error;
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
  for (const char* const list : {"files", "unexpected", "warnings"}) {
    EXPECT_TRUE(info.at(list).is_array()) << list;
  }
  EXPECT_EQ(info.at("files").size(), 1U);
  EXPECT_EQ(info.at("flops").get<double>(), 2 * info.at("macs").get<double>());
  EXPECT_GT(info.at("macs").get<double>(), 0);
}

TEST_F(CliInfo, SaysWhatATraceHolds) {
  const std::string trace = file("run.safetensors");
  ASSERT_EQ(run_locus({"run", path(), "--ids", "3,4,5", "--trace", trace, "--keep", "q,k,logits"}).status, 0);
  const auto told = run_locus({"info", trace});
  ASSERT_EQ(told.status, 0) << told.err;
  for (const char* const line : {"trace           run.safetensors\n", "tokens          3, without their text\n",
                                 "encoding        rope\n", "layers × heads 2 × 2\n", "mask            causal\n",
                                 "shows           weight, logit, content, contribution\n", "logits          yes\n"}) {
    EXPECT_NE(told.out.find(line), std::string::npos) << line << told.out;
  }
  EXPECT_EQ(told.err, "");
  const json info = json::parse(run_locus({"info", trace, "--json"}).out);
  EXPECT_EQ(info.at("trace"), true);
  EXPECT_EQ(info.at("length"), 3);
  EXPECT_EQ(info.at("tokens").size(), 3U);
  EXPECT_EQ(info.at("encodings").at(0).at("base"), 10000.0);
  EXPECT_EQ(info.at("shows").at("content"), json({0, 1}));
  EXPECT_TRUE(info.at("sides").empty());
  const std::string both = locus::test::source_dir() + "/tests/golden/families/";
  const std::string sides = file("sides.safetensors");
  ASSERT_EQ(
      run_locus({"run", both + "t5", "--ids", "3,4,5,6", "--decoder-ids", "2,7", "--trace", sides, "--keep", "q,k"})
          .status,
      0);
  const json told_sides = json::parse(run_locus({"info", sides, "--json"}).out).at("sides");
  EXPECT_EQ(told_sides.at("encoder").at("length"), 4);
  EXPECT_EQ(told_sides.at("cross").at("length"), 2);
  EXPECT_EQ(told_sides.at("cross").at("key_length"), 4);
}

// Beside RoPE of the same shape: TAPE carries its state through attention and mixes it in every layer.
TEST_F(CliInfo, CountsWhatAnEncodingCosts) {
  const auto macs = [](const std::string& checkpoint) {
    const auto outcome = run_locus(
        {"info", locus::test::source_dir() + "/assets/checkpoints/" + checkpoint, "--json", "--length", "1024"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return json::parse(outcome.out).at("macs").get<double>();
  };
  const double rope = macs("text-rope");
  EXPECT_GT(macs("text-tape"), 1.01 * rope);
  EXPECT_GT(macs("text-cope"), 1.001 * rope);
  EXPECT_EQ(macs("text-alibi"), rope);
}

std::string family_folder(const std::string& name) {
  return locus::test::source_dir() + "/tests/golden/families/" + name;
}

TEST_F(CliInfo, JsonListsEachLayersEncodingAndWindow) {
  const auto outcome = run_locus({"info", family_folder("gemma3_text"), "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json info = json::parse(outcome.out);
  EXPECT_EQ(info.at("layer_encodings"), json::parse("[1, 1, 0, 1]"));
  EXPECT_EQ(info.at("windows"), json::parse("[6, 6, 0, 6]"));
  EXPECT_EQ(info.at("encodings").at(0).at("base"), 20000.0);
  EXPECT_EQ(info.at("encodings").at(1).at("base"), 100.0);
  const auto without = run_locus({"info", family_folder("smollm3"), "--json"});
  EXPECT_EQ(json::parse(without.out).at("layer_encodings"), json::parse("[0, 0, 0, -1]"));
}

TEST_F(CliInfo, NamesHeadsOfOtherTasksAndTheirLabels) {
  const std::string variants = locus::test::source_dir() + "/tests/golden/variants/";
  const auto outcome = run_locus({"info", variants + "tasks/bert-sequence"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("output          the state of every token"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("pooler, classifier: not used; labels no, maybe, yes"), std::string::npos) << outcome.out;
  const json info = json::parse(run_locus({"info", variants + "tasks/bert-sequence", "--json"}).out);
  EXPECT_EQ(info.at("head"), false);
  EXPECT_EQ(info.at("labels"), json::parse(R"(["no", "maybe", "yes"])"));
  const auto chain = run_locus({"info", variants + "sentence/cls-dense"});
  EXPECT_NE(chain.out.find("one vector      state of the first token, dense 5 tanh"), std::string::npos) << chain.out;
}

// The base of an adapter, which it names or --base does.
TEST_F(CliInfo, OpensAdaptersOnTheirBase) {
  const std::string adapters = locus::test::source_dir() + "/tests/golden/variants/adapters/";
  const auto outcome = run_locus({"info", adapters + "lora"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("LoRA, rank 3, 6 modules, on "), std::string::npos) << outcome.err;
  EXPECT_EQ(run_locus({"info", adapters + "lora", "--base", adapters + "base"}).status, 0);
  expect_error(run_locus({"info", adapters + "lora", "--base", adapters + "none"}), 3, "none");
}

// The bundled checkpoint whose every second layer has no positions.
TEST_F(CliInfo, NamesTheLayersWithoutPositions) {
  const std::string bundled = locus::test::source_dir() + "/assets/checkpoints/text-rope-nope";
  const json info = json::parse(run_locus({"info", bundled, "--json"}).out);
  EXPECT_EQ(info.at("layer_encodings"), json::parse("[0, -1, 0, -1]"));
  const std::string text = run_locus({"info", bundled}).out;
  EXPECT_NE(text.find("\nlayers 0, 2     rope base=10000\nlayers 1, 3     none\n"), std::string::npos) << text;
}

TEST_F(CliInfo, TextNamesThem) {
  const auto outcome = run_locus({"info", family_folder("smollm3")});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("layers 0, 1, 2  rope base=2000000"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("layer 3         none"), std::string::npos) << outcome.out;
}

TEST_F(CliInfo, SaysWhichLayersEachOfSeveralEncodingsHas) {
  const auto outcome = run_locus({"info", family_folder("modernbert")});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("\nencoding        rope base=160000, layers 0, 3\n"
                             "encoding        rope base=10000, layers 1, 2\n"),
            std::string::npos)
      << outcome.out;
  const auto changed = run_locus({"info", family_folder("gemma2"), "--rope-base", "500@1"});
  ASSERT_EQ(changed.status, 0) << changed.err;
  EXPECT_NE(changed.out.find("encoding        rope base=500, layer 1\n"), std::string::npos) << changed.out;
}

TEST_F(CliInfo, VerifyComparesWithTheFoldersOwnValues) {
  const auto outcome = run_locus({"verify", family_folder("smollm3")});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("layers.3.attention"), std::string::npos) << outcome.out;
  const auto table = run_locus({"verify", "--table", family_folder("smollm3"), family_folder("qwen3")});
  EXPECT_EQ(table.status, 0) << table.err;
  EXPECT_NE(table.out.find("| `qwen3` | `qwen3` | "), std::string::npos) << table.out;
  EXPECT_EQ(run_locus({"verify", "--table", family_folder(".")}).status, 3);
}

// What another program computed, from wherever it lies.
TEST_F(CliInfo, VerifyComparesWithAFileOfExpectedValues) {
  const std::filesystem::path folder = family_folder("qwen3");
  const std::string other = testing::TempDir() + "/locus_expected_" + std::to_string(getpid());
  std::filesystem::remove_all(other);
  std::filesystem::create_directories(other);
  for (const char* name : {"config.json", "model.safetensors"}) {
    std::filesystem::copy(folder / name, std::filesystem::path(other) / name);
  }
  const std::string values = (folder / "expected.safetensors").string();
  const auto outcome = run_locus({"verify", other, "--expected", values});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("logits"), std::string::npos) << outcome.out;
  expect_error(run_locus({"verify", other, "--expected", values, "--ids", "1"}), 2, "--expected: expected without");
  expect_error(run_locus({"verify", other, "--expected", other + "/config.json"}), 3, "config.json");
  std::filesystem::remove_all(other);
}

TEST_F(CliInfo, VerifyWritesItsTableIntoAPage) {
  const std::string page = testing::TempDir() + "/locus_table_" + std::to_string(getpid()) + ".md";
  const auto write = [&](const std::string& text) { std::ofstream(page) << text; };
  write("# Page\n\n<!-- locus verify --table -->\n| old |\n<!-- end -->\nafter\n");
  const auto outcome = run_locus({"verify", "--table", family_folder("qwen3"), "--into", page});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  const std::string text = locus::testing_support::read_text(page);
  EXPECT_NE(text.find("# Page\n\n<!-- locus verify --table -->\n| checkpoint |"), std::string::npos) << text;
  EXPECT_NE(text.find("| `qwen3` | `qwen3` | "), std::string::npos) << text;
  EXPECT_NE(text.find("|\n<!-- end -->\nafter\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("old"), std::string::npos) << text;
  write("no place for it\n");
  expect_error(run_locus({"verify", "--table", family_folder("qwen3"), "--into", page}), 3, "<!-- end -->");
  expect_error(run_locus({"verify", family_folder("qwen3"), "--into", page}), 2, "--table");
  std::filesystem::remove(page);
}

// The manual's table has a row for each reference folder, and none of its numbers is above what is allowed.
TEST_F(CliInfo, TheManualsTableIsWhatVerifyPrints) {
  const std::string page =
      locus::testing_support::read_text(locus::test::source_dir() + "/assets/manual/checkpoints.md");
  const std::regex row(R"(\| `([^`]+)` \| `([^`]+)` \| ([0-9.e+-]+) \| ([0-9.e+-]+) \|)");
  const auto rows = [&](const std::string& text) {
    std::map<std::string, std::string> families;
    for (std::sregex_iterator at(text.begin(), text.end(), row), end; at != end; ++at) {
      families[(*at)[1]] = (*at)[2];
      EXPECT_LE(locus::parse_number<double>((*at)[3].str()).value_or(1), 1e-4) << at->str();
      EXPECT_LE(locus::parse_number<double>((*at)[4].str()).value_or(1), 1e-4) << at->str();
    }
    return families;
  };
  std::vector<std::string> arguments{"verify", "--table"};
  for (const auto& entry : std::filesystem::directory_iterator(family_folder("."))) {
    arguments.push_back(entry.path().lexically_normal().string());
  }
  const auto outcome = run_locus(arguments);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto written = rows(page);
  EXPECT_EQ(written, rows(outcome.out));
  EXPECT_EQ(written.size(), arguments.size() - 2);
}

TEST_F(CliInfo, TracesKeepExpertsWhereThereAreSome) {
  const std::string trace = testing::TempDir() + "/locus_experts_" + std::to_string(getpid()) + ".safetensors";
  const auto kept =
      run_locus({"run", family_folder("gpt_oss"), "--ids", "1,2,3,4", "--trace", trace, "--keep", "experts,q,k"});
  EXPECT_EQ(kept.status, 0) << kept.err;
  const auto source = locus::formats::open_tensors(trace);
  ASSERT_TRUE(source.ok());
  for (const char* name : {"layers.1.experts", "layers.1.expert_weights"}) {
    ASSERT_NE((*source)->find(name), nullptr) << name;
    EXPECT_EQ((*source)->find(name)->shape, (std::vector<std::int64_t>{4, 2}));
  }
  expect_error(run_locus({"run", family_folder("qwen3"), "--ids", "1,2", "--trace", trace, "--keep", "experts"}), 4,
               "experts");
  std::filesystem::remove(trace);
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
