// locus help: the manual in a terminal.
#include <memory>

#include "app/cli/command.h"
#include "app/cli/help_pages.h"
#include "app/manual/manual.h"

namespace locus::cli {
namespace {

struct HelpOptions : HelpRequest {
  bool man = false;
  std::string completion;
};

// Prints a file that is installed beside the program, with its own line ends.
std::string written_for(const HelpOptions& options) {
  const std::vector<CommandText> commands = described_commands();
  return options.man                    ? man_page(commands)
         : options.completion == "bash" ? bash_completion(commands)
         : options.completion == "zsh"  ? zsh_completion(commands)
                                        : fish_completion(commands);
}

Status run_help(const HelpOptions& options, const Context& context) {
  const int written = int{options.man} + int{!options.completion.empty()};
  if (written > 0) {
    if (!options.topic.empty() || !options.search.empty() || written > 1) {
      return usage("help: expected one of TOPIC, --search, --man, --completion, found several");
    }
    std::string text = written_for(options);
    text.pop_back();
    context.console.print(text);
    return {};
  }
  return print_help(options, context.console);
}

}  // namespace

Action declare_help(Arguments& arguments) {
  auto options = std::make_shared<HelpOptions>();
  arguments.positional("TOPIC", options->topic, false, "a page, an encoding, a sub-command or the words of a heading");
  arguments.text("--search", options->search, "list the sections of the manual that contain these words, one per line");
  arguments.flag("--markdown", options->markdown, "print the Markdown source of the page");
  arguments.flag("--man", options->man, "print the manual page of man(1)");
  arguments.choice("--completion", options->completion, {"bash", "zsh", "fish"}, "print the completions of this shell");
  arguments.hide({"--man", "--completion"});
  std::vector<std::string> topics;
  for (const manual::Page& page : manual::pages()) {
    topics.push_back(page.name);
  }
  arguments.propose("TOPIC", std::move(topics));
  return [options](const Context& context) { return run_help(*options, context); };
}

}  // namespace locus::cli
