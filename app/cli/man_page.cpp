// locus(1): the command line in the language of man.
#include <string_view>

#include "app/cli/descriptions.h"
#include "app/manual/manual.h"
#include "core/base/listed.h"
#include "core/base/version.h"

namespace locus::cli {
namespace {

// Text that roff prints as it stands: no escape, no request, hyphens that can be copied.
std::string roff(std::string_view text) {
  std::string out;
  bool begins = true;
  for (const char c : text) {
    out += begins && (c == '.' || c == '\'') ? "\\&" : "";
    out += c == '\\' ? std::string("\\e") : c == '-' ? std::string("\\-") : std::string(1, c);
    begins = c == '\n';
  }
  return out;
}

std::string option_lines(const OptionText& option) {
  const std::string names = listed(option.names, [](const std::string& name) { return "\\fB" + roff(name) + "\\fR"; });
  const std::string value = option.value.empty() || option.positional ? "" : " \\fI" + roff(option.value) + "\\fR";
  const std::string fallback = option.fallback.empty() ? "" : " (default " + roff(option.fallback) + ")";
  return ".TP\n" + names + value + "\n" + roff(option.help) + fallback + "\n";
}

std::string options_of(const CommandText& command) {
  std::string text;
  for (const bool positional : {true, false}) {
    for (const OptionText& option : command.options) {
      text += option.positional == positional ? option_lines(option) : "";
    }
  }
  return text;
}

std::string synopsis(const CommandText& command) {
  std::string line = ".B locus" + (command.name.empty() ? "" : " " + roff(command.name)) + "\n[\\fIOPTION\\fR]...";
  for (const OptionText& option : command.options) {
    line += option.positional ? " [\\fI" + roff(option.names.front()) + "\\fR]" : "";
  }
  return line + "\n";
}

// The table of the manual below a heading, as a list of terms; its head is left out.
std::string table(const char* page, const char* anchor) {
  std::string text;
  for (const manual::Block& block : manual::parse_blocks(manual::text_of({page, anchor}))) {
    for (std::size_t n = 1; n < block.rows.size(); ++n) {
      const auto& row = block.rows[n];
      text += ".TP\n\\fB" + roff(manual::plain(row.front())) + "\\fR\n" + roff(manual::plain(row.back())) + "\n";
    }
  }
  return text;
}

}  // namespace

std::string man_page(const std::vector<CommandText>& commands) {
  const CommandText& program = commands.front();
  std::string text = ".\\\" Written by locus help \\-\\-man.\n.TH LOCUS 1 \"\" \"Locus " +
                     std::string(program_version()) + "\" \"User Commands\"\n";
  text += ".SH NAME\nlocus \\- see how a transformer addresses positions\n.SH SYNOPSIS\n" + synopsis(program);
  for (std::size_t n = 1; n < commands.size(); ++n) {
    text += ".br\n" + synopsis(commands[n]);
  }
  text +=
      ".SH DESCRIPTION\nLocus shows what each head of a transformer attends to, what the position encoding "
      "contributes, and how both change with another encoding or another checkpoint. Without a sub\\-command it opens "
      "its window; sub\\-commands need no display. The whole manual is in the program: \\fBlocus help\\fR lists its "
      "pages.\n.SH OPTIONS\n" +
      options_of(program) + ".SH COMMANDS\n";
  for (std::size_t n = 1; n < commands.size(); ++n) {
    const CommandText& command = commands[n];
    text += ".SS locus " + roff(command.name) + "\n" + roff(command.summary) + "\n" + options_of(command);
    if (const std::size_t start = command.footer.find_first_not_of('\n'); start != std::string::npos) {
      text += ".PP\n.nf\n" + roff(command.footer.substr(start)) + "\n.fi\n";
    }
  }
  text += ".SH EXIT STATUS\n" + table("command-line", "exit-status");
  text += ".SH ENVIRONMENT\n" + table("command-line", "kernels");
  return text;
}

}  // namespace locus::cli
