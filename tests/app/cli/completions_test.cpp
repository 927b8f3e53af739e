// The man page and the completions: every option is there, and the shells take them.
#include <gtest/gtest.h>

#include "app/cli/command.h"
#include "app/cli/descriptions.h"
#include "tests/support/run_locus.h"

namespace {

using locus::cli::CommandText;
using locus::cli::OptionText;
using locus::cli::ValueKind;
using locus::testing_support::quoted;
using locus::testing_support::read_text;

const std::vector<CommandText>& commands() {
  static const std::vector<CommandText> list = locus::cli::described_commands();
  return list;
}

const OptionText& option(const std::string& command, const std::string& name) {
  for (const CommandText& each : commands()) {
    for (const OptionText& known : each.options) {
      if (each.name == command && known.names.back() == name) {
        return known;
      }
    }
  }
  static const OptionText none;
  ADD_FAILURE() << command << " has no " << name;
  return none;
}

// What a shell prints; empty where the machine does not have it.
std::string printed(const std::string& shell, const std::string& script) {
  if (std::system(("command -v " + shell + " >/dev/null").c_str()) != 0) {
    return {};
  }
  const auto stem = std::filesystem::path(testing::TempDir()) / ("locus_shell_" + std::to_string(getpid()));
  std::ofstream(stem) << script;
  const auto out = stem.string() + ".out";
  EXPECT_EQ(std::system((shell + " " + quoted(stem) + " >" + quoted(out) + " 2>&1").c_str()), 0) << read_text(out);
  const std::string text = read_text(out);
  std::filesystem::remove(stem);
  std::filesystem::remove(out);
  return text;
}

TEST(Completions, DescribeWhatHelpSays) {
  EXPECT_EQ(commands().front().name, "");
  EXPECT_EQ(commands().size(), locus::cli::commands().size() + 1);
  EXPECT_EQ(option("figure", "--theme").words, (std::vector<std::string>{"light", "dark"}));
  EXPECT_EQ(option("figure", "--out").kind, ValueKind::kFile);
  EXPECT_EQ(option("figure", "--text").kind, ValueKind::kWord);
  EXPECT_EQ(option("info", "--json").kind, ValueKind::kNone);
  EXPECT_EQ(option("", "--help").names, (std::vector<std::string>{"-h", "--help"}));
  EXPECT_TRUE(option("figure", "VIEW|PATH").positional);
  EXPECT_EQ(option("figure", "VIEW|PATH").words.front(), "attention");
  EXPECT_EQ(option("figure", "--layer").fallback, "0");
  for (const CommandText& command : commands()) {
    for (const OptionText& each : command.options) {
      EXPECT_NE(each.names.back(), "--completion") << "hidden, as " << command.name << " --help has it";
      EXPECT_NE(each.help, "") << command.name << " " << each.names.back();
    }
  }
}

TEST(Completions, BashProposesCommandsOptionsAndWords) {
  const std::string script = locus::cli::bash_completion(commands());
  const auto proposed = [&](const std::string& words) {
    std::string text = printed("bash", script + "COMP_WORDS=(" + words +
                                           ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_locus 2>/dev/null\n"
                                           "echo \"${COMPREPLY[*]}\"\n");
    text.resize(text.empty() ? 0 : text.size() - 1);
    return text;
  };
  EXPECT_EQ(proposed("locus in"), "info");
  EXPECT_EQ(proposed("locus --thr"), "--threads");
  EXPECT_EQ(proposed("locus figure attention-"), "attention-grid attention-text attention-image");
  EXPECT_EQ(proposed("locus figure attention --theme ''"), "light dark");
  EXPECT_EQ(proposed("locus figure --quantity w"), "weight");
  EXPECT_EQ(proposed("locus run --decoder-"), "--decoder-text --decoder-ids");
  EXPECT_EQ(proposed("locus train flip"), "flip-flop");
  EXPECT_EQ(proposed("locus help gat"), "gates");
  EXPECT_EQ(proposed("locus run somewhere --text ''"), "") << "nothing is proposed for a free text";
}

TEST(Completions, OtherShellsReadThem) {
  const std::string zsh = locus::cli::zsh_completion(commands());
  const std::string fish = locus::cli::fish_completion(commands());
  EXPECT_TRUE(zsh.starts_with("#compdef locus\n"));
  printed("zsh -n", zsh);
  if (const std::string said = printed("fish", fish + "complete -C 'locus figure --theme '\n"); !said.empty()) {
    EXPECT_EQ(said, "dark\ttheme of the figure\nlight\ttheme of the figure\n");
  }
}

TEST(Completions, ThePageOfManHasEveryOptionAndStatus) {
  const std::string page = locus::cli::man_page(commands());
  EXPECT_NE(page.find("\\fB\\-\\-width\\-mm\\fR"), std::string::npos) << "options";
  EXPECT_NE(page.find("\\fB130\\fR\ncancelled"), std::string::npos) << "exit status";
  EXPECT_NE(page.find("LOCUS_KERNELS"), std::string::npos) << "environment";
  const auto file = std::filesystem::path(testing::TempDir()) / ("locus_" + std::to_string(getpid()) + ".1");
  std::ofstream(file) << page;
  const std::string warnings = printed(
      "bash", "command -v man >/dev/null && MANROFFSEQ= LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 " +
                  quoted(file) + " 2>&1 >/dev/null; exit 0\n");
  std::filesystem::remove(file);
  EXPECT_EQ(warnings, "");
}

}  // namespace
