// ssh:// paths on the command line: what the program here prints is what it prints of the same checkpoint there.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "models/api/model.h"
#include "tests/support/far.h"
#include "tests/support/paths.h"
#include "tests/support/run_locus.h"
#ifdef LOCUS_IMAGES
#include "tests/support/picture.h"
#endif

namespace {

using locus::test::FarMachine;
using locus::testing_support::expect_error;
using locus::testing_support::read_text;
using locus::testing_support::run_locus;
using nlohmann::json;

class CliRemote : public testing::Test {
 protected:
  CliRemote() : folder_(std::filesystem::path(testing::TempDir()) / "cli remote") {
    std::filesystem::create_directories(folder_);
  }
  ~CliRemote() override { std::filesystem::remove_all(folder_); }
  static std::string here() { return locus::test::source_dir() + "/assets/checkpoints/text-rope"; }
  static std::string there() { return FarMachine::path(here()); }
  std::string file(const std::string& name) const { return folder_ / name; }
  // What a command prints; it succeeds.
  static std::string printed(const std::vector<std::string>& words) {
    const auto outcome = run_locus(words);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome.out;
  }

  FarMachine machine_;
  std::filesystem::path folder_;
};

TEST_F(CliRemote, InfoIsTheSameButForWhereTheFilesAre) {
  json own = json::parse(printed({"info", here(), "--json"}));
  json far = json::parse(printed({"info", there(), "--json"}));
  EXPECT_EQ(far.at("files").at(0), "ssh://here" + own.at("files").at(0).get<std::string>());
  own.erase("files");
  far.erase("files");
  EXPECT_EQ(own, far);
}

TEST_F(CliRemote, RunsAndTracesAreTheSame) {
  const auto outcome_of = [](std::vector<std::string> words) {
    json outcome = json::parse(printed(words));
    outcome.erase("time_ms");
    outcome.erase("peak_mb");
    return outcome;
  };
  const auto run = [&](const std::string& path, const std::string& trace) {
    return outcome_of({"run", path, "--text", "The ship left.", "--generate", "4", "--edit", "head 0.1 zero", "--json",
                       "--trace", trace, "--keep", "all"});
  };
  EXPECT_EQ(run(here(), file("here.safetensors")), run(there(), file("there.safetensors")));
  EXPECT_TRUE(read_text(file("here.safetensors")) == read_text(file("there.safetensors")));
  printed({"run", there(), "--text", "The ship left.", "--trace", FarMachine::path(file("far.safetensors"))});
  EXPECT_TRUE(std::filesystem::exists(file("far.safetensors")));
}

TEST_F(CliRemote, FiguresHaveTheSameData) {
  for (const char* view : {"attention", "distance-profile", "pair-energy"}) {
    printed({"figure", view, here(), "--text", "The ship left the harbour.", "--data", file("here.npy")});
    printed({"figure", view, there(), "--text", "The ship left the harbour.", "--data", file("there.npy")});
    EXPECT_TRUE(read_text(file("here.npy")) == read_text(file("there.npy"))) << view;
  }
  // Its recipe names the checkpoint there, and is drawn again.
  const std::string recipe = file("there.npy.recipe.json");
  const json document = json::parse(read_text(recipe));
  EXPECT_EQ(document.at("checkpoints").at(0).at("path"), there());
  EXPECT_EQ(document.at("checkpoints").at(0).at("sha256"),
            json::parse(read_text(file("here.npy.recipe.json"))).at("checkpoints").at(0).at("sha256"));
  const std::string before = read_text(file("there.npy"));
  printed({"figure", "--recipe", recipe, "--data", file("again.npy"), "--allow-ssh"});
  EXPECT_TRUE(read_text(file("again.npy")) == before);
}

TEST_F(CliRemote, VerifiesThere) {
  const std::string family = locus::test::source_dir() + "/tests/golden/families/t5";
  EXPECT_EQ(printed({"verify", family}), printed({"verify", FarMachine::path(family)}));
  EXPECT_EQ(printed({"verify", here(), "--text", "The ship"}), printed({"verify", there(), "--text", "The ship"}));
}

// As a trace here does not: tests of CliOutputs.
TEST_F(CliRemote, ATraceThereIsWrittenOverNothingThatIsRead) {
  const std::filesystem::path model = folder_ / "model";
  std::filesystem::copy(here(), model);
  const std::filesystem::path link = folder_ / "link.safetensors";
  const std::filesystem::path hard = folder_ / "hard.safetensors";
  std::filesystem::create_symlink(model / "model.safetensors", link);
  std::filesystem::create_hard_link(model / "model.safetensors", hard);
  std::vector<std::filesystem::path> targets{link, hard};
  for (const auto& entry : std::filesystem::directory_iterator(model)) {
    targets.push_back(entry.path());
  }
  ASSERT_GT(targets.size(), 4U);
  for (const std::filesystem::path& target : targets) {
    const std::string before = read_text(target);
    expect_error(run_locus({"run", FarMachine::path(model), "--text", "abc", "--trace", FarMachine::path(target)}), 2,
                 "expected a file that is not read as well, found " + target.string());
    EXPECT_TRUE(read_text(target) == before) << target;
  }
  printed({"run", FarMachine::path(model), "--text", "abc", "--trace", FarMachine::path(model / "trace.safetensors")});
#ifdef LOCUS_IMAGES
  // The picture that is looked at.
  const std::string shapes = locus::test::source_dir() + "/assets/checkpoints/shapes-learned";
  const std::filesystem::path picture = folder_ / "picture.png";
  locus::test::write_rgb(picture, std::vector<std::uint8_t>(3072, 200), 32, 32);
  const std::string before = read_text(picture);
  expect_error(run_locus({"run", FarMachine::path(shapes), "--image", FarMachine::path(picture), "--trace",
                          FarMachine::path(picture)}),
               2, "expected a file that is not read as well");
  EXPECT_TRUE(read_text(picture) == before);
#endif
}

// Whatever asks for it: the server itself refuses.
TEST_F(CliRemote, AServerHoldsWhatItsModelsWereReadFrom) {
  const std::filesystem::path model = folder_ / "model";
  std::filesystem::copy(here(), model);
  const auto opened = locus::models::open(FarMachine::path(model));
  ASSERT_TRUE(opened.ok()) << opened.error().describe();
  locus::models::Input input;
  input.text = "abc";
  const auto trace = (*opened)->run(input);
  ASSERT_TRUE(trace.ok());
  const std::string before = read_text(model / "model.safetensors");
  const locus::Status written = (*trace)->write(FarMachine::path(model / "model.safetensors"), {"q"});
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, locus::ErrorCode::kUsage);
  EXPECT_TRUE(read_text(model / "model.safetensors") == before);
  EXPECT_TRUE((*trace)->write(FarMachine::path(model / "trace.safetensors"), {"q"}).ok());
}

// A file of a stranger may name any machine.
TEST_F(CliRemote, NoFileStartsSshUnasked) {
  const std::string started = file("started");
  const FarMachine machine("sh -c 'touch \"" + started + "\"; PATH=%s:$PATH exec %c'");
  const std::string entry = R"({"path": ")" + there() + R"(", "shown": true})";
  const std::string state = R"("input": {"text": "To be"}, "state": {"view": "attention", "layer": 0, "head": 0})";
  std::ofstream(file("stranger.locus.json")) << R"({"locus": "session/1", "checkpoints": [)" << entry << "], " << state
                                             << R"(, "bookmarks": [{"name": "a", "about": "x", )" << state << "}]}";
  std::ofstream(file("stranger.recipe.json"))
      << R"({"locus": "session/1", "version": "1", "paper": {"width_mm": 84, "dpi": 72, "dark": false}, "checkpoints": [)"
      << entry << "], " << state << "}";
  const std::vector<std::string> session{"--figures", file("figures"), file("stranger.locus.json")};
  const std::vector<std::string> recipe{"figure", "--recipe", file("stranger.recipe.json"), "--data", file("x.npy")};
  for (std::vector<std::string> words : {session, recipe}) {
    std::filesystem::remove(started);
    expect_error(run_locus(words), 3, "--allow-ssh");
    EXPECT_FALSE(std::filesystem::exists(started)) << words.front();
    words.insert(words.begin() + (words == session ? 0 : 1), "--allow-ssh");
    printed(words);
    EXPECT_TRUE(std::filesystem::exists(started)) << words.front();
  }
  // Nor does a recipe beside a machine that was typed.
  std::filesystem::remove(started);
  expect_error(run_locus({"figure", "--recipe", file("stranger.recipe.json"), "--data", file("x.npy"), "--edits",
                          "ssh://other/edits.json"}),
               3);
  EXPECT_FALSE(std::filesystem::exists(started));
}

TEST_F(CliRemote, ASilentMachineIsToldOf) {
  const FarMachine silent("sh -c 'sleep 7; : %c'");
  const auto outcome = locus::testing_support::run_program({"info", "ssh://node7/m"});
  EXPECT_EQ(outcome.status, 3);
  EXPECT_NE(outcome.err.find("locus: waiting for node7, which has said nothing for 5 s\n"), std::string::npos)
      << outcome.err;
}

TEST_F(CliRemote, WhatCannotBeReachedIsOneLine) {
  expect_error(run_locus({"info", "ssh://here"}), 3, "expected ssh://[user@]host[:port]/path");
  expect_error(run_locus({"info", "ssh://-oProxyCommand=x/m"}), 3, "the name of a host");
  expect_error(run_locus({"info", FarMachine::path("/no/such/checkpoint")}), 3, "/no/such/checkpoint");
  expect_error(run_locus({"serve"}), 2, "--stdio");
  const FarMachine none("false");
  expect_error(run_locus({"info", "ssh://node7/m"}), 3, "node7: the connection ended");
}

}  // namespace
