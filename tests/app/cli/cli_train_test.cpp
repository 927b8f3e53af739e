// locus train as a user meets it: interrupted, killed, resumed.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/base/numbers.h"
#include "tests/support/run_locus.h"
#include "tests/support/signalled.h"

namespace {

using locus::testing_support::CheckpointTest;
using locus::testing_support::expect_error;
using locus::testing_support::Outcome;
using locus::testing_support::read_text;
using locus::testing_support::run_and_signal;
using locus::testing_support::run_locus;
namespace fs = std::filesystem;

class CliTrain : public CheckpointTest {
 protected:
  static std::vector<std::string> arguments(const std::string& out, const std::string& steps) {
    return {"train",     "text", "--corpus",     file("corpus.txt"),
            "--layers",  "1",    "--heads",      "2",
            "--width",   "16",   "--length",     "16",
            "--batch",   "4",    "--steps",      steps,
            "--seed",    "7",    "--save-every", "5",
            "--threads", "1",    "--out",        file(out)};
  }
  static Outcome signalled(const std::vector<std::string>& words, const fs::path& saved, int signal) {
    return run_and_signal(
        words, [&] { return fs::exists(saved); }, signal);
  }
};

TEST_F(CliTrain, WritesWhatOtherSubCommandsOpen) {
  const auto outcome = run_locus(arguments("done", "6"));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("6 steps"), std::string::npos) << outcome.out;
  EXPECT_NE(read_text(file("done") + "/training.json").find("locus train text --corpus corpus.txt"), std::string::npos);
  EXPECT_EQ(run_locus({"info", file("done")}).status, 0);
}

// A training and one with another seed: the first keeps what the second came to, and no other training.
TEST_F(CliTrain, SeedsAreKeptWithOneOfThem) {
  const auto trained = [](const std::string& out, const std::string& steps, const std::string& seed) {
    auto words = arguments(out, steps);
    *std::find(words.begin(), words.end(), "7") = seed;
    words.insert(words.end(), {"--validate", file("corpus.txt")});
    return run_locus(words).status;
  };
  ASSERT_EQ(trained("seed-7", "6", "7"), 0);
  ASSERT_EQ(trained("seed-8", "6", "8"), 0);
  ASSERT_EQ(trained("longer", "8", "9"), 0);
  const std::string file_of_7 = file("seed-7") + "/training.json";
  const std::string before = read_text(file_of_7);
  expect_error(run_locus({"evaluate", "text", file("seed-7"), "--seeds", file("longer")}), 3, "another steps");
  expect_error(run_locus({"evaluate", "text", file("seed-7"), "--seeds", file("seed-7")}), 3, "another seed than 7");
  expect_error(run_locus({"evaluate", "text", file("seed-7"), file("seed-8"), "--seeds", file("longer")}), 2,
               "one PATH");
  EXPECT_EQ(read_text(file_of_7), before);
  fs::create_directories(file("odd"));
  std::ofstream(file("odd") + "/training.json")
      << R"({"encoding": "rope", "seed": 8, "metric": "error", "splits": {"in": 1}})";
  expect_error(run_locus({"evaluate", "text", file("odd"), "--seeds", file("seed-8")}), 3, "an encoding, a seed");
  const auto outcome = run_locus({"evaluate", "text", file("seed-7"), "--seeds", file("seed-8"), "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto row = nlohmann::json::parse(outcome.out).at("rows").at(0);
  const auto record = nlohmann::json::parse(read_text(file_of_7));
  const double first = record.at("splits").at("in");
  const double other = nlohmann::json::parse(read_text(file("seed-8") + "/training.json")).at("splits").at("in");
  ASSERT_NE(first, other);
  EXPECT_EQ(record.at("seeds"), (nlohmann::json{{{"seed", 8}, {"splits", {{"in", other}}}}}));
  EXPECT_DOUBLE_EQ(row.at("splits").at("in"), (first + other) / 2);
  EXPECT_EQ(row.at("interval").at("in"), (nlohmann::json{std::min(first, other), std::max(first, other)}));
}

// The Markdown table says what each checkpoint was trained with, and where that differs.
TEST_F(CliTrain, EvaluationsAreATable) {
  ASSERT_EQ(run_locus(arguments("table-6", "6")).status, 0);
  ASSERT_EQ(run_locus(arguments("table-8", "8")).status, 0);
  const auto measured = [&](const std::string& of, const std::vector<std::string>& more) {
    std::vector<std::string> words{"evaluate", "text", file("table-6"), file(of), "--validate", file("corpus.txt")};
    words.insert(words.end(), more.begin(), more.end());
    return run_locus(words);
  };
  const auto table = measured("table-8", {"--table"});
  ASSERT_EQ(table.status, 0) << table.err;
  EXPECT_EQ(table.out.rfind("| checkpoint | encoding | steps | seed | in |\n|---|---|---:|---:|---|\n"
                            "| `table-6` | rope | 6 | 7 | ",
                            0),
            0U)
      << table.out;
  EXPECT_NE(table.out.find("\n| `table-8` | rope | 8 | 7 | "), std::string::npos) << table.out;
  const auto rows = nlohmann::json::parse(measured("table-8", {"--json"}).out).at("rows");
  const double value = rows.at(0).at("splits").at("in");
  EXPECT_NE(table.out.find("| 7 | " + locus::fixed_text(value, 3) + " ("), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("\nUnequal budgets: "), std::string::npos) << table.out;
  EXPECT_EQ(measured("table-6", {"--table"}).out.find("Unequal"), std::string::npos);

  const std::string page = file("page.md");
  std::ofstream(page) << "before\n<!-- locus evaluate text --table -->\nold\n<!-- end -->\nafter\n";
  ASSERT_EQ(measured("table-8", {"--table", "--into", page}).status, 0);
  EXPECT_EQ(read_text(page), "before\n<!-- locus evaluate text --table -->\n" + table.out + "<!-- end -->\nafter\n");
  expect_error(measured("table-8", {"--table", "--json"}), 2, "--table");
  expect_error(measured("table-8", {"--into", page}), 2, "--into");
}

// What was measured with another scaling is recorded beside the checkpoint's own reference, an entry a scaling.
TEST_F(CliTrain, WhatIfResultsAreKeptBesideTheReference) {
  auto training = arguments("what-if", "6");
  *std::next(std::find(training.begin(), training.end(), "--layers")) = "2";
  ASSERT_EQ(run_locus(training).status, 0);
  const auto measured = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"evaluate", "text", file("what-if"), "--validate", file("corpus.txt"), "--record"});
    return run_locus(words);
  };
  const auto record = [&] { return nlohmann::json::parse(read_text(file("what-if") + "/training.json")); };
  ASSERT_EQ(measured({}).status, 0);
  const auto reference = record().at("reference");
  ASSERT_EQ(measured({"--rope-scaling", "yarn:2.0"}).status, 0);
  ASSERT_EQ(measured({"--rope-base", "300"}).status, 0);
  const auto again = measured({"--rope-scaling", "yarn:2", "--json"});
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(record().at("reference"), reference);
  const auto entries = record().at("what_if");
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].at("rope_scaling"), "yarn:2");
  EXPECT_EQ(entries[1].at("rope_base"), 300);
  const auto row = nlohmann::json::parse(again.out).at("rows").at(0);
  EXPECT_EQ(entries[0].at("splits"), row.at("splits"));
  EXPECT_EQ(entries[0].at("interval"), row.at("interval"));
  EXPECT_NE(entries[0].at("splits").at("in"), reference.at("value"));
  for (const char* base : {"300@1", "300@1", "300@0,1"}) {  // the last is the entry of all layers
    ASSERT_EQ(measured({"--rope-base", base}).status, 0);
  }
  ASSERT_EQ(record().at("what_if").size(), 3U);
  EXPECT_FALSE(record().at("what_if")[1].contains("rope_base_layers"));
  EXPECT_EQ(record().at("what_if")[2].at("rope_base"), 300);
  EXPECT_EQ(record().at("what_if")[2].at("rope_base_layers"), "1");
  expect_error(measured({"--edit", "head 0.0 zero"}), 2, "without edits");
}

TEST_F(CliTrain, CtrlCSavesAndResumeGoesOn) {
  const auto words = arguments("stopped", "1000000");
  const Outcome outcome = signalled(words, file("stopped") + "/training_state.safetensors", SIGINT);
  EXPECT_EQ(outcome.status, 130);
  EXPECT_EQ(outcome.err.rfind("locus: cancelled; the state after step ", 0), 0U) << outcome.err;
  EXPECT_NE(outcome.err.find("is kept in " + file("stopped")), std::string::npos) << outcome.err;
  ASSERT_TRUE(fs::exists(file("stopped") + "/training_state.safetensors"));
  auto other = arguments("stopped", "1000001");
  other.push_back("--resume");
  expect_error(run_locus(other), 3, "steps");
}

TEST_F(CliTrain, AFinishedRunSaysSoAndAnotherFolderIsAskedFor) {
  ASSERT_EQ(run_locus(arguments("twice", "6")).status, 0);
  const std::string model = read_text(file("twice") + "/model.safetensors");
  auto resume = arguments("twice", "6");
  resume.push_back("--resume");
  const auto again = run_locus(resume);
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_NE(again.out.find("this run is complete after 6 steps; there is nothing to do"), std::string::npos)
      << again.out;
  expect_error(run_locus(arguments("twice", "6")), 3, "--overwrite");
  expect_error(run_locus(arguments("twice", "7")), 3, "--overwrite");
  auto longer = arguments("twice", "7");
  longer.push_back("--resume");
  expect_error(run_locus(longer), 3, "steps was 6, now 7");
  EXPECT_EQ(read_text(file("twice") + "/model.safetensors"), model);
  longer.back() = "--overwrite";
  EXPECT_EQ(run_locus(longer).status, 0);
  EXPECT_NE(read_text(file("twice") + "/model.safetensors"), model);
}

TEST_F(CliTrain, AKilledRunGoesOn) {
  // Long enough to be killed on the way on any machine, and short enough to be finished afterwards.
  const auto words = arguments("killed", "400");
  const fs::path state = file("killed") + "/training_state.safetensors";
  const int status = signalled(words, state, SIGKILL).status;
  if (status == 0) {
    GTEST_SKIP() << "the run was over before it could be killed";
  }
  ASSERT_EQ(status, -SIGKILL);
  auto on = words;
  on.push_back("--resume");
  const auto outcome = run_locus(on);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_FALSE(fs::exists(state));
  const auto whole = run_locus(arguments("whole", "400"));
  ASSERT_EQ(whole.status, 0) << whole.err;
  EXPECT_EQ(read_text(file("killed") + "/model.safetensors"), read_text(file("whole") + "/model.safetensors"));
}

}  // namespace
