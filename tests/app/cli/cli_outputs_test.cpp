// Outputs never destroy inputs: every output of every sub-command, onto every kind of file that it reads.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <set>

#include "app/cli/command.h"
#include "app/cli/named_files.h"
#include "models/api/train.h"
#include "tests/support/run_locus.h"

namespace {

namespace fs = std::filesystem;
using locus::cli::FileUse;
using locus::cli::NamedFiles;
using locus::testing_support::CheckpointTest;
using locus::testing_support::expect_error;
using locus::testing_support::Outcome;
using locus::testing_support::read_text;
using locus::testing_support::run_locus;
using locus::testing_support::run_program;

class CliOutputs : public CheckpointTest {
 protected:
  // What is in every file of a folder.
  static std::map<std::string, std::string> contents(const fs::path& folder) {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file()) {
        all[entry.path().string()] = read_text(entry.path());
      }
    }
    return all;
  }

  // The words of a sub-command with a checkpoint, before its options.
  static std::vector<std::string> words(const std::string& command, const std::string& checkpoint) {
    if (command == "figure") {
      return {command, "attention", checkpoint};
    }
    if (command == "evaluate") {
      return {command, "text", checkpoint};
    }
    if (command == "train" || command == "help") {
      return command == "train" ? std::vector<std::string>{command, "text"} : std::vector<std::string>{command};
    }
    return {command, checkpoint};
  }
};

struct Declared {
  locus::cli::Parser parser;
  std::vector<locus::cli::Action> actions;  // own what the options are read into

  Declared() {
    for (const locus::cli::Command& command : locus::cli::commands()) {
      locus::cli::Arguments arguments = parser.add_command(command.name, command.summary);
      actions.push_back(command.declare(arguments));
    }
  }
};

TEST_F(CliOutputs, EveryOptionThatNamesAFileSaysSo) {
  const Declared declared;
  std::map<std::string, std::set<std::string>> named;
  for (const NamedFiles& files : declared.parser.files()) {
    named[files.command].insert(files.name);
  }
  const std::set<std::string> input{"--edits", "--image", "--pixels", "--video", "--text-file", "PATH"};
  auto with = [&](std::set<std::string> more) {
    more.insert(input.begin(), input.end());
    return more;
  };
  EXPECT_EQ(named["info"], (std::set<std::string>{"PATH"}));
  EXPECT_EQ(named["run"], with({"--trace"}));
  EXPECT_EQ(named["effect"], with({}));
  EXPECT_EQ(named["figure"], with({"--out", "--data", "--recipe", "--reference"}));
  EXPECT_EQ(named["verify"], with({"--against", "--expected", "--into"}));
  EXPECT_EQ(named["evaluate"], (std::set<std::string>{"PATH", "--edits", "--validate", "--seeds", "--into"}));
  EXPECT_EQ(named["train"], (std::set<std::string>{"--corpus", "--validate", "--from", "--config", "--out"}));
}

// Each output, and --log, onto each input that the same sub-command takes.
TEST_F(CliOutputs, NoneIsAnInput) {
  const Declared declared;
  const fs::path folder = file("outputs");
  fs::create_directories(folder);
  int tried = 0;
  for (const NamedFiles& input : declared.parser.files()) {
    if (input.use == FileUse::kWritten) {
      continue;
    }
    std::vector<std::string> outputs{"--log"};
    for (const NamedFiles& output : declared.parser.files()) {
      if (output.command == input.command && output.use == FileUse::kWritten) {
        outputs.push_back(output.name);
      }
    }
    for (const std::string& output : outputs) {
      const fs::path checkpoint = copy("spoiled");
      // A file by another name than the one it has as an input; a training writes names of its own into its folder.
      const bool trains = output == "--out" && input.command == "train";
      const fs::path plain = folder / (trains ? "config.json" : "input.bin");
      std::ofstream(plain) << "an input";
      std::vector<std::string> line = words(input.command, checkpoint.string());
      const bool checkpoint_read = input.use == FileUse::kCheckpoint;
      if (input.name.starts_with("--")) {
        line.insert(line.end(), {input.name, checkpoint_read ? checkpoint.string() : plain.string()});
      }
      const fs::path target = checkpoint_read ? checkpoint / "model.safetensors" : plain;
      const fs::path link = folder / "link";
      fs::remove(link);
      fs::create_symlink(trains ? target.parent_path() : target, link);
      line.insert(line.end(), {output, link.string()});
      if (output == "--into") {
        line.emplace_back("--table");
      }
      const auto before = contents(checkpoint);
      expect_error(run_locus(line), 2, output + ": expected a file that is not read as well");
      EXPECT_EQ(contents(checkpoint), before) << input.command << " " << input.name << " " << output;
      EXPECT_EQ(read_text(plain), "an input") << input.command << " " << input.name << " " << output;
      ++tried;
    }
  }
  EXPECT_GT(tried, 40);
}

TEST_F(CliOutputs, EveryFileThatACheckpointReadsIsKept) {
  const fs::path checkpoint = copy("kept");
  fs::remove(checkpoint / "model.safetensors");
  fs::copy(fs::path(path()) / "model.safetensors", checkpoint / "model-00001-of-00001.safetensors");
  std::ofstream(checkpoint / "model.safetensors.index.json")
      << R"({"weight_map": {"model.norm.weight": "model-00001-of-00001.safetensors"}})";
  for (const char* name : {"config.json", "tokenizer.json", "training.json", "model.safetensors.index.json",
                           "model-00001-of-00001.safetensors"}) {
    const auto before = contents(checkpoint);
    expect_error(run_locus({"run", checkpoint.string(), "--text", "one", "--trace", (checkpoint / name).string()}), 2,
                 name);
    // Hard links are the same file.
    const fs::path hard = file("hard-link");
    fs::remove(hard);
    fs::create_hard_link(checkpoint / name, hard);
    expect_error(run_locus({"run", checkpoint.string(), "--text", "one", "--trace", hard.string()}), 2, "hard-link");
    fs::remove(hard);
    EXPECT_EQ(contents(checkpoint), before);
  }
  // What is not read may be written there, again and again.
  const std::string trace = (fs::path(path()) / "trace.safetensors").string();
  for (int n = 0; n < 2; ++n) {
    EXPECT_EQ(run_locus({"run", path(), "--text", "one", "--trace", trace}).status, 0);
  }
  fs::remove(trace);
}

TEST_F(CliOutputs, OfAFileTheCheckpointBesideItIsRead) {
  const fs::path weights = copy("beside") / "model.safetensors";
  expect_error(run_locus({"run", weights.string(), "--text", "one", "--trace",
                          (weights.parent_path() / "tokenizer.json").string()}),
               2, "tokenizer.json");
}

TEST_F(CliOutputs, TwoOutputsAreTwoFiles) {
  const std::string one = file("one.safetensors");
  expect_error(run_locus({"run", path(), "--text", "one", "--trace", one, "--log", one}), 2, "another file than");
}

TEST_F(CliOutputs, WhatARecipeReadsIsKeptAndSoIsTheRecipe) {
  const std::string data = file("map.npy");
  ASSERT_EQ(run_locus({"figure", "attention", path(), "--text", "one two", "--data", data}).status, 0);
  const std::string recipe = data + ".recipe.json";
  expect_error(run_locus({"figure", "--recipe", recipe, "--data", data}), 2, "map.npy.recipe.json");
  const fs::path link = file("weights.npy");
  fs::create_symlink(fs::path(path()) / "model.safetensors", link);
  const std::string before = read_text(link);
  expect_error(run_locus({"figure", "--recipe", recipe, "--data", link.string()}), 2, "weights.npy");
  EXPECT_EQ(read_text(link), before);
}

TEST_F(CliOutputs, AnEvaluationIsNotRecordedInWhatItMeasuresOn) {
  const fs::path checkpoint = copy("measured");
  const std::string record = (checkpoint / "training.json").string();
  const std::string before = read_text(record);
  expect_error(run_locus({"evaluate", "text", checkpoint.string(), "--validate", record, "--record"}), 2, "--record");
  EXPECT_EQ(read_text(record), before);
}

TEST_F(CliOutputs, ATrainingWritesTheFilesThatItNames) {
  std::set<std::string> named{"loss.png"};  // the command line's
  for (const fs::path& written : locus::training::written_files(path())) {
    named.insert(written.filename().string());
  }
  for (const auto& entry : fs::directory_iterator(path())) {
    EXPECT_EQ(named.count(entry.path().filename().string()), 1U) << entry.path();
  }
}

TEST_F(CliOutputs, ALinkStaysAndAReadOnlyFileIsRefused) {
  const fs::path target = file("target.safetensors");
  const fs::path link = file("link.safetensors");
  std::ofstream(target) << "old";
  fs::create_symlink("target.safetensors", link);
  ASSERT_EQ(run_locus({"run", path(), "--text", "one", "--trace", link.string()}).status, 0);
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_GT(fs::file_size(target), 100U);
  const fs::path locked = file("locked.safetensors");
  std::ofstream(locked) << "kept";
  ASSERT_EQ(::chmod(locked.c_str(), 0444), 0);
  expect_error(run_locus({"run", path(), "--text", "one", "--trace", locked.string()}), 3, "read-only");
  expect_error(run_locus({"info", path(), "--log", locked.string()}), 3, "read-only");
  EXPECT_EQ(read_text(locked), "kept");
}

TEST_F(CliOutputs, TheWorkbenchKeepsWhatItOpens) {
  const fs::path checkpoint = copy("opened");
  const auto before = contents(checkpoint);
  expect_error(run_program({checkpoint.string(), "--log", (checkpoint / "config.json").string()}), 2, "--log");
  EXPECT_EQ(contents(checkpoint), before);
}

}  // namespace
