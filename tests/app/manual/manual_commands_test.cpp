// Every command that the manual shows works: those marked `sh` run on the bundled checkpoints, of all others the
// options are there. A page's commands run in one empty folder, one after the other, as a reader would.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>

#include "app/manual/manual.h"
#include "tests/support/run_locus.h"

namespace {

namespace fs = std::filesystem;
using locus::manual::Block;
using locus::testing_support::Outcome;
using locus::testing_support::quoted;
using locus::testing_support::read_text;

struct Command {
  std::string line;
  bool runs = false;
};

std::vector<Command> commands_of(std::string_view text) {
  std::vector<Command> commands;
  for (const Block& block : locus::manual::parse_blocks(text)) {
    if (block.kind != Block::Kind::kCode || !block.words.starts_with("sh")) {
      continue;
    }
    std::istringstream lines(block.text);
    for (std::string line; std::getline(lines, line);) {
      commands.push_back({line, block.words == "sh"});
    }
  }
  return commands;
}

// The words of a line, quotes taken off; none where a shell would do more with it than split it.
std::vector<std::string> plain_words(const std::string& line) {
  std::vector<std::string> words;
  std::string word;
  char quote = 0;
  bool any = false;
  for (const char c : line + " ") {
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else if (quote == '"' && (c == '$' || c == '\\' || c == '`')) {
        return {};
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      any = true;
    } else if (c == ' ') {
      if (any) {
        words.push_back(word);
      }
      word.clear();
      any = false;
    } else if (std::string("|&;<>()$`\\*?~#").find(c) != std::string::npos) {
      return {};
    } else {
      word += c;
      any = true;
    }
  }
  return quote == 0 ? words : std::vector<std::string>();
}

// An empty folder from which the tree's assets are seen, removed again.
class Workplace {
 public:
  Workplace() : folder_(fs::path(testing::TempDir()) / ("locus_manual_" + std::to_string(getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "bin");
    fs::create_symlink(locus::test::source_dir() + "/assets", folder_ / "assets");
    fs::create_symlink(locus::test::binary(), folder_ / "bin" / "locus");
  }
  ~Workplace() { fs::remove_all(folder_); }
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;

  // As it is written: a line of plain words in this process, any other by a shell.
  Outcome run(const std::string& line) const {
    if (const std::vector<std::string> words = plain_words(line); words.size() > 1 && words.front() == "locus") {
      const fs::path before = fs::current_path();
      fs::current_path(folder_);
      const Outcome outcome = locus::testing_support::run_locus({words.begin() + 1, words.end()});
      fs::current_path(before);
      return outcome;
    }
    const std::string script = "cd " + quoted(folder_) + " && PATH=" + quoted(folder_ / "bin") + ":$PATH && " + line;
    const int status =
        std::system(("( " + script + " ) >" + quoted(folder_ / "out") + " 2>" + quoted(folder_ / "err")).c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_text(folder_ / "out"),
            read_text(folder_ / "err")};
  }
  bool has(const std::string& file) const { return fs::exists(folder_ / file) && fs::file_size(folder_ / file) > 0; }

 private:
  fs::path folder_;
};

std::vector<std::string> matches(const std::string& text, const std::string& pattern) {
  std::vector<std::string> found;
  const std::regex regex(pattern);
  for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at) {
    found.push_back((*at)[1].str());
  }
  return found;
}

void run_page(const locus::manual::Page& page, const Workplace& workplace) {
  for (const Command& command : commands_of(page.text)) {
    if (!command.runs || command.line.starts_with("locus help")) {
      continue;  // ManualTest runs those of help
    }
    const Outcome outcome = workplace.run(command.line);
    EXPECT_EQ(outcome.status, 0) << page.name << ": " << command.line << "\n" << outcome.err;
    const std::string told = "no whole blocks";  // the one warning that pages announce
    const bool expected = page.text.find(told) != std::string::npos && outcome.err.find(told) != std::string::npos;
    EXPECT_TRUE(expected || outcome.err.find("warning") == std::string::npos) << page.name << ": " << outcome.err;
    const bool all = command.line.find(" all ") != std::string::npos;
    for (const std::string& file : matches(command.line, "--(?:out|data|trace) ([a-z0-9-]+\\.[a-z]+)")) {
      EXPECT_TRUE(all || workplace.has(file)) << page.name << ": " << file;
    }
  }
}

TEST(ManualCommands, OfEveryViewRun) {
  const Workplace workplace;
  for (const auto& page : locus::manual::pages()) {
    if (page.group.starts_with("Views")) {
      EXPECT_FALSE(commands_of(page.text).empty()) << page.name;
      run_page(page, workplace);
    }
  }
}

TEST(ManualCommands, OfAllOtherPagesRun) {
  const Workplace workplace;
  for (const auto& page : locus::manual::pages()) {
    if (!page.group.starts_with("Views")) {
      run_page(page, workplace);
    }
  }
}

TEST(ManualCommands, HaveOptionsThatAreThere) {
  for (const auto& page : locus::manual::pages()) {
    for (const Command& command : commands_of(page.text)) {
      const std::vector<std::string> words = matches(command.line, "^locus ([a-z]+) ");
      const std::vector<std::string> asked =
          words.empty() ? std::vector<std::string>{"--help"} : std::vector<std::string>{words.front(), "--help"};
      if (command.runs) {
        continue;
      }
      const Outcome help = locus::testing_support::run_locus(asked);
      for (const std::string& option : matches(command.line, " (--[a-z-]+)")) {
        EXPECT_NE(help.out.find(option), std::string::npos) << page.name << ": " << command.line;
      }
    }
  }
}

TEST(ManualCommands, OfReadmeRun) {
  const Workplace workplace;
  const std::string text = read_text(locus::test::source_dir() + "/README.md");
  EXPECT_LE(text.size(), 9U * 1024);
  run_page({"README", "", "", "", text}, workplace);
}

}  // namespace
