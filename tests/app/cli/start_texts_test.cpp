// What starts at once says what the program says, and loads nothing for it.
#include <gtest/gtest.h>

#include <regex>

#include "app/cli/command.h"
#include "app/cli/descriptions.h"
#include "tests/support/run_locus.h"

namespace {

using locus::cli::CommandText;
using locus::testing_support::Outcome;
using locus::testing_support::run_locus;
using locus::testing_support::run_program;

TEST(StartTexts, AreThoseOfTheProgram) {
  for (const CommandText& command : locus::cli::described_commands()) {
    if (!command.name.empty()) {
      const Outcome printed = run_locus({command.name, "--help"});
      EXPECT_EQ(printed.out, command.help) << command.name;
    }
  }
  const std::vector<std::vector<std::string>> lines{{"info", "--help"},
                                                    {"figure", "-h"},
                                                    {"train", "--help"},
                                                    {"help"},
                                                    {"help", "cope"},
                                                    {"help", "--markdown", "gates"},
                                                    {"help", "--search", "perplexity"},
                                                    {"help", "no-such-topic"},
                                                    {"help", "cope", "--search", "perplexity"},
                                                    {"help", "--search"},
                                                    {"help", "--man"},
                                                    {"help", "--completion", "bash"},
                                                    {"help", "--completion", "zsh"},
                                                    {"help", "--completion", "fish"},
                                                    {"help", "--completion", "csh"}};
  for (const auto& line : lines) {
    const Outcome started = run_program(line);
    const Outcome program = run_locus(line);
    EXPECT_EQ(started.status, program.status) << line.back();
    EXPECT_EQ(started.out, program.out) << line.back();
    EXPECT_EQ(started.err, program.err) << line.back();
  }
}

// The files of libraries that a command line maps, of those that take time.
std::string loaded(const std::string& words) {
  // With LOCUS_KERNELS set, the program itself answers, which judges that.
  const std::string command = "env -u LOCUS_KERNELS LD_DEBUG=files " +
                              locus::testing_support::quoted(locus::test::binary()) + " " + words +
                              " 2>&1 | grep -oE 'init: .*/lib(torch|Qt|vulkan|opencv)[^ ]*' | sort -u";
  std::string out;
  std::FILE* const pipe = popen(command.c_str(), "r");
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
    out += static_cast<char>(c);
  }
  pclose(pipe);
  return out;
}

TEST(StartTexts, NeedNoLibraryThatTakesTime) {
  for (const char* const words : {"--version", "--help", "train --help", "help", "help encodings", "help --man"}) {
    EXPECT_EQ(loaded(words), "") << words;
  }
  EXPECT_NE(loaded("info --encodings"), "") << "the program itself has them";
}

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// LibTorch takes longest of all. Other builds are linked with it (cmake/LazyTorch.cmake).
TEST(StartTexts, WhatReadsHeadersAloneLoadsNoLibTorch) {
  const std::string checkpoints = locus::test::source_dir() + "/assets/checkpoints/";
  for (const char* const name : {"text-rope", "text-tape", "text-seqpe", "text-alibi", "captions-mrope"}) {
    EXPECT_EQ(loaded("info " + checkpoints + name).find("libtorch"), std::string::npos) << name;
  }
  EXPECT_NE(loaded("run " + checkpoints + "text-rope --text a").find("libtorch_cpu"), std::string::npos);
}
#endif

TEST(StartTexts, AProgramThatIsGoneIsNamed) {
  const auto folder = std::filesystem::path(testing::TempDir()) / ("locus_start_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::filesystem::copy_file(locus::test::binary(), folder / "locus");
  const std::string out = (folder / "out").string();
  const int status = std::system((folder.string() + "/locus info --encodings 2>" + out).c_str());
  const std::string text = locus::testing_support::read_text(out);
  std::filesystem::remove_all(folder);
  EXPECT_EQ(WEXITSTATUS(status), 1);
  EXPECT_TRUE(std::regex_match(
      text, std::regex("locus: error: .*cannot start .*libexec/locus/locus: No such file or directory.*\n")))
      << text;
}

}  // namespace
