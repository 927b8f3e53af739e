// Exit statuses of work that was stopped or whose results nobody took.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/support/run_locus.h"
#include "tests/support/signalled.h"

namespace {

using locus::testing_support::CheckpointTest;
using locus::testing_support::Outcome;
using locus::testing_support::quoted;
using locus::testing_support::read_text;
using locus::testing_support::run_and_signal;
using locus::testing_support::run_locus;
namespace fs = std::filesystem;

class CliStatus : public CheckpointTest {
 protected:
  // The program with standard output where `redirection` says, after `before` in the shell.
  static Outcome redirected(const std::string& arguments, const std::string& redirection,
                            const std::string& before = {}) {
    const std::string errors = file("redirected.txt");
    const int status = std::system(
        (before + quoted(locus::test::binary()) + " " + arguments + " " + redirection + " 2>" + quoted(errors))
            .c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), "", read_text(errors)};
  }
  // Ctrl-C as soon as the program reports progress.
  static Outcome interrupted(std::vector<std::string> words) {
    const std::string log = file("log.txt");
    fs::remove(log);
    words.insert(words.end(), {"--log", log});
    return run_and_signal(
        words, [&] { return !read_text(log).empty(); }, SIGINT);
  }
};

TEST_F(CliStatus, OutputThatIsNotTakenIsAnError) {
  const std::string run = "run " + quoted(path()) + " --text one --json";
  for (const std::string& arguments : {run, std::string("info --encodings --json"), std::string("--help")}) {
    const Outcome full = redirected(arguments, ">/dev/full");
    EXPECT_EQ(full.status, 3) << arguments;
    // A run that takes long says how far it is before that.
    const std::string error = "locus: error: standard output: cannot write";
    const std::string last = full.err.substr(std::min(full.err.find(error), full.err.size()));
    EXPECT_FALSE(last.empty()) << arguments << full.err;
    EXPECT_EQ(std::count(last.begin(), last.end(), '\n'), 1) << full.err;
    EXPECT_EQ(redirected(arguments, ">/dev/null").status, 0) << arguments;
  }
  EXPECT_EQ(redirected(run + " --log /dev/full", ">/dev/null").status, 3);
}

// No file that the program writes gets the number of a standard stream that is closed, and what is printed into it.
TEST_F(CliStatus, AClosedStandardOutputIsAnErrorAndHarmsNoFile) {
  const std::string trace = file("closed.safetensors");
  const std::string whole = file("whole.safetensors");
  const std::string run = "run " + quoted(path()) + " --text one --trace ";
  EXPECT_EQ(redirected(run + quoted(trace), ">&-").status, 3);
  ASSERT_EQ(redirected(run + quoted(whole), ">/dev/null").status, 0);
  EXPECT_EQ(read_text(trace), read_text(whole));
}

TEST_F(CliStatus, AProcessLimitCountsAsTheMachine) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's shadow memory is larger than the limit";
#endif
  const std::string run = "--threads 1 run " + quoted(path()) + " --trace " + quoted(file("maps.safetensors")) +
                          " --keep attention --text-file " + quoted(file("limited.txt"));
  std::ofstream(file("limited.txt")) << std::string(20'000, 'a');
  const Outcome outcome = redirected(run, ">/dev/null", "ulimit -v 6000000; ");
  EXPECT_EQ(outcome.status, 5) << outcome.err;
  EXPECT_NE(outcome.err.find("tokens would fit"), std::string::npos) << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
}

// OpenBLAS asks for ever for memory that it does not get.
TEST_F(CliStatus, TooFewAddressesEndInTime) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's shadow memory is larger than the limit";
#endif
  const std::string run = "--threads 1 run " + quoted(path()) + " --text one";
  for (int megabytes = 500; megabytes <= 1500; megabytes += 50) {
    const std::string limit = "ulimit -v " + std::to_string(megabytes * 1024) + "; timeout -s KILL 60 ";
    const Outcome outcome = redirected(run, ">/dev/null", limit);
    EXPECT_TRUE(outcome.status == 0 || outcome.status == 5) << megabytes << ": " << outcome.status << outcome.err;
    EXPECT_TRUE(megabytes > 850 || outcome.status == 5) << megabytes;
    EXPECT_TRUE(megabytes < 1500 || outcome.status == 0) << megabytes << outcome.err;
  }
}

TEST_F(CliStatus, MoreThreadsThanCoresAreThoseOfTheCores) {
  const Outcome outcome = run_locus({"--threads", "1000", "info", path(), "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto runtime = nlohmann::json::parse(outcome.out).at("runtime");
  EXPECT_LE(runtime.at("threads").get<unsigned>(), std::max(1U, std::thread::hardware_concurrency()));
  EXPECT_EQ(run_locus({"--threads", "1000", "run", path(), "--text", "one two three"}).status, 0);
}

TEST_F(CliStatus, SlowerKernelsThanTheCpuHasAreAWarning) {
  const std::string info = "info " + quoted(path());
  const Outcome chosen = redirected(info, ">/dev/null", "unset OPENBLAS_CORETYPE; ");
  EXPECT_EQ(chosen.status, 0);
  EXPECT_EQ(chosen.err, "");
  const std::string shown = run_locus({"info", path()}).out;
  EXPECT_NE(shown.find("\nproducts        "), std::string::npos) << shown;
  __builtin_cpu_init();
  if (shown.find("OpenBLAS") == std::string::npos || !__builtin_cpu_supports("avx2")) {
    GTEST_SKIP() << "no slower kernels to choose";
  }
  const Outcome slow = redirected(info, ">/dev/null", "unset LOCUS_KERNELS; OPENBLAS_CORETYPE=Prescott ");
  EXPECT_EQ(slow.status, 0);
  EXPECT_NE(slow.err.find("locus: warning: OpenBLAS runs its Prescott kernels"), std::string::npos) << slow.err;
  EXPECT_NE(slow.err.find("unset OPENBLAS_CORETYPE (Prescott)"), std::string::npos) << slow.err;
}

// The kernels are chosen whether the environment has places to borrow or the program starts itself again.
TEST_F(CliStatus, AnyEnvironmentGetsTheCpusKernels) {
  const auto products = [&](const char* environment) {
    const std::string out = file("products.txt");
    EXPECT_EQ(redirected("info " + quoted(path()), ">" + quoted(out), environment).status, 0);
    const std::string shown = read_text(out);
    const std::size_t at = shown.find("\nproducts ");
    return shown.substr(at + 1, shown.find('\n', at + 1) - at);
  };
  const std::string usual = products("unset OPENBLAS_CORETYPE LOCUS_KERNELS OMP_NUM_THREADS; ");
  EXPECT_EQ(products("env -i "), usual);
  EXPECT_EQ(products("env -i PWD=/ USER=somebody "), usual);
  EXPECT_EQ(products("env -i PWD=/ USER=somebody SHELL=/bin/sh MAIL=none "), usual);
}

TEST_F(CliStatus, CtrlCInARunIsSaid) {
  const std::string trace = file("cancelled.safetensors");
  const Outcome outcome = interrupted({"run", path(), "--text", "one", "--generate", "1000000", "--trace", trace});
  EXPECT_EQ(outcome.status, 130) << outcome.err;
  EXPECT_NE(outcome.err.find("locus: cancelled; no trace was written\n"), std::string::npos) << outcome.err;
  EXPECT_FALSE(fs::exists(trace));
}

TEST_F(CliStatus, CtrlCInAnEvaluationIsSaid) {
  const std::string checkpoint = locus::test::source_dir() + "/assets/checkpoints/flip-flop-rope";
  const Outcome outcome = interrupted({"evaluate", "flip-flop", checkpoint, "--samples", "1000000"});
  EXPECT_EQ(outcome.status, 130) << outcome.err;
  EXPECT_NE(outcome.err.find("locus: cancelled; nothing was measured\n"), std::string::npos) << outcome.err;
}

TEST_F(CliStatus, CtrlCBetweenFiguresSaysHowManyThereAre) {
  std::ofstream(file("long.txt")) << std::string(2000, 'a');
  const std::string out = file("figure.png");
  const Outcome outcome = run_and_signal(
      {"figure", "attention", path(), path(), path(), path(), "--text-file", file("long.txt"), "--layer", "all",
       "--head", "all", "--dpi", "600", "--out", out},
      [] { return fs::exists(file("figure-l0-h0.png")); }, SIGINT);
  EXPECT_EQ(outcome.status, 130) << outcome.err;
  const auto written = std::count_if(
      fs::directory_iterator(fs::path(out).parent_path()), fs::directory_iterator(),
      [](const fs::directory_entry& entry) { return entry.path().filename().string().starts_with("figure-l"); });
  const std::string files = written == 1 ? "1 file was" : std::to_string(written) + " files were";
  EXPECT_NE(outcome.err.find("locus: cancelled; " + files + " written\n"), std::string::npos) << outcome.err;
  EXPECT_FALSE(fs::exists(file("figure-l1-h1.png")));
}

TEST_F(CliStatus, ASessionThatDrawsNothingIsAnError) {
  std::ofstream(file("lost.locus.json"))
      << R"({"locus": "session/1", "checkpoints": [{"path": "gone", "shown": true}], "input": {"text": "one"},
             "state": {"view": "attention"}})";
  const Outcome outcome = run_locus({"--figures", file("figures"), file("lost.locus.json")});
  EXPECT_EQ(outcome.status, 3) << outcome.err;
  EXPECT_NE(outcome.err.find("locus: error: "), std::string::npos) << outcome.err;
}

}  // namespace
