// Completions of bash, zsh and fish.
#include <algorithm>
#include <string_view>

#include "app/cli/descriptions.h"
#include "core/base/listed.h"

namespace locus::cli {
namespace {

constexpr const char* kHead = ". Written by locus help --completion ";

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size()) {
    text.replace(at, what.size(), with);
  }
  return text;
}

// In single quotes, for bash and zsh.
std::string in_quotes(const std::string& text) {
  return "'" + replaced(text, "'", "'\\''") + "'";
}

std::string name_list(const CommandText& command) {
  std::string names;
  for (const OptionText& option : command.options) {
    names += option.positional ? "" : (names.empty() ? "" : " ") + listed(option.names, std::identity(), " ");
  }
  return names;
}

std::string sub_commands(const std::vector<CommandText>& commands, std::string_view separator) {
  return listed(std::vector<CommandText>(commands.begin() + 1, commands.end()), &CommandText::name, separator);
}

// "figure --quantity": what precedes a value that is completed.
std::string places(const CommandText& command, const OptionText& option) {
  return listed(
      option.names, [&](const std::string& name) { return "\"" + command.name + " " + name + "\""; }, "|");
}

// The words of the first positional: views, tasks, topics.
const std::vector<std::string>* first_words(const CommandText& command) {
  const auto found = std::find_if(command.options.begin(), command.options.end(),
                                  [](const OptionText& option) { return option.positional && !option.words.empty(); });
  return found == command.options.end() ? nullptr : &found->words;
}

}  // namespace

std::string bash_completion(const std::vector<CommandText>& commands) {
  std::string values;
  std::string words;
  std::string options;
  for (const CommandText& command : commands) {
    for (const OptionText& option : command.options) {
      if (option.positional || option.kind == ValueKind::kNone) {
        continue;
      }
      values +=
          "    " + places(command, option) + ") " +
          (!option.words.empty() ? "COMPREPLY=($(compgen -W " + in_quotes(listed(option.words, std::identity(), " ")) +
                                       " -- \"$current\"))"
           : option.kind == ValueKind::kFile ? std::string("compopt -o default")
                                             : std::string(":")) +
          "; return ;;\n";
    }
    options += "    \"" + command.name + "\") options=" + in_quotes(name_list(command)) + " ;;\n";
    if (const auto* const first = first_words(command)) {
      words += "    " + command.name + ") words=" + in_quotes(listed(*first, std::identity(), " ")) + " ;;\n";
    }
  }
  return std::string("# bash completion for locus") + kHead + "bash\n" +
         "_locus() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}\n"
         "  local command='' options='' words='' word\n"
         "  COMPREPLY=()\n"
         "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
         "    case $word in " +
         sub_commands(commands, "|") +
         ") command=$word && break ;; esac\n"
         "  done\n"
         "  case \"$command $previous\" in\n" +
         values +
         "  esac\n"
         "  case $command in\n" +
         options +
         "  esac\n"
         "  case $command in\n    '') words=" +
         in_quotes(sub_commands(commands, " ")) + " ;;\n" + words +
         "  esac\n"
         "  if [[ $current == -* ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$options\" -- \"$current\"))\n"
         "  else\n"
         "    compopt -o default 2>/dev/null\n"
         "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "  fi\n"
         "}\n"
         "complete -F _locus locus\n";
}

namespace {

// "--quantity[what a cell shows]:QUANTITY:(weight logit)", as _arguments takes it.
std::string zsh_option(const OptionText& option, const std::string& name) {
  std::string help = option.help;
  for (const char* const special : {"\\", "[", "]", ":"}) {
    help = replaced(std::move(help), special, std::string("\\") + special);
  }
  const std::string action = !option.words.empty()             ? "(" + listed(option.words, std::identity(), " ") + ")"
                             : option.kind == ValueKind::kFile ? std::string("_files")
                                                               : std::string(" ");
  const std::string value = option.kind == ValueKind::kNone ? "" : ":value:" + action;
  return in_quotes("*" + name + "[" + help + "]" + value);
}

std::string zsh_arguments(const CommandText& command) {
  std::string text = "_arguments";
  const auto* const first = first_words(command);
  for (const OptionText& option : command.options) {
    for (const std::string& name : option.names) {
      text += option.positional ? "" : " \\\n        " + zsh_option(option, name);
    }
  }
  if (first != nullptr) {
    text += " \\\n        " + in_quotes("1:word:(" + listed(*first, std::identity(), " ") + ")");
  }
  return text + " \\\n        '*:file:_files'";
}

// In single quotes, for fish.
std::string fish_quotes(const std::string& text) {
  return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
}

std::string fish_option(const OptionText& option, const std::string& condition) {
  std::string line = "complete -c locus -n " + fish_quotes(condition);
  for (const std::string& name : option.names) {
    line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  if (!option.words.empty()) {
    line += " -x -a " + fish_quotes(listed(option.words, std::identity(), " "));
  } else if (option.kind != ValueKind::kNone) {
    line += option.kind == ValueKind::kFile ? " -r -F" : " -x";
  }
  return line + " -d " + fish_quotes(option.help) + "\n";
}

}  // namespace

std::string zsh_completion(const std::vector<CommandText>& commands) {
  std::string cases;
  std::string program = zsh_arguments(commands.front());
  program.resize(program.rfind(" \\\n"));  // what follows the options is a sub-command or a file
  std::string names;
  for (std::size_t n = 1; n < commands.size(); ++n) {
    cases += "      " + commands[n].name + ")\n        " + zsh_arguments(commands[n]) + " ;;\n";
    names += "        " + in_quotes(commands[n].name + ":" + commands[n].summary) + "\n";
  }
  return std::string("#compdef locus\n# zsh completion for locus") + kHead + "zsh\n" +
         "_locus() {\n"
         "  local curcontext=$curcontext state line\n"
         "  local -a commands\n"
         "  " +
         replaced(std::move(program), "_arguments", "_arguments -C") +
         " \\\n        '1: :->command' '*:: :->rest'\n"
         "  case $state in\n"
         "    command)\n"
         "      commands=(\n" +
         names +
         "      )\n"
         "      _describe -t commands 'sub-command' commands\n"
         "      _files ;;\n"
         "    rest)\n"
         "      case ${line[1]} in\n" +
         cases +
         "      *) _files ;;\n"
         "      esac ;;\n"
         "  esac\n"
         "}\n"
         "if [ \"$funcstack[1]\" = _locus ]; then _locus \"$@\"; else compdef _locus locus; fi\n";
}

std::string fish_completion(const std::vector<CommandText>& commands) {
  const std::string none = "not __fish_seen_subcommand_from " + sub_commands(commands, " ");
  std::string text = std::string("# fish completion for locus") + kHead + "fish\n";
  for (const CommandText& command : commands) {
    const std::string condition = command.name.empty() ? none : "__fish_seen_subcommand_from " + command.name;
    if (!command.name.empty()) {
      text += "complete -c locus -n " + fish_quotes(none) + " -a " + command.name + " -d " +
              fish_quotes(command.summary) + "\n";
    }
    if (const auto* const first = first_words(command)) {
      text += "complete -c locus -n " + fish_quotes(condition) + " -a " +
              fish_quotes(listed(*first, std::identity(), " ")) + "\n";
    }
    for (const OptionText& option : command.options) {
      text += option.positional ? "" : fish_option(option, condition);
    }
  }
  return text;
}

}  // namespace locus::cli
