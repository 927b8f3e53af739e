// The command line as data: what --help says of each option, for the manual page of `man` and the completions of
// shells.
#pragma once

#include <string>
#include <vector>

namespace locus::cli {

// Kinds of words that may follow an option, or stand in the place of a positional.
enum class ValueKind { kNone, kWord, kFile };

struct OptionText {
  std::vector<std::string> names;  // "-h", "--help"; of a positional "PATH"
  bool positional = false;
  ValueKind kind = ValueKind::kNone;  // kNone: a flag
  std::string value;                  // how help writes it: "N", "linear|log", "FILE"
  std::string help;
  std::string fallback;            // the default; empty: none is printed
  std::vector<std::string> words;  // all or the likeliest words of a value; empty: unknown
};

struct CommandText {
  std::string name;  // empty: the program itself
  std::string summary;
  std::vector<OptionText> options;
  std::string footer;  // the end of its --help
  std::string help;    // --help itself
};

// The program itself, then its sub-commands in the order of --help. Hidden options are left out.
std::vector<CommandText> described_commands();

// locus(1), for man.
std::string man_page(const std::vector<CommandText>& commands);

// The completions of a shell, "bash", "zsh" or "fish", which source them or find them in a folder.
std::string bash_completion(const std::vector<CommandText>& commands);
std::string zsh_completion(const std::vector<CommandText>& commands);
std::string fish_completion(const std::vector<CommandText>& commands);

}  // namespace locus::cli
