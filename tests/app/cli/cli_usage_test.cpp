// Command lines that make no sense, and those that print something of the program itself.
#include <gtest/gtest.h>

#include <regex>

#include "core/base/version.h"
#include "tests/support/run_locus.h"

namespace {

using locus::testing_support::expect_error;
using locus::testing_support::Outcome;
using locus::testing_support::run_locus;
using locus::testing_support::run_program;

TEST(CliUsage, PrintsItsVersion) {
  const Outcome outcome = run_locus({"--version"});
  EXPECT_EQ(outcome.status, 0);
  const std::regex expected(
      R"(locus \d+\.\d+\.\d+( \([0-9a-f]{12}\))?\nLibTorch \d+\.\d+.*, ICU \d+.*, PCRE2 \d+.*\n)");
  EXPECT_TRUE(std::regex_match(outcome.out, expected)) << outcome.out;
  EXPECT_TRUE(outcome.out.starts_with("locus " + std::string(locus::program_version()))) << outcome.out;
}

TEST(CliUsage, UsageLinesAreCommandsThatCanBeTyped) {
  for (const char* const name : {"info", "run", "figure", "verify", "train", "evaluate", "effect"}) {
    const Outcome help = run_locus({name, "--help"});
    EXPECT_NE(help.out.find(std::string("Usage: locus ") + name + " "), std::string::npos) << help.out.substr(0, 300);
  }
  const std::string evaluate = run_locus({"evaluate", "--help"}).out;
  EXPECT_NE(evaluate.find("--split NAME "), std::string::npos) << evaluate;
  EXPECT_NE(evaluate.find("--task-option KEY=VALUE "), std::string::npos) << evaluate;
}

TEST(CliUsage, TakesGlobalOptionsOnEitherSide) {
  EXPECT_EQ(run_locus({"--threads", "1", "info", "--encodings"}).status, 0);
  EXPECT_EQ(run_locus({"info", "--encodings", "--threads", "1"}).status, 0);
}

#if LOCUS_GUI
TEST(CliUsage, WithoutADisplayTheWindowSaysWhatWorks) {
  const std::string folder = testing::TempDir();
  for (const std::string before : {"env -u DISPLAY -u WAYLAND_DISPLAY -u QT_QPA_PLATFORM ",
                                   "env -u WAYLAND_DISPLAY -u QT_QPA_PLATFORM DISPLAY=:65000 ",
                                   "env DISPLAY= QT_QPA_PLATFORM=no-such-platform "}) {
    const Outcome outcome = run_program({"--config-dir", folder}, before);
    expect_error(outcome, 4, "locus info, run, figure");
  }
  // A platform that cannot be is no concern of what makes no window.
  EXPECT_EQ(run_program({"info", "--encodings"}, "env -u DISPLAY QT_QPA_PLATFORM=no-such-platform ").status, 0);
}
#endif

}  // namespace
