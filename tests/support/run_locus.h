// Runs the program, as a user's shell would, and a small checkpoint to run it on.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "app/cli/command_line.h"
#include "tests/support/paths.h"

namespace locus::testing_support {

struct Outcome {
  int status = -1;  // exit status; 128 + signal when it was killed
  std::string out;
  std::string err;
};

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline std::string quoted(const std::string& word) {
  std::string out = "'";
  for (const char c : word) {
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return out + "'";
}

// The program itself, by a shell. `before` goes before it in the shell's line: "printf one | ".
inline Outcome run_program(const std::vector<std::string>& arguments, const std::string& before = {}) {
  const std::filesystem::path folder = testing::TempDir();
  const std::string stem = "locus_run_" + std::to_string(getpid());
  std::string line = before + quoted(test::binary());
  for (const std::string& argument : arguments) {
    line += " " + quoted(argument);
  }
  const auto out = folder / (stem + ".out");
  const auto err = folder / (stem + ".err");
  const int status = std::system((line + " >" + quoted(out) + " 2>" + quoted(err)).c_str());
  Outcome outcome{WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_text(out), read_text(err)};
  std::filesystem::remove(out);
  std::filesystem::remove(err);
  return outcome;
}

// Takes what is written to a standard stream into a file, for as long as it lives.
class TakenStream {
 public:
  TakenStream(int stream, std::filesystem::path file) : stream_(stream), file_(std::move(file)), kept_(dup(stream)) {
    const int taken = open(file_.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    dup2(taken, stream_);
    close(taken);
  }
  ~TakenStream() {
    dup2(kept_, stream_);
    close(kept_);
    std::filesystem::remove(file_);
  }
  TakenStream(const TakenStream&) = delete;
  TakenStream& operator=(const TakenStream&) = delete;

  std::string text() const { return read_text(file_); }

 private:
  int stream_;
  std::filesystem::path file_;
  int kept_;
};

// A sub-command, in this process: starting LibTorch for each costs more than most of them. What is asked of the program
// as such (signals, its input, its environment) is run_program's.
inline Outcome run_locus(const std::vector<std::string>& arguments) {
  const bool sub_command = !arguments.empty() && !arguments.front().starts_with("-");
  if (!sub_command) {
    return run_program(arguments);
  }
  std::vector<std::string> words{"locus"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> list;
  for (std::string& word : words) {
    list.push_back(word.data());
  }
  list.push_back(nullptr);
  const std::string stem =
      (std::filesystem::path(testing::TempDir()) / ("locus_run_" + std::to_string(getpid()))).string();
  std::cout.flush();
  std::fflush(nullptr);
  const TakenStream out(STDOUT_FILENO, stem + ".out");
  const TakenStream err(STDERR_FILENO, stem + ".err");
  Outcome outcome;
  outcome.status = cli::run_command_line(static_cast<int>(words.size()), list.data(), nullptr);
  std::cout.flush();
  std::fflush(nullptr);
  outcome.out = out.text();
  outcome.err = err.text();
  std::cout.clear();
  return outcome;
}

// Standard error is exactly one line that begins "locus: error: ", and nothing is on standard output.
inline void expect_error(const Outcome& outcome, int status, const std::string& naming = {}) {
  EXPECT_EQ(outcome.status, status) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err.rfind("locus: error: ", 0), 0U) << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_NE(outcome.err.find(naming), std::string::npos) << "expected " << naming << " in: " << outcome.err;
}

// A folder that is removed again, with a byte-level checkpoint (2 layers of 2 heads) that `locus train` made.
class TinyCheckpoint {
 public:
  TinyCheckpoint() : folder_(std::filesystem::path(testing::TempDir()) / ("locus_cli_" + std::to_string(getpid()))) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    std::ofstream corpus(folder_ / "corpus.txt");
    for (int n = 0; n < 40; ++n) {
      corpus << "one two three four five six seven\n";
    }
    corpus.close();
    outcome_ = run_locus({"train",     "text",
                          "--corpus",  (folder_ / "corpus.txt").string(),
                          "--layers",  "2",
                          "--heads",   "2",
                          "--width",   "16",
                          "--length",  "16",
                          "--batch",   "4",
                          "--steps",   "3",
                          "--warmup",  "1",
                          "--threads", "1",
                          "--out",     path().string()});
  }
  ~TinyCheckpoint() { std::filesystem::remove_all(folder_); }
  TinyCheckpoint(const TinyCheckpoint&) = delete;
  TinyCheckpoint& operator=(const TinyCheckpoint&) = delete;

  const Outcome& outcome() const { return outcome_; }
  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path path() const { return folder_ / "tiny"; }

 private:
  std::filesystem::path folder_;
  Outcome outcome_;
};

// A suite whose tests share one TinyCheckpoint.
class CheckpointTest : public testing::Test {
 public:
  static void SetUpTestSuite() { tiny_ = new TinyCheckpoint; }
  static void TearDownTestSuite() {
    delete tiny_;
    tiny_ = nullptr;
  }

 protected:
  void SetUp() override { ASSERT_EQ(tiny_->outcome().status, 0) << tiny_->outcome().err; }
  static std::string path() { return tiny_->path().string(); }
  static std::string file(const std::string& name) { return (tiny_->folder() / name).string(); }
  // A copy of the checkpoint to spoil.
  static std::filesystem::path copy(const std::string& name) {
    const auto target = tiny_->folder() / name;
    std::filesystem::remove_all(target);
    std::filesystem::copy(tiny_->path(), target, std::filesystem::copy_options::recursive);
    return target;
  }

 private:
  inline static TinyCheckpoint* tiny_ = nullptr;
};

}  // namespace locus::testing_support
