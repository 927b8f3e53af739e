// The manual's tables of options and --help describe each option in the same words.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <sstream>
#include <string>

#include "app/cli/command.h"
#include "app/manual/manual.h"
#include "tests/support/run_locus.h"

namespace {

using locus::manual::Block;
using locus::testing_support::run_locus;

// What the help of a sub-command says of each option: from column 38 on, on the option's line or, behind a longer name,
// on the next.
std::map<std::string, std::string> meanings_in(const std::string& help) {
  constexpr std::size_t kColumn = 38;
  std::map<std::string, std::string> meanings;
  const std::regex option("  (?:-[a-z],)?(--[a-z][a-z-]*).*");
  std::istringstream lines(help);
  std::string name;
  for (std::string line; std::getline(lines, line);) {
    std::smatch found;
    const bool begins = std::regex_match(line, found, option);
    name = begins ? found[1].str() : name;
    const bool said = line.size() > kColumn && line[kColumn - 1] == ' ' && line[kColumn] != ' ';
    if (said && !name.empty()) {
      meanings[name] = line.substr(kColumn);
    }
    name = said ? std::string() : name;
  }
  return meanings;
}

// What the rows of the tables say of options: "`--name N`" in the first cell, the meaning in the last.
std::map<std::string, std::string> meanings_in_tables(const std::string& text) {
  std::map<std::string, std::string> meanings;
  for (const Block& block : locus::manual::parse_blocks(text)) {
    for (const auto& row : block.rows) {
      const std::string words = locus::manual::plain(row.front());
      if (words.starts_with("--")) {
        meanings[words.substr(0, words.find(' '))] = locus::manual::plain(row.back());
      }
    }
  }
  return meanings;
}

// The tables say of each option what --help says, and may go on.
TEST(HelpTables, OfTheManualBeginAsTheHelpDoes) {
  const std::string whole = std::string(locus::manual::text_of({"command-line", {}}));
  const auto shared = meanings_in_tables(whole.substr(0, whole.find("\n## `locus`\n")));
  std::size_t compared = 0;
  for (const locus::cli::Command& command : locus::cli::commands()) {
    const auto own = meanings_in_tables(std::string(locus::manual::text_of({"command-line", "locus-" + command.name})));
    for (const auto& [option, meaning] : meanings_in(run_locus({command.name, "--help"}).out)) {
      const auto known = own.find(option);
      const auto row = known == own.end() ? shared.find(option) : known;
      const bool listed = known != own.end() || row != shared.end();
      EXPECT_TRUE(listed && row->second.starts_with(meaning))
          << command.name << " " << option << "\n  help:   " << meaning
          << "\n  manual: " << (listed ? row->second : "no row");
      ++compared;
    }
  }
  EXPECT_GT(compared, 150U) << "options that the help describes";
}

}  // namespace
