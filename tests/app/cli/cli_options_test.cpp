// Every option that can refuse a value does, with its name, what is expected and what was found.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

#include "app/cli/command.h"
#include "tests/support/run_locus.h"

namespace {

using locus::Parameter;
using locus::cli::Option;
using locus::testing_support::CheckpointTest;
using locus::testing_support::expect_error;
using locus::testing_support::run_locus;

// Texts that `option` cannot be.
std::vector<std::string> refused(const Option& option) {
  const Parameter& parameter = option.parameter;
  std::vector<std::string> texts;
  if (parameter.kind == Parameter::Kind::kChoice || parameter.kind == Parameter::Kind::kToggle) {
    return {"no-such-word"};
  }
  if (parameter.kind == Parameter::Kind::kText) {
    return {};  // any words
  }
  texts = {"x", "nan", "inf", "1,,2"};
  if (std::abs(parameter.low) < 1e15) {
    texts.push_back(std::to_string(static_cast<long long>(std::floor(parameter.low)) - 2));
  }
  if (std::abs(parameter.high) < 1e15) {
    texts.push_back(std::to_string(static_cast<long long>(std::ceil(parameter.high)) + 1));
  }
  if (parameter.kind == Parameter::Kind::kWhole) {
    texts.emplace_back("1.5");
  }
  return texts;
}

class CliOptions : public CheckpointTest {};

TEST_F(CliOptions, EachOneRefusesWhatItCannotBe) {
  locus::cli::Parser table;
  std::vector<locus::cli::Action> actions;  // own what the options are read into
  for (const locus::cli::Command& command : locus::cli::commands()) {
    locus::cli::Arguments arguments = table.add_command(command.name, command.summary);
    actions.push_back(command.declare(arguments));
  }
  ASSERT_GT(table.options().size(), 40U);
  std::map<std::string, std::string> meanings;  // what an option of one name takes, whatever the sub-command
  for (const Option& option : table.options()) {
    for (const std::string& text : refused(option)) {
      const auto value = locus::parse(option.parameter, text, option.name);
      ASSERT_FALSE(value.ok()) << option.command << " " << option.name << " " << text;
      EXPECT_EQ(value.error().code, locus::ErrorCode::kUsage);
      EXPECT_NE(value.error().message.find(option.name + ": expected "), std::string::npos);
      EXPECT_NE(value.error().message.find(", found "), std::string::npos);
    }
    if (option.name == "--seed" || option.name == "--threads") {
      const auto [known, first] = meanings.emplace(option.name, expected(option.parameter));
      EXPECT_EQ(known->second, expected(option.parameter)) << option.command << " " << option.name;
    }
  }
}

// The folder of a checkpoint that cannot be opened ends with another status as soon as it is.
TEST_F(CliOptions, SizesOfPaperAreCheckedBeforeACheckpointIsOpened) {
  std::filesystem::create_directories(file("damaged"));
  std::ofstream(file("damaged/config.json")) << "{";
  for (const std::string& checkpoint : {file("nowhere"), file("damaged"), path()}) {
    const std::vector<std::string> figure{"figure",  "attention", checkpoint,   "--text",
                                          "one two", "--out",     file("x.png")};
    for (const auto& [flag, value, range] :
         std::vector<std::array<std::string, 3>>{{"--dpi", "4000", "36 to 2400"},
                                                 {"--dpi", "35", "36 to 2400"},
                                                 {"--width-mm", "9", "10 to 2000"},
                                                 {"--width-mm", "2001", "10 to 2000"},
                                                 {"--text-pt", "2", "3 to 72"},
                                                 {"--text-pt", "73", "3 to 72"}}) {
      std::vector<std::string> words = figure;
      words.insert(words.end(), {flag, value});
      expect_error(run_locus(words), 2, flag + ": expected a number from " + range + ", found " + value);
    }
    std::vector<std::string> words = figure;
    words.insert(words.end(), {"--without", "axes"});
    expect_error(run_locus(words), 2, "--without: expected titles, labels, legend");
    std::ofstream(file("r.json")) << R"({"locus": "session/1", "state": {"view": "attention"}, "paper": {"dpi": 4000},)"
                                  << R"( "checkpoints": [{"path": ")" << checkpoint << R"("}]})";
    expect_error(run_locus({"figure", "--recipe", file("r.json"), "--out", file("x.png")}), 3,
                 "r.json: paper.dpi: expected a number from 36 to 2400, found 4000");
  }
  EXPECT_FALSE(std::filesystem::exists(file("x.png")));
}

TEST_F(CliOptions, ATraceHasItsOwnInput) {
  const std::string trace = file("of-ids.safetensors");
  ASSERT_EQ(run_locus({"run", path(), "--ids", "1,2,3", "--trace", trace, "--keep", "attention"}).status, 0);
  const auto drawn = [&](const std::string& ids) {
    return run_locus({"figure", "attention", trace, "--ids", ids, "--data", file("t.npy")});
  };
  EXPECT_EQ(drawn("1,2,3").status, 0);
  expect_error(drawn("1,2,4"), 2, "--ids: expected the input of the trace");
  expect_error(drawn("1,2"), 2, "--ids: expected the input of the trace");
}

TEST_F(CliOptions, AnEvaluationOfSomethingElseIsRefused) {
  const std::string text = locus::test::source_dir() + "/assets/checkpoints/text-rope";
  const std::string counting = locus::test::source_dir() + "/assets/checkpoints/counting-rope";
  expect_error(run_locus({"evaluate", "flip-flop", text, "--samples", "2"}), 3,
               "trained on flip-flop, found one of text");
  expect_error(run_locus({"evaluate", "counting", counting, "--map", "3", "--samples", "2"}), 2, "--map");
  expect_error(run_locus({"evaluate", "counting", counting, "--task-option", "foo=1"}), 2, "foo");
}

TEST_F(CliOptions, FlagsOfAViewAreInItsRecipe) {
  const auto drawn = run_locus({"figure", "attention",  path(),       "--text", "one two three", "--ignore-first",
                                "--low",  "0.125",      "--high",     "0.5",    "--percentile",  "90",
                                "--mask", "black",      "--camera-x", "0,5",    "--camera-y",    "5,0",
                                "--data", file("m.npy")});
  ASSERT_EQ(drawn.status, 0) << drawn.err;
  const std::string recipe = locus::testing_support::read_text(file("m.npy.recipe.json"));
  for (const char* part : {"\"ignore_first\":true", "\"low\":0.125", "\"high\":0.5", "\"percentile\":90.0",
                           "\"mask\":255", "\"x\":[0.0,5.0]", "\"y\":[5.0,0.0]"}) {
    EXPECT_NE(recipe.find(part), std::string::npos) << part << " in " << recipe;
  }
  // What a recipe cannot hold is refused with its place, and a flag beside a recipe is not passed over.
  std::ofstream(file("bad.json")) << std::string(recipe).replace(recipe.find("\"percentile\":90.0"), 17,
                                                                 "\"percentile\":900");
  expect_error(run_locus({"figure", "--recipe", file("bad.json"), "--data", file("n.npy")}), 3,
               "state.scale.percentile");
  expect_error(run_locus({"figure", "--recipe", file("m.npy.recipe.json"), "--low", "0", "--data", file("n.npy")}), 2,
               "--low");
}

}  // namespace
