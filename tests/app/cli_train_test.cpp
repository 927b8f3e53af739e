// locus train as a user meets it: interrupted, killed, resumed.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "tests/support/paths.h"
#include "tests/support/run_locus.h"

namespace {

using locus::testing_support::CheckpointTest;
using locus::testing_support::expect_error;
using locus::testing_support::read_text;
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
  // Starts the program and sends `signal` once it has saved; its exit status, or −signal.
  static int start_and_signal(const std::vector<std::string>& words, const fs::path& saved, int signal) {
    const pid_t child = fork();
    if (child == 0) {
      const std::string program = locus::test::binary();
      std::vector<char*> argv{const_cast<char*>(program.c_str())};
      for (const std::string& word : words) {
        argv.push_back(const_cast<char*>(word.c_str()));
      }
      argv.push_back(nullptr);
      const int sink = open_null();
      dup2(sink, 1);
      dup2(sink, 2);
      execv(program.c_str(), argv.data());
      _exit(127);
    }
    for (int n = 0; n < 600 && !fs::exists(saved); ++n) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    kill(child, signal);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  static int open_null() { return fileno(fopen("/dev/null", "w")); }
};

TEST_F(CliTrain, WritesWhatOtherSubCommandsOpen) {
  const auto outcome = run_locus(arguments("done", "6"));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("6 steps"), std::string::npos) << outcome.out;
  EXPECT_NE(read_text(file("done") + "/training.json").find("locus train text --corpus corpus.txt"), std::string::npos);
  EXPECT_EQ(run_locus({"info", file("done")}).status, 0);
}

TEST_F(CliTrain, CtrlCSavesAndResumeGoesOn) {
  const auto words = arguments("stopped", "1000000");
  EXPECT_EQ(start_and_signal(words, file("stopped") + "/training_state.safetensors", SIGINT), 0);
  ASSERT_TRUE(fs::exists(file("stopped") + "/training_state.safetensors"));
  auto other = arguments("stopped", "1000001");
  other.push_back("--resume");
  expect_error(run_locus(other), 3, "steps");
}

TEST_F(CliTrain, AKilledRunGoesOn) {
  // Long enough to be killed on the way on any machine, and short enough to be finished afterwards.
  const auto words = arguments("killed", "400");
  const fs::path state = file("killed") + "/training_state.safetensors";
  const int status = start_and_signal(words, state, SIGKILL);
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
